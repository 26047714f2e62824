"""TLS of the broker's listeners: contexts of their stores, which may change, and names of their clients."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.principal_builder import DefaultPrincipalBuilder, PrincipalBuilder
from kafkapy.security.tls.session import TlsSession
from kafkapy.security.tls.store_watch import StoreWatch
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.principal_builders import authentication_context, make_principal_builder

log = logging.getLogger("kafkapy.network.SocketServer")

CHECK_MS: Final = 10_000
"""How often the files of stores are looked at: a certificate that is renewed has days."""


class TlsListener:
    """Makes the TLS sessions of one listener's connections, and names their clients."""

    def __init__(
        self, configs: Mapping[str, Any], verifiable: bool = False, builder: PrincipalBuilder | None = None
    ) -> None:
        """
        Args:
            configs: `ssl.*` by Kafka's names, those of the listener in place of the broker's.
            verifiable: Brokers speak to each other here, so new stores must fit the old ones.
            builder: Names the clients; None: Kafka's own, by the rules of `configs`.

        Raises:
            ConfigException: A store or a setting cannot be used; the text says which and why.
        """
        if builder is None:
            builder = DefaultPrincipalBuilder()
            builder.configure(configs)
        self._builder = builder
        self._watch = StoreWatch(configs, verifiable=verifiable)

    def new_session(self) -> TlsSession:
        return TlsSession(self._watch.context, server_side=True)

    def principal_of(self, session: TlsSession, context: RequestContext) -> KafkaPrincipal:
        """Raises `ValueError` if no rule has a name for the client; a class of the operator's own may raise anything."""
        return self._builder.build(authentication_context(context, peer_certificate=session.peer_certificate()))

    def refresh(self) -> bool:
        """Take stores whose files have changed, for new connections. Reads files.

        Raises:
            ConfigException: They cannot be used, or may not replace the old ones, which stay.
        """
        return self._watch.refresh()

    def validate(self, configs: Mapping[str, Any]) -> None:
        """Could `reconfigure` take these `ssl.*`? Reads files. Raises ConfigException."""
        if configs != self._watch.factory.configs:
            self._watch.validate(configs)

    def reconfigure(self, configs: Mapping[str, Any]) -> bool:
        """Take other `ssl.*` for new connections; those that were validated last need no file.

        Returns:
            Whether they differ from those before.

        Raises:
            ConfigException: They cannot be used, or may not replace the old ones, which stay.
        """
        if configs == self._watch.factory.configs:
            return False
        self._watch.reconfigure(configs)
        return True


def make_tls_listener(config: KafkaConfig, end_point: EndPoint) -> TlsListener | None:
    """What a listener's configs say; None for one without TLS. Reads files. Raises ConfigException, as `TlsListener` does."""
    protocol, name = end_point.security_protocol, end_point.listener_name
    if not protocol.endswith("SSL"):
        return None
    configs = tls_configs(config, end_point)
    if configs["ssl.client.auth"] != config.listener_value(name, "ssl.client.auth"):
        log.warning(
            "ssl.client.auth holds for listeners of type SSL; for %s, which is SASL_SSL, set listener.name.%s.ssl.client.auth",
            name,
            name.lower(),
        )
    # Clients of SASL_SSL are named by what SASL proves.
    builder = make_principal_builder(config, name) if protocol == "SSL" else None
    return TlsListener(configs, verifiable=name == config.inter_broker_listener_name, builder=builder)


def tls_configs(config: KafkaConfig, end_point: EndPoint) -> dict[str, Any]:
    """The `ssl.*` of a listener, by their names without its prefix."""
    name = end_point.listener_name
    configs = {key: config.listener_value(name, key) for key in config.definition if key.startswith("ssl.")}
    own_client_auth = f"listener.name.{name.lower()}.ssl.client.auth" in config.originals
    if end_point.security_protocol == "SASL_SSL" and not own_client_auth:
        configs["ssl.client.auth"] = "none"  # KIP-684
    return configs


class TlsListeners:
    """Those of the broker's listeners that have TLS.

    Invariant: `_open` has a listener's TLS by the listener's name, of the last time it was opened, until it is closed.
    """

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._open: dict[str, TlsListener] = {}

    def of(self, end_point: EndPoint) -> TlsListener | None:
        """None for a listener without TLS. Raises ConfigException, as `TlsListener` does."""
        made = make_tls_listener(self._config, end_point)
        if made is not None:
            self._open[end_point.listener_name] = made
        return made

    def closed(self, listener: str) -> None:
        """The listener is no more: its stores need not be watched."""
        self._open.pop(listener, None)

    def refresh(self) -> None:
        """Look whether stores have changed; in a thread, every `CHECK_MS`. What is wrong with new ones is logged."""
        for name, listener in list(self._open.items()):
            try:
                if listener.refresh():
                    log.info("Listener %s has new key or trust stores", name)
            except ConfigException as problem:
                log.error("New stores of listener %s are refused, the old ones stay: %s", name, problem)

    def validate(self, config: KafkaConfig) -> None:
        """Could the open listeners go on with their stores of `config`? Reads files. Raises ConfigException."""
        for listener, configs in self._with_configs(config):
            listener.validate(configs)

    def reconfigure(self, config: KafkaConfig) -> None:
        """Have the open listeners take their stores of `config`, which is validated, for new connections."""
        for listener, configs in self._with_configs(config):
            if listener.reconfigure(configs):
                log.info("Listeners have new key or trust stores by their configs")

    def _with_configs(self, config: KafkaConfig) -> list[tuple[TlsListener, dict[str, Any]]]:
        return [
            (self._open[end_point.listener_name], tls_configs(config, end_point))
            for end_point in config.listeners
            if end_point.listener_name in self._open
        ]
