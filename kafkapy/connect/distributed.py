"""A distributed worker, as a process (Kafka's `ConnectDistributed`), and how its parts are put together."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from kafkapy.admin.topics import NewTopic
from kafkapy.common.time import SystemTime
from kafkapy.connect.clients import make_admin, make_producer
from kafkapy.connect.connect_process import ConnectProcess
from kafkapy.connect.group.worker_member import GroupShare, WorkerGroupMember
from kafkapy.connect.herder.config_transformer import resolve_worker_configs
from kafkapy.connect.herder.distributed_config import DistributedConfig
from kafkapy.connect.herder.distributed_herder import DistributedHerder
from kafkapy.connect.herder.override_policies import OverridePolicy, make_policy
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.runtime.worker import Worker
from kafkapy.connect.runtime.worker_metrics import RebalanceMetrics
from kafkapy.connect.topics.config_store import KafkaConfigStore, MakeLog
from kafkapy.connect.topics.offset_store import KafkaOffsetStore
from kafkapy.connect.topics.status_store import KafkaStatusStore
from kafkapy.connect.topics.topic_admin import ensure_compacted
from kafkapy.connect.topics.topic_log import KafkaBasedLog
from kafkapy.connect.topics.worker_clients import WorkerLogClients

log = logging.getLogger("kafkapy.connect")

_PURPOSES: Final = {
    "config": "connector configurations",
    "offset": "source connector offsets",
    "status": "connector and task statuses",
}
_CLIENTS: Final = {"config": "configs", "offset": "offsets", "status": "statuses"}
_Herder = TypeVar("_Herder", bound=DistributedHerder)


class DistributedProcess(ConnectProcess):
    """A worker of a group. The process ends with status 1 if its herder fails."""

    def __init__(self, properties: Mapping[str, str], reactor: Any) -> None:
        """
        Args:
            properties: The worker's.
            reactor: Twisted's.

        Raises:
            ConfigException: A property is wrong.
        """
        properties = resolve_worker_configs(properties)
        self._config = DistributedConfig.of(properties)
        self._policy = make_policy(self._config["connector.client.config.override.policy"])
        super().__init__(properties, self._config["plugin.path"] or (), reactor)

    def make_herder(self, worker_id: str, url: str, cluster_id: str) -> DistributedHerder:
        def make(**parts: Any) -> DistributedHerder:
            return DistributedHerder(client=self.client, cluster_id=cluster_id, **parts)

        return make_distributed_herder(self._config, self.plugins, self._policy, worker_id, url, make)

    def start_herder(self) -> None:
        herder: DistributedHerder = self.herder

        def failed() -> None:
            self.failure = herder.failure
            self.end()

        herder.start(failed)


def make_distributed_herder(
    config: DistributedConfig,
    plugins: Plugins,
    policy: OverridePolicy,
    worker_id: str,
    url: str,
    make: Callable[..., _Herder],
) -> _Herder:
    """Make a herder with its worker, membership and stores; nothing is started.

    Args:
        config: The worker's.
        plugins: Finds its classes.
        policy: Which client configs connectors may override.
        worker_id: Names the worker in statuses.
        url: Of its REST interface, as others reach it.
        make: Makes the herder of its parts, by name.

    Raises:
        ConfigException: A config is wrong.
        KafkaConfigurationError: A client's config is wrong.
    """
    stopping = threading.Event()
    status_store = KafkaStatusStore(_log_maker(config, "status", stopping))
    offset_store = KafkaOffsetStore(_log_maker(config, "offset", stopping, _isolation(config)))
    worker = Worker(worker_id, config, plugins, offset_store, status_store, policy)
    config_store = KafkaConfigStore(
        config.topic("config"),
        _log_maker(config, "config", stopping, _isolation(config)),
        worker.config_transformer,
        _fenced_producer_maker(config),
    )
    listener = _LateListener()
    delay_ms = config.herder.scheduled_rebalance_max_delay_ms
    member = WorkerGroupMember(
        _client_config(config, worker_id),
        config.group,
        GroupShare(url, config_store.snapshot, config.protocol, SystemTime(), delay_ms),
        listener,
        RebalanceMetrics(worker.metrics),
    )
    herder = make(
        settings=config.herder,
        member=member,
        stopping=stopping,
        worker=worker,
        status_store=status_store,
        config_store=config_store,
        override_policy=policy,
    )
    listener.herder = herder
    config_store.set_update_listener(herder)
    return herder


class _LateListener:
    """The membership's listener: the herder, which is made after the membership."""

    herder: DistributedHerder

    def on_assigned(self, *arguments: Any) -> None:
        self.herder.on_assigned(*arguments)

    def on_revoked(self, *arguments: Any) -> None:
        self.herder.on_revoked(*arguments)

    def on_poll_timeout_expiry(self) -> None:
        self.herder.on_poll_timeout_expiry()


def _log_maker(
    config: DistributedConfig, kind: str, stopping: threading.Event, consumer: Mapping[str, object] | None = None
) -> MakeLog:
    partitions = 1 if kind == "config" else int(config[f"{kind}.storage.partitions"])
    factor = int(config[f"{kind}.storage.replication.factor"])
    topic = NewTopic(config.topic(kind), partitions, factor, topic_configs=config.topic_settings(kind))
    clients = WorkerLogClients(config.originals, f"{config.client_id_base}{_CLIENTS[kind]}", consumer=consumer)

    def ensure(admin: Any) -> None:
        ensure_compacted(admin, topic, f"{kind}.storage.topic", _PURPOSES[kind])

    return lambda on_record: KafkaBasedLog(topic.name, clients, on_record, ensure, stopping.is_set)


def _isolation(config: DistributedConfig) -> dict[str, object]:
    return {"isolation.level": "read_committed"} if config.exactly_once_source else {}


def _fenced_producer_maker(config: DistributedConfig) -> Callable[[], Any] | None:
    """A new leader's producer fences that of the leader before it (KIP-618)."""
    if not config.transactional_leader:
        return None
    configs = {
        **config.originals,
        "client.id": f"{config.client_id_base}leader",
        "transactional.id": config.leader_transactional_id,
        "acks": "all",
    }
    return lambda: make_producer(configs)


def _client_config(config: DistributedConfig, worker_id: str) -> Any:
    """The configs of the membership's client."""
    client_id = config["client.id"] or f"connect-{worker_id}"
    with make_admin({**config.originals, "client.id": client_id}) as admin:
        return admin.config
