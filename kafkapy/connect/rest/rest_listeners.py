"""Where a worker's REST interface listens, and by which address others reach it (Kafka's `RestServer`)."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.rest.response_headers import HEADERS, METHODS, ORIGINS, ResponseHeaders
from kafkapy.connect.rest.rest_server import RestApi, on_threads, starting_answer
from kafkapy.http.listeners import HttpListener, parse_listeners
from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.http.server_config import HttpServerConfig

log = logging.getLogger("kafkapy.connect.rest")

DEFAULT_LISTENERS = "http://:8083"
_JSON = "application/json"
_THREADS = 32
_REQUEST_PREFIX = "listeners.https."


class ConnectRestConfig(NamedTuple):
    """`admin`: listeners of `/admin` alone; None: it is on the others, too; empty: nowhere. `host`, `port`, `scheme`: what is
    advertised; None: what is listened on."""

    http: HttpServerConfig
    admin: list[HttpListener] | None
    host: str | None
    port: int | None
    scheme: str | None
    headers: ResponseHeaders

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ConnectRestConfig:
        """Raises ConfigException."""
        own = {ORIGINS, METHODS, HEADERS}
        general = {name: value for name, value in _with_tls(properties).items() if name not in own}
        http = HttpServerConfig.of(general, DEFAULT_LISTENERS)
        if not http.listeners:
            raise ConfigException("Invalid value for configuration listeners: name at least one")
        admin = properties.get("admin.listeners")
        port = properties.get("rest.advertised.port") or None
        if port is not None and not (port.strip().isdigit() and int(port) < 65536):
            raise ConfigException.invalid("rest.advertised.port", port, "a port is expected")
        scheme = (properties.get("rest.advertised.listener") or "").strip().lower() or None
        if scheme not in (None, "http", "https"):
            raise ConfigException.invalid("rest.advertised.listener", scheme, "http or https is expected")
        return cls(
            http,
            None if admin is None else parse_listeners(admin) if admin.strip() else [],
            properties.get("rest.advertised.host.name") or None,
            None if port is None else int(port),
            scheme,
            ResponseHeaders.of(properties),
        )


def worker_tls(properties: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS settings of requests to other workers; None: no store is configured.

    Args:
        properties: The worker's; its `listeners.https.ssl.*`, or its `ssl.*` if there are none.

    Raises:
        ConfigException: A store cannot be used.
    """
    from kafkapy.security.tls.contexts import client_context

    configs = {name: value for name, value in _with_tls(properties).items() if name.startswith("ssl.")}
    stores = ("ssl.keystore.location", "ssl.truststore.location", "ssl.truststore.certificates", "ssl.keystore.key")
    return client_context(configs) if any(configs.get(name) for name in stores) else None


def _with_tls(properties: Mapping[str, str]) -> dict[str, str]:
    """Replace all `ssl.*` by those with the listeners' prefix, if there is one of these."""
    own = {
        name.removeprefix(_REQUEST_PREFIX): value
        for name, value in properties.items()
        if name.startswith(_REQUEST_PREFIX)
    }
    return {name: value for name, value in properties.items() if not (own and name.startswith("ssl."))} | own


class RestListeners:
    """Listens from `bind` on; until `serve` each request is told that the worker starts.

    Invariant: `_api` is set once. Requests are answered on threads: the reactor never waits for a herder or a plugin.
    """

    def __init__(self, config: ConnectRestConfig, reactor: Any) -> None:
        from twisted.python.threadpool import ThreadPool

        self._config = config
        self._reactor = reactor
        self._pool = ThreadPool(0, _THREADS, "connect-rest")
        self._api: RestApi | None = None
        self._ports: list[Any] = []

    def bind(self) -> None:
        """On the reactor's thread. Raises ConfigException."""
        from kafkapy.http.serving import listen

        self._pool.start()
        config = self._config
        self._ports = listen(self._reactor, config.http, self._handler(lambda api: api.handle, config.headers), _JSON)
        if config.admin:
            own = config.http._replace(listeners=config.admin)
            self._ports += listen(self._reactor, own, self._handler(lambda api: api.handle_admin), _JSON)

    def _handler(
        self, of: Callable[[RestApi], Callable[[HttpRequest], HttpAnswer]], headers: ResponseHeaders | None = None
    ) -> Callable[[HttpRequest], Any]:
        def answer(request: HttpRequest) -> HttpAnswer:
            found = starting_answer() if self._api is None else of(self._api)(request)
            return found if headers is None else headers.added(found, request)

        return on_threads(self._reactor, self._pool, answer)

    def serve(self, api: RestApi) -> None:
        """Answer from now on; from any thread."""
        self._api = api

    @property
    def with_admin(self) -> bool:
        """Is `/admin` among the other end points?"""
        return self._config.admin is None

    @property
    def advertised(self) -> tuple[str, str, int]:
        """Scheme, host and port by which others reach the worker; after `bind`."""
        config = self._config
        listeners = config.http.listeners
        scheme = config.scheme or ("https" if all(each.scheme == "https" for each in listeners) else "http")
        index = next((at for at, each in enumerate(listeners) if each.scheme == scheme), 0)
        listener = listeners[index]
        port = config.port or listener.port or self._ports[index].getHost().port
        return (
            listener.scheme if config.scheme is None else scheme,
            config.host or listener.host or _own_address(),
            port,
        )

    @property
    def url(self) -> str:
        """As `advertised`, with a slash at its end."""
        scheme, host, port = self.advertised
        return f"{scheme}://{host}:{port}/"

    @property
    def worker_id(self) -> str:
        """`host:port`, as statuses name the worker."""
        _, host, port = self.advertised
        return f"{host}:{port}"

    def close(self) -> None:
        """Blocks: not on the reactor's thread."""
        from twisted.internet.threads import blockingCallFromThread

        def stop_listening() -> None:
            for port in self._ports:
                port.stopListening()

        blockingCallFromThread(self._reactor, stop_listening)
        self._pool.stop()


def _own_address() -> str:
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
