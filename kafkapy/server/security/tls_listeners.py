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
"""Interval of checks of the stores' files; certificates are renewed days before they expire."""


class TlsListener:
    """Creates the TLS sessions of one listener's connections, and their clients' principals."""

    def __init__(
        self, configs: Mapping[str, Any], verifiable: bool = False, builder: PrincipalBuilder | None = None
    ) -> None:
        """
        Args:
            configs: The listener's `ssl.*` by Kafka's names, with the broker's as defaults.
            verifiable: The listener is for inter-broker connections, so new stores must be compatible with the old
                ones.
            builder: Builds the clients' principals; None: Kafka's own builder, with the rules in `configs`.

        Raises:
            ConfigException: A store or a config is unusable; the message names it and the reason.
        """
        if builder is None:
            builder = DefaultPrincipalBuilder()
            builder.configure(configs)
        self._builder = builder
        self._watch = StoreWatch(configs, verifiable=verifiable)

    def new_session(self) -> TlsSession:
        return TlsSession(self._watch.context, server_side=True)

    def principal_of(self, session: TlsSession, context: RequestContext) -> KafkaPrincipal:
        """Return the client's principal. Raises `ValueError` if no rule matches; a plug-in may raise anything."""
        return self._builder.build(authentication_context(context, peer_certificate=session.peer_certificate()))

    def refresh(self) -> bool:
        """Load stores whose files have changed, for new connections. Reads files.

        Raises:
            ConfigException: They cannot be used, or may not replace the old ones, which stay.
        """
        return self._watch.refresh()

    def validate(self, configs: Mapping[str, Any]) -> None:
        """Check these `ssl.*` before `reconfigure`. Reads files. Raises ConfigException."""
        if configs != self._watch.factory.configs:
            self._watch.validate(configs)

    def reconfigure(self, configs: Mapping[str, Any]) -> bool:
        """Apply `ssl.*` to new connections; the configs validated last are applied without reading files.

        Returns:
            Whether they differ from the previous ones.

        Raises:
            ConfigException: They cannot be used, or may not replace the old ones, which stay.
        """
        if configs == self._watch.factory.configs:
            return False
        self._watch.reconfigure(configs)
        return True


def make_tls_listener(config: KafkaConfig, end_point: EndPoint) -> TlsListener | None:
    """Return the TLS of a listener by its configs; None without TLS. Reads files. Raises ConfigException, as `TlsListener`."""
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
    # Principals of SASL_SSL come from SASL.
    builder = make_principal_builder(config, name) if protocol == "SSL" else None
    return TlsListener(configs, verifiable=name == config.inter_broker_listener_name, builder=builder)


def tls_configs(config: KafkaConfig, end_point: EndPoint) -> dict[str, Any]:
    """Return the `ssl.*` of a listener, by their names without its prefix."""
    name = end_point.listener_name
    configs = {key: config.listener_value(name, key) for key in config.definition if key.startswith("ssl.")}
    own_client_auth = f"listener.name.{name.lower()}.ssl.client.auth" in config.originals
    if end_point.security_protocol == "SASL_SSL" and not own_client_auth:
        configs["ssl.client.auth"] = "none"  # KIP-684
    return configs


class TlsListeners:
    """The broker's listeners with TLS.

    Invariant: `_open` has the TLS of each open listener, by its name.
    """

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._open: dict[str, TlsListener] = {}

    def of(self, end_point: EndPoint) -> TlsListener | None:
        """Return the listener's TLS; None without TLS. Raises ConfigException, as `TlsListener` does."""
        made = make_tls_listener(self._config, end_point)
        if made is not None:
            self._open[end_point.listener_name] = made
        return made

    def closed(self, listener: str) -> None:
        """Stop watching the stores of a closed listener."""
        self._open.pop(listener, None)

    def refresh(self) -> None:
        """Load changed stores; runs in a thread, every `CHECK_MS`. Errors of new stores are logged."""
        for name, listener in list(self._open.items()):
            try:
                if listener.refresh():
                    log.info("Listener %s has new key or trust stores", name)
            except ConfigException as problem:
                log.error("New stores of listener %s are refused, the old ones stay: %s", name, problem)

    def validate(self, config: KafkaConfig) -> None:
        """Check the stores in `config` for the open listeners. Reads files. Raises ConfigException."""
        for listener, configs in self._with_configs(config):
            listener.validate(configs)

    def reconfigure(self, config: KafkaConfig) -> None:
        """Apply the stores in `config`, which has been validated, to new connections of the open listeners."""
        for listener, configs in self._with_configs(config):
            if listener.reconfigure(configs):
                log.info("Listeners have new key or trust stores by their configs")

    def _with_configs(self, config: KafkaConfig) -> list[tuple[TlsListener, dict[str, Any]]]:
        return [
            (self._open[end_point.listener_name], tls_configs(config, end_point))
            for end_point in config.listeners
            if end_point.listener_name in self._open
        ]
