"""TLS of the broker's listeners: contexts of their stores, which may change, and names of their clients."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.tls.principal_mapper import DEFAULT_RULES, SslPrincipalMapper
from kafkapy.security.tls.session import TlsSession
from kafkapy.security.tls.store_watch import StoreWatch
from kafkapy.server.config.kafka_config import KafkaConfig

log = logging.getLogger("kafkapy.network.SocketServer")

CHECK_MS: Final = 10_000
"""How often the files of stores are looked at: a certificate that is renewed has days."""


class TlsListener:
    """Makes the TLS sessions of one listener's connections, and names their clients."""

    def __init__(self, configs: Mapping[str, Any], verifiable: bool = False) -> None:
        """
        Args:
            configs: `ssl.*` by Kafka's names, those of the listener in place of the broker's.
            verifiable: Brokers speak to each other here, so new stores must fit the old ones.

        Raises:
            ConfigException: A store or a setting cannot be used; the text says which and why.
        """
        rules = configs.get("ssl.principal.mapping.rules")
        self._mapper = SslPrincipalMapper(DEFAULT_RULES if rules is None else str(rules))
        self._watch = StoreWatch(configs, verifiable=verifiable)

    def new_session(self) -> TlsSession:
        return TlsSession(self._watch.context, server_side=True)

    def principal_of(self, session: TlsSession, context: RequestContext) -> KafkaPrincipal:
        """Raises `ValueError` if no rule has a name for the client."""
        return session.peer_principal(self._mapper)

    def refresh(self) -> bool:
        """Take stores whose files have changed, for new connections. Reads files.

        Raises:
            ConfigException: They cannot be used, or may not replace the old ones, which stay.
        """
        return self._watch.refresh()


class TlsListeners:
    """Those of the broker's listeners that have TLS.

    Invariant: `_open` has a listener's TLS by the listener's name, of the last time it was opened.
    """

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._open: dict[str, TlsListener] = {}

    def of(self, end_point: EndPoint) -> TlsListener | None:
        """None for a listener without TLS. Raises ConfigException, as `TlsListener` does."""
        if not end_point.security_protocol.endswith("SSL"):
            return None
        config, name = self._config, end_point.listener_name
        configs = {key: config.listener_value(name, key) for key in config.definition if key.startswith("ssl.")}
        made = self._open[name] = TlsListener(configs, verifiable=name == config.inter_broker_listener_name)
        return made

    def refresh(self) -> None:
        """Look whether stores have changed; in a thread, every `CHECK_MS`. What is wrong with new ones is logged."""
        for name, listener in list(self._open.items()):
            try:
                if listener.refresh():
                    log.info("Listener %s has new key or trust stores", name)
            except ConfigException as problem:
                log.error("New stores of listener %s are refused, the old ones stay: %s", name, problem)
