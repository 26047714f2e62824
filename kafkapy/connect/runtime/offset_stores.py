"""Creates the offset stores of connectors and tasks (KIP-618: connectors may have their own topics)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.admin.topics import NewTopic
from kafkapy.connect.clients import make_admin, make_consumer, make_producer
from kafkapy.connect.runtime.client_configs import ClientConfigs, ClientSettings, ConnectorConfigs
from kafkapy.connect.runtime.connector_offset_store import ConnectorOffsetStore
from kafkapy.connect.runtime.worker_config import WorkerConfig
from kafkapy.connect.storage import OffsetBackingStore
from kafkapy.connect.topics.offset_store import KafkaOffsetStore
from kafkapy.connect.topics.topic_admin import ensure_compacted
from kafkapy.connect.topics.topic_log import KafkaBasedLog, LogRecord

OFFSETS_TOPIC_CONFIG = "offsets.storage.topic"


class OffsetStores:
    """Selects and creates the stores of a connector; a store connects in `start`."""

    def __init__(self, worker: WorkerConfig, clients: ClientConfigs, worker_store: OffsetBackingStore) -> None:
        """
        Args:
            worker: The worker's configs.
            clients: Provides configs of clients.
            worker_store: The worker's own store.
        """
        self._worker = worker
        self._clients = clients
        self._worker_store = worker_store

    def for_connector(
        self, name: str, config: ConnectorConfigs, producer: Any = None, producer_configs: ClientSettings | None = None
    ) -> ConnectorOffsetStore:
        """Create the store of a connector, also for changes of its offsets.

        Args:
            name: The connector's name.
            config: Its config.
            producer: Producer for writes; None (default): the store is read-only.
            producer_configs: The producer's configs. Default: those of a source task.
        """
        configs = producer_configs or self._clients.producer(name, f"connector-producer-{name}", config)
        return self._store(name, name, config, configs, producer)

    def for_task(
        self, connector: str, task: str, config: ConnectorConfigs, producer: Any, producer_configs: ClientSettings
    ) -> ConnectorOffsetStore:
        """Create the store of a task; if it has its own topic, the task's producer writes it. `task`: the task's id as
        text."""
        return self._store(connector, task, config, producer_configs, producer)

    def _store(
        self, connector: str, suffix: str, config: ConnectorConfigs, producer_configs: ClientSettings, producer: Any
    ) -> ConnectorOffsetStore:
        worker_topic, exactly_once = self._worker.offsets_topic, self._worker.exactly_once_source
        own = config.get(OFFSETS_TOPIC_CONFIG)
        topic = worker_topic if own is None and exactly_once else own
        if topic is None or worker_topic is None:
            return ConnectorOffsetStore(self._worker_store, None, worker_topic)
        clients = _ConnectorLogClients(
            producer,
            self._clients.offsets_consumer(connector, f"connector-consumer-{suffix}", config, exactly_once),
            self._clients.admin(connector, f"connector-adminclient-{suffix}", config, "source"),
        )
        store = KafkaOffsetStore(self._log_maker(topic, clients))
        same = topic == worker_topic and self._same_cluster(producer_configs)
        return ConnectorOffsetStore(None if same else self._worker_store, store, topic)

    def _log_maker(self, topic: str, clients: _ConnectorLogClients) -> Callable[[Callable[[LogRecord], None]], Any]:
        worker = self._worker

        def ensure(admin: Any) -> None:
            prefix = "offset.storage."
            settings = {
                name.removeprefix(prefix): value
                for name, value in worker.originals.items()
                if name.startswith(prefix)
                and name.removeprefix(prefix) not in ("topic", "partitions", "replication.factor", "cleanup.policy")
            }
            wanted = NewTopic(
                topic, worker[f"{prefix}partitions"], worker[f"{prefix}replication.factor"], topic_configs=settings
            )
            ensure_compacted(admin, wanted, OFFSETS_TOPIC_CONFIG, "source connector offsets")

        return lambda on_record: KafkaBasedLog(topic, clients, on_record, ensure)

    def _same_cluster(self, producer_configs: Mapping[str, object]) -> bool:
        """Return whether the clusters are the same, by address as in Kafka: different addresses of one cluster count
        as two."""
        return _addresses(str(producer_configs.get("bootstrap.servers", ""))) == _addresses(
            self._clients.bootstrap_servers
        )


class _ConnectorLogClients:
    """The clients of an offsets topic. The producer is the task's, so that offsets are part of its transactions."""

    def __init__(self, producer: Any, consumer: ClientSettings, admin: ClientSettings) -> None:
        self._producer = producer
        self._consumer = consumer
        self._admin = admin

    def admin(self) -> Any:
        return make_admin(self._admin)

    def consumer(self) -> Any:
        configs = {name: value for name, value in self._consumer.items() if name != "group.id"}
        return make_consumer(configs, group_id=None)

    def producer(self) -> Any:
        return self._producer


def make_task_producer(configs: ClientSettings) -> Any:
    """Create the producer of a source task. Raises KafkaConfigurationError, KafkaError."""
    return make_producer(configs)


def _addresses(text: str) -> set[str]:
    return {part.strip() for part in text.split(",") if part.strip()}
