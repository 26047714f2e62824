"""The registry's topic: one compacted partition; all instances read it from its beginning, the primary writes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.admin.new_topic import NewTopic
from kafkapy.errors import KafkaError, TopicAlreadyExistsError
from kafkapy.registry.records import RegistryRecord
from kafkapy.registry.refusals import RegistryRefusal, store_failed, timed_out
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.registry")

_POLL_MS = 500


class SchemaTopicError(Exception):
    """The topic is unusable; the message has the cause and the remedy."""


class SchemaTopic:
    """Invariant: records before `_position` have been applied, in order; only the reader's thread applies records."""

    def __init__(
        self,
        clients: dict[str, Any],
        topic: str,
        apply: Callable[[RegistryRecord], None],
        replication_factor: int = 3,
        timeout_ms: float = 500,
    ) -> None:
        """`clients`: arguments for producer, consumer and admin client. `timeout_ms`: limit for a write to be
        applied."""
        self.topic = topic
        self._clients = clients
        self._apply = apply
        self._replication_factor = replication_factor
        self._timeout_s = timeout_ms / 1000
        self._position = 0
        self._moved = threading.Condition()
        self._stopping = False
        self._error: str | None = None
        self._thread: threading.Thread | None = None
        self._producer: Any = None

    def start(self, timeout_s: float) -> str:
        """Create the topic if necessary, and apply its records; return the cluster's id. Raises SchemaTopicError,
        KafkaError."""
        from kafkapy import KafkaConsumer, KafkaProducer

        cluster_id = self._ensure_topic()
        partition = TopicPartition(self.topic, 0)
        consumer = KafkaConsumer(
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_poll_records=1_000,
            **self._clients,
        )
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        self._producer = KafkaProducer(acks="all", linger_ms=0, **self._clients)
        self._thread = threading.Thread(target=self._read, args=(consumer, partition), name="schema-topic", daemon=True)
        self._thread.start()
        self._wait_until(end, timeout_s)
        log.info("Read %s up to offset %d", self.topic, end)
        return cluster_id

    def _ensure_topic(self) -> str:
        from kafkapy import KafkaAdminClient

        admin = KafkaAdminClient(**self._clients)
        try:
            cluster = admin.describe_cluster()
            if self.topic not in admin.list_topics():
                factor = min(self._replication_factor, len(cluster["brokers"]))
                if factor < self._replication_factor:
                    log.warning(
                        "%s gets %d replicas and not %d: there are no more brokers",
                        self.topic,
                        factor,
                        self._replication_factor,
                    )
                configs = {"cleanup.policy": "compact"}
                new = NewTopic(self.topic, num_partitions=1, replication_factor=factor, topic_configs=configs)
                try:
                    admin.create_topics([new])
                except TopicAlreadyExistsError:
                    pass  # another instance has created it
            else:
                self._check_topic(admin)
            return str(cluster.get("cluster_id", ""))
        finally:
            admin.close()

    def _check_topic(self, admin: Any) -> None:
        from kafkapy.admin.config_resource import ConfigResource, ConfigResourceType

        (described,) = admin.describe_topics([self.topic])
        if len(described["partitions"]) != 1:
            raise SchemaTopicError(
                f"{self.topic} has {len(described['partitions'])} partitions and must have one: name another in kafkastore.topic"
            )
        resource = ConfigResource(ConfigResourceType.TOPIC, self.topic)
        described_configs = admin.describe_configs([resource], config_filter="all")["topic"][self.topic]
        policy = described_configs.get("cleanup.policy", {}).get("value")
        if policy is not None and policy != "compact":
            raise SchemaTopicError(
                f"The cleanup.policy of {self.topic} is {policy} and must be compact, or schemas get lost: "
                f"kafka-configs.sh --alter --entity-type topics --entity-name {self.topic} --add-config cleanup.policy=compact"
            )

    def _read(self, consumer: Any, partition: TopicPartition) -> None:
        try:
            while not self._stopping:
                try:
                    batches = consumer.poll(timeout_ms=_POLL_MS)
                    for record in batches.get(partition, ()):
                        self._take(record)
                    with self._moved:
                        self._position = max(self._position, consumer.position(partition))
                        self._moved.notify_all()
                except KafkaError as error:
                    log.warning("Reading %s failed and is tried again: %s", self.topic, error)
                    time.sleep(0.2)
        except Exception as error:
            log.exception("Reading %s ended", self.topic)
            with self._moved:
                self._error = f"Reading {self.topic} ended: {error!r}"
                self._moved.notify_all()
        finally:
            consumer.close()

    def _take(self, raw: Any) -> None:
        record = RegistryRecord.from_bytes(raw.key, raw.value)
        if record is None:
            log.warning("Offset %d of %s is no record of a registry and is left out", raw.offset, self.topic)
            return
        try:
            self._apply(record)
        except Exception as error:  # a bad record must not block the following ones
            log.warning("Offset %d of %s cannot be understood and is left out: %r", raw.offset, self.topic, error)

    def write(self, records: Sequence[RegistryRecord]) -> None:
        """Write records, and wait until they are in the log and applied here. Raises RegistryRefusal."""
        if not records:
            return
        deadline = time.monotonic() + max(self._timeout_s, 0.5)
        try:
            futures = []
            for record in records:
                key, value = record.to_bytes()
                futures.append(self._producer.send(self.topic, key=key, value=value, partition=0))
            self._producer.flush(timeout=max(self._timeout_s, 0.5))
            last = max(future.get(timeout=max(0.0, deadline - time.monotonic())).offset for future in futures)
        except KafkaError as error:
            if "too large" in str(error).lower() or "RecordTooLarge" in type(error).__name__:
                raise RegistryRefusal(422, 42209, "Write failed because schema is too large") from None
            raise store_failed(f"Writing to {self.topic} failed: {error}") from None
        self._wait_until(last + 1, max(0.5, deadline - time.monotonic()))

    def _wait_until(self, offset: int, timeout_s: float) -> None:
        with self._moved:
            self._moved.wait_for(lambda: self._position >= offset or self._error is not None, timeout_s)
            if self._error is not None:
                raise store_failed(self._error)
            if self._position < offset:
                raise timed_out(f"Reading {self.topic} up to offset {offset} took longer than {timeout_s:.1f} s")

    def stop(self) -> None:
        self._stopping = True
        if self._thread is not None:
            self._thread.join(5)
        if self._producer is not None:
            self._producer.close(timeout=5)
