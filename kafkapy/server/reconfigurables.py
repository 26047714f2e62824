"""The parts of the broker that take new configs while they run (KIP-226), as `DynamicBrokerConfig` knows them."""

from __future__ import annotations

from typing import Any

from twisted.python.threadpool import ThreadPool

from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.log.log_cleaner import CleanerConfig, LogCleaner
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_manager import LogManager
from kafkapy.network.socket_server import SocketServer, limits_by_address
from kafkapy.server.dynamic_config_rules import DYNAMIC_CONFIGS
from kafkapy.server.kafka_config import KafkaConfig
from kafkapy.server.replica_fetcher_manager import ReplicaFetcherManager


class DynamicLogConfig:
    """What holds for topics without configs of their own."""

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


class DynamicConnectionLimits:
    """How many connections the listeners take."""

    reconfigurable_configs = frozenset(
        ("max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides")
    )

    def __init__(self, sockets: SocketServer) -> None:
        self._sockets = sockets

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        limits_by_address(new_config.max_connections_per_ip_overrides)

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        limits = self._sockets.limits
        limits.max_connections = new_config.max_connections
        limits.max_connections_per_ip = new_config.max_connections_per_ip
        limits.max_connections_per_ip_overrides = limits_by_address(new_config.max_connections_per_ip_overrides)
        self._sockets.check_accepting()


class DynamicThreadPools:
    """The background pool and the threads of requests that wait for ZooKeeper; all other requests the reactor handles."""

    reconfigurable_configs = frozenset(("background.threads", "num.io.threads"))

    def __init__(self, reactor: Any, request_threads: ThreadPool) -> None:
        self._reactor = reactor
        self._request_threads = request_threads

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """The limits of a change are checked for all pools alike (`dynamic_config_rules`)."""

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self._reactor.suggestThreadPoolSize(new_config.background_threads)
        self._request_threads.adjustPoolsize(0, new_config.num_io_threads)


class DynamicCleanerConfig:
    """The log cleaner's threads, memory and pace."""

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

    def __init__(self, log_manager: LogManager, reactor: Any) -> None:
        self._log_manager = log_manager
        self._reactor = reactor

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        cleaner = self._log_manager.cleaner
        if isinstance(cleaner, LogCleaner):
            cleaner.validate_reconfiguration(CleanerConfig.of(new_config))

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        cleaner = self._log_manager.cleaner
        if isinstance(cleaner, LogCleaner):
            # It waits for its threads to notice, so not on the reactor.
            self._reactor.callInThread(cleaner.reconfigure, CleanerConfig.of(new_config))


class DynamicFetchers:
    """How many fetchers there are for each broker that is followed."""

    reconfigurable_configs = frozenset(("num.replica.fetchers",))

    def __init__(self, fetchers: ReplicaFetcherManager) -> None:
        self._fetchers = fetchers

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """The limits of a change are checked for all pools alike (`dynamic_config_rules`)."""

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self._fetchers.resize(new_config.num_replica_fetchers)
