"""TLS of the broker's listeners: contexts of their stores, and names of their clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.common.broker import EndPoint
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.tls.contexts import server_context
from kafkapy.security.tls.principal_mapper import DEFAULT_RULES, SslPrincipalMapper
from kafkapy.security.tls.session import TlsSession
from kafkapy.server.config.kafka_config import KafkaConfig


class TlsListener:
    """Makes the TLS sessions of one listener's connections, and names their clients."""

    def __init__(self, configs: Mapping[str, Any]) -> None:
        """
        Parameters:
            configs: `ssl.*` by Kafka's names, those of the listener in place of the broker's.

        Raises:
            ConfigException: A store or a setting cannot be used; the text says which and why.
        """
        rules = configs.get("ssl.principal.mapping.rules")
        self._mapper = SslPrincipalMapper(DEFAULT_RULES if rules is None else str(rules))
        self._context = server_context(configs)

    def new_session(self) -> TlsSession:
        return TlsSession(self._context, server_side=True)

    def principal_of(self, session: TlsSession) -> KafkaPrincipal:
        """Raises `ValueError` if no rule has a name for the client."""
        return session.peer_principal(self._mapper)


def tls_listener(config: KafkaConfig, end_point: EndPoint) -> TlsListener | None:
    """None for a listener without TLS."""
    if not end_point.security_protocol.endswith("SSL"):
        return None
    names = (name for name in config.definition if name.startswith("ssl."))
    return TlsListener({name: config.listener_value(end_point.listener_name, name) for name in names})
