"""A flow's worker in the dedicated mode: what Kafka's `MirrorMaker.addHerder` makes for a pair of clusters."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.admin.topics import NewTopic
from kafkapy.clients.config import ClientConfig
from kafkapy.common.time import SystemTime
from kafkapy.connect.clients import make_admin, make_producer
from kafkapy.connect.group.worker_member import GroupShare, WorkerGroupMember
from kafkapy.connect.herder.distributed_config import DistributedConfig
from kafkapy.connect.herder.override_policies import AllOverridePolicy
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.rest.worker_client import RestWorkerClient
from kafkapy.connect.runtime.worker import Worker
from kafkapy.connect.topics.config_store import KafkaConfigStore, MakeLog
from kafkapy.connect.topics.offset_store import KafkaOffsetStore
from kafkapy.connect.topics.status_store import KafkaStatusStore
from kafkapy.connect.topics.topic_admin import ensure_compacted
from kafkapy.connect.topics.topic_log import KafkaBasedLog
from kafkapy.connect.topics.worker_clients import WorkerLogClients
from kafkapy.mirror.checkpoint_connector import MirrorCheckpointConnector
from kafkapy.mirror.checkpoint_task import MirrorCheckpointTask
from kafkapy.mirror.config.maker_config import MirrorMakerConfig
from kafkapy.mirror.heartbeat_connector import MirrorHeartbeatConnector, MirrorHeartbeatTask
from kafkapy.mirror.mirror_herder import MirrorHerder
from kafkapy.mirror.replication_policy import SourceAndTarget
from kafkapy.mirror.source_connector import MirrorSourceConnector
from kafkapy.mirror.source_task import MirrorSourceTask

log = logging.getLogger("kafkapy.mirror")

UNUSED_URL = "NOTUSED"
"""The URL of a worker without the internal REST server, as Kafka has it."""
MIRROR_CONNECTORS: Final = (MirrorSourceConnector, MirrorHeartbeatConnector, MirrorCheckpointConnector)
_TASKS: Final = (MirrorSourceTask, MirrorHeartbeatTask, MirrorCheckpointTask)
_CLASSES: Final[Mapping[str, type]] = {each.java_class: each for each in (*MIRROR_CONNECTORS, *_TASKS)}
_JOIN_S = 60.0
_PURPOSES = {"config": "connector configurations", "offset": "source connector offsets", "status": "statuses"}


class FlowWorker:
    """A herder on a thread of its own. Invariant: `failure` is what has ended the herder, None while it runs."""

    def __init__(self, pair: SourceAndTarget, herder: MirrorHerder, on_failure: Callable[[], None]) -> None:
        """
        Args:
            pair: The flow.
            herder: Its herder.
            on_failure: Called, on the herder's thread, when the herder ends by an error.
        """
        self.pair = pair
        self.herder = herder
        self.failure: BaseException | None = None
        self._on_failure = on_failure
        self._thread = threading.Thread(target=self._run, name=f"mirror-herder-{pair}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def request_stop(self) -> None:
        """Ask the herder to end."""
        self.herder.request_stop()

    def join(self) -> None:
        """Wait until it has ended, a minute at most."""
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        try:
            self.herder.initialize()
            self.herder.run()
        except Exception as error:
            self.failure = error
            log.exception("The worker of %s has ended", self.pair)
            self._on_failure()


def make_flow_worker(
    maker_config: MirrorMakerConfig, pair: SourceAndTarget, url: str, on_failure: Callable[[], None]
) -> FlowWorker:
    """Make the worker of a flow. It reaches the target cluster, for that cluster's id.

    Args:
        maker_config: Of the dedicated mode.
        pair: The flow.
        url: URL of this process's internal REST server; `UNUSED_URL` without one.
        on_failure: Called when the worker ends by an error.

    Raises:
        ConfigException: A config is wrong.
        KafkaError: The target cluster cannot be reached.
    """
    config = DistributedConfig.of(maker_config.worker_config(pair))
    plugins = MirrorPlugins(config["plugin.path"] or (), MIRROR_CONNECTORS)
    policy = AllOverridePolicy()
    status_store = KafkaStatusStore(_log_maker(config, "status"))
    offset_store = KafkaOffsetStore(_log_maker(config, "offset", _isolation(config)))
    worker = Worker(str(pair), config, plugins, offset_store, status_store, policy)
    config_store = KafkaConfigStore(
        config.topic("config"),
        _log_maker(config, "config", _isolation(config)),
        worker.config_transformer,
        _fenced_producer_maker(config),
    )
    client_config, cluster_id = _look_at_cluster(config)
    listener = _LateListener()
    member = WorkerGroupMember(
        client_config,
        config.group,
        GroupShare(
            url, config_store.snapshot, config.protocol, SystemTime(), config.herder.scheduled_rebalance_max_delay_ms
        ),
        listener,
    )
    herder = MirrorHerder(
        maker_config,
        pair,
        client=RestWorkerClient(),
        settings=config.herder,
        member=member,
        worker=worker,
        cluster_id=cluster_id,
        status_store=status_store,
        config_store=config_store,
        override_policy=policy,
    )
    listener.herder = herder
    config_store.set_update_listener(herder)
    return FlowWorker(pair, herder, on_failure)


class MirrorPlugins(Plugins):
    """Knows MirrorMaker's connectors and tasks by Kafka's names, also where the package's entry points are not installed."""

    def find_class(self, name: str) -> Any:
        return _CLASSES[name] if name in _CLASSES else super().find_class(name)


class _LateListener:
    """The membership's listener: the herder, which is made after the membership."""

    herder: MirrorHerder

    def on_assigned(self, *arguments: Any) -> None:
        self.herder.on_assigned(*arguments)

    def on_revoked(self, *arguments: Any) -> None:
        self.herder.on_revoked(*arguments)

    def on_poll_timeout_expiry(self) -> None:
        self.herder.on_poll_timeout_expiry()


def _log_maker(config: DistributedConfig, kind: str, consumer: Mapping[str, object] | None = None) -> MakeLog:
    partitions = 1 if kind == "config" else int(config[f"{kind}.storage.partitions"])
    factor = int(config[f"{kind}.storage.replication.factor"])
    topic = NewTopic(config.topic(kind), partitions, factor, topic_configs=config.topic_settings(kind))
    clients = WorkerLogClients(config.originals, f"{config.client_id_base}{kind}s", consumer=consumer)

    def ensure(admin: Any) -> None:
        ensure_compacted(admin, topic, f"{kind}.storage.topic", _PURPOSES[kind])

    return lambda on_record: KafkaBasedLog(topic.name, clients, on_record, ensure)


def _isolation(config: DistributedConfig) -> dict[str, object]:
    return {"isolation.level": "read_committed"} if config.exactly_once_source else {}


def _fenced_producer_maker(config: DistributedConfig) -> Callable[[], Any] | None:
    if not config.transactional_leader:
        return None
    configs = {
        **config.originals,
        "client.id": f"{config.client_id_base}leader",
        "transactional.id": config.leader_transactional_id,
        "acks": "all",
    }
    return lambda: make_producer(configs)


def _look_at_cluster(config: DistributedConfig) -> tuple[ClientConfig, str]:
    """Return the configs of the membership's client, and the cluster's id."""
    client_id = config["client.id"] or f"connect-{config['group.id']}"
    admin = make_admin({**config.originals, "client.id": client_id})
    try:
        return admin.config, str(admin.describe_cluster().cluster_id)
    finally:
        admin.close()
