"""Binds an HTTP server's listeners on a reactor."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.error import CannotListenError

from kafkapy.common.bind_errors import cause_and_remedy
from kafkapy.common.config_def import ConfigException
from kafkapy.http.connection import EagerPort
from kafkapy.http.listeners import HttpListener
from kafkapy.http.server_config import HttpServerConfig
from kafkapy.http.site import Handle, SiteFactory, SiteSettings


def listen(reactor: Any, config: HttpServerConfig, handle: Handle, content_type: str) -> list[Any]:
    """Bind the ports and return them. Raises ConfigException if one is in use."""
    settings = SiteSettings(
        handle, config.max_body_bytes, content_type, config.auth, config.cross_origin, config.headers
    )
    factory = SiteFactory(settings, config.idle_timeout_s)
    ports: list[Any] = []
    for listener in config.listeners:
        try:
            ports.append(_bind(reactor, listener, factory, config.tls))
        except CannotListenError as error:
            for port in ports:
                port.stopListening()
            advice = cause_and_remedy(error.socketError, "'listeners'")
            raise ConfigException(f"{listener} cannot be bound: {advice}") from None
    return ports


def _bind(reactor: Any, listener: HttpListener, factory: SiteFactory, tls: Any) -> Any:
    if listener.scheme == "https":
        return reactor.listenSSL(listener.port, factory, tls, 200, listener.host)
    port: Any = EagerPort(listener.port, cast(Any, factory), 200, listener.host, reactor)
    port.startListening()
    return port
