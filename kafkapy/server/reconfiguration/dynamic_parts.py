"""The broker's reconfigurable parts (KIP-226), which `DynamicBrokerConfig` calls."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twisted.internet.defer import Deferred

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException
from kafkapy.common.scheduler import Scheduler
from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.log.cleaning.log_cleaner import CleanerConfig, LogCleaner
from kafkapy.log.log_config import LogConfig
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.network.connection_quotas import UNLIMITED, ConnectionLimits, ListenerLimits
from kafkapy.network.socket_server import SocketServer, bind_address
from kafkapy.runtime.clock import InThread
from kafkapy.server.config.dynamic_config_rules import DYNAMIC_CONFIGS
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.replication.replica_fetcher_manager import ReplicaFetcherManager
from kafkapy.server.security.tls_listeners import TlsListeners

log = logging.getLogger("kafkapy.server.DynamicBrokerConfig")

_OVERRIDES = "max.connections.per.ip.overrides"


class DynamicLogConfig:
    """Default configs of topics."""

    reconfigurable_configs = frozenset(
        name for key in LogConfig.definition.values() for name in key.synonyms if name in DYNAMIC_CONFIGS
    )

    def __init__(self, log_manager: LogManager, controller: KafkaController) -> None:
        self._log_manager = log_manager
        self._controller = controller

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        new_config.log_config_defaults()

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self._log_manager.reconfigure_default_config(new_config.log_config_defaults())
        if new_config.unclean_leader_election_enable:
            self._controller.enable_default_unclean_leader_election()
        else:
            self._controller.disable_default_unclean_leader_election()


class HostAddresses:
    """The addresses of hosts that `max.connections.per.ip.overrides` may name.

    A look-up blocks on the name server, so it must not run on the reactor thread: the listener of config changes calls
    `look_up` in its thread, before the configs are applied.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def look_up(self, configs: Mapping[str, str]) -> None:
        """Resolve the hosts in these configs. Blocks; an unknown host is reported at its use."""
        for entry in configs.get(_OVERRIDES, "").split(","):
            host = entry.rpartition(":")[0].strip()
            if host:
                with contextlib.suppress(ConfigException):
                    self._known[host] = _addresses_of(host)

    def of(self, host: str) -> list[str]:
        """Return a host's addresses. Blocks if it is not resolved yet. `ConfigException`: it is unknown."""
        found = self._known.get(host)
        if found is None:
            found = self._known[host] = _addresses_of(host)
        return found


def _addresses_of(host: str) -> list[str]:
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except OSError as problem:
        raise ConfigException.invalid(_OVERRIDES, host, f"the host is not known: {problem}") from problem


def connection_limits(config: KafkaConfig, addresses: HostAddresses) -> ConnectionLimits:
    """Return the limits. May block, as `HostAddresses.of`. `ConfigException`: an override names an unknown host."""
    overrides = config.max_connections_per_ip_overrides
    return ConnectionLimits(
        ListenerLimits(config.max_connections, config.max_connection_creation_rate),
        {
            name: ListenerLimits(
                config.own_listener_value(name, "max.connections", UNLIMITED),
                config.own_listener_value(name, "max.connection.creation.rate", UNLIMITED),
            )
            for name in (end_point.listener_name for end_point in config.listeners)
        },
        config.max_connections_per_ip,
        {address: limit for host, limit in overrides.items() for address in addresses.of(host)},
        config.connections_max_idle_ms,
    )


class DynamicConnectionLimits:
    """Limits of connections and of their rate."""

    reconfigurable_configs = frozenset(
        (
            *("max.connections", "max.connections.per.ip", _OVERRIDES),
            "max.connection.creation.rate",
        )
    )

    def __init__(self, sockets: SocketServer, addresses: HostAddresses) -> None:
        self._sockets = sockets
        self._addresses = addresses

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        connection_limits(new_config, self._addresses)

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self._sockets.set_limits(connection_limits(new_config, self._addresses))


@dataclass(eq=False)
class DynamicListeners:
    """Adds and removes listeners, and publishes them to brokers and clients (Kafka's `DynamicListenerConfig`).

    A listener whose address changes is closed and opened again; Apache's broker keeps the old address until a restart.

    `config`: the broker's; `register` writes the new listeners to ZooKeeper, and blocks. `check` raises
    ConfigException for a listener with invalid stores or mechanisms; `closed` is called for each closed listener.
    """

    reconfigurable_configs = frozenset(("listeners", "advertised.listeners", "listener.security.protocol.map"))

    _config: KafkaConfig
    _sockets: SocketServer
    _addresses: HostAddresses
    _in_thread: InThread
    _register: Callable[[], None]
    _check: Callable[[KafkaConfig, EndPoint], object] = lambda config, end_point: None
    _closed: Callable[[str], object] = lambda listener: None

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """Check that new listeners can be opened; `KafkaConfig` and `dynamic_config_rules` check the rest."""
        for end_point in sorted(set(new_config.listeners) - set(self._config.listeners)):
            self._check(new_config, end_point)

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        changing = Deferred.fromCoroutine(self._change(set(old_config.listeners), set(new_config.listeners)))
        changing.addErrback(lambda failure: log.error("Listeners could not be changed: %s", failure.value))

    async def _change(self, old: set[EndPoint], new: set[EndPoint]) -> None:
        for end_point in old - new:
            await self._sockets.remove_listener(end_point.listener_name)
            self._closed(end_point.listener_name)
            log.info("Listener %s is closed", end_point.listener_name)
        self._sockets.set_limits(await self._in_thread(connection_limits, self._config, self._addresses))
        for end_point in new - old:
            address = await self._in_thread(bind_address, end_point)
            port = self._sockets.listen(end_point, self._config.socket_listen_backlog_size, address)
            log.info("Listener %s is open on port %d", end_point.listener_name, port)
        await self._in_thread(self._register)


class DynamicTls:
    """Key and trust stores of open listeners, with their passwords and types. Changes apply to new connections."""

    reconfigurable_configs = frozenset(name for name in DYNAMIC_CONFIGS if name.startswith("ssl."))

    def __init__(self, listeners: TlsListeners) -> None:
        self._listeners = listeners

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        self._listeners.validate(new_config)

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self._listeners.reconfigure(new_config)


class DynamicThreadPools:
    """Sizes of the background pool and of the pool for requests' blocking work."""

    reconfigurable_configs = frozenset(("background.threads", "num.io.threads", "num.network.threads"))

    def __init__(
        self, resize_background: Callable[[int], object], resize_requests: Callable[[int, int], object]
    ) -> None:
        self._resize_background = resize_background
        self._resize_requests = resize_requests

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """Accept every size: `dynamic_config_rules` checks the limits of a change, for all pools."""

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self._resize_background(new_config.background_threads)
        self._resize_requests(new_config.num_io_threads, new_config.num_network_threads)


class DynamicCleanerConfig:
    """The log cleaner's threads, memory and I/O rate."""

    reconfigurable_configs = frozenset(
        (
            "log.cleaner.threads",
            "log.cleaner.dedupe.buffer.size",
            "log.cleaner.io.buffer.load.factor",
            "log.cleaner.io.buffer.size",
            "log.cleaner.io.max.bytes.per.second",
            "log.cleaner.backoff.ms",
        )
    )

    def __init__(self, log_manager: LogManager, scheduler: Scheduler) -> None:
        self._log_manager = log_manager
        self._scheduler = scheduler

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        cleaner = self._log_manager.cleaner
        if isinstance(cleaner, LogCleaner):
            cleaner.validate_reconfiguration(CleanerConfig.of(new_config))

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        cleaner = self._log_manager.cleaner
        if isinstance(cleaner, LogCleaner):
            # Waits for the cleaner's threads, so it runs off the reactor thread.
            config = CleanerConfig.of(new_config)
            self._scheduler.schedule_in_thread("reconfigure-cleaner", lambda: cleaner.reconfigure(config))


class DynamicFetchers:
    """Number of fetchers for each leader."""

    reconfigurable_configs = frozenset(("num.replica.fetchers",))

    def __init__(self, fetchers: ReplicaFetcherManager) -> None:
        self._fetchers = fetchers

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """Accept every size: `dynamic_config_rules` checks the limits of a change, for all pools."""

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self._fetchers.resize(new_config.num_replica_fetchers)
