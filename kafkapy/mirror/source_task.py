"""A task that copies partitions (Kafka's `MirrorSourceTask`)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.connect import java_classes
from kafkapy.connect.clients import make_consumer, make_producer
from kafkapy.connect.data.schema import BYTES_SCHEMA, OPTIONAL_BYTES_SCHEMA
from kafkapy.connect.headers import Header
from kafkapy.connect.metric_names import ConnectMetricName
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import SourceTask
from kafkapy.errors import WakeupException
from kafkapy.mirror.config.connector_config import SOURCE
from kafkapy.mirror.config.source_config import MirrorSourceTaskConfig
from kafkapy.mirror.mirror_classes import KAFKA
from kafkapy.mirror.mirror_metrics import MirrorSourceMetrics
from kafkapy.mirror.offset_sync_writer import OffsetSyncWriter
from kafkapy.mirror.replication_policy import ReplicationPolicy
from kafkapy.mirror.source_offsets import OFFSET_KEY, unwrap_offset, wrap_partition
from kafkapy.producer.future import BatchMetadata, RecordMetadata
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")


class MirrorSourceTask(SourceTask):
    """Reads its partitions without a group, from the offsets that the worker has stored.

    Invariant: only the thread that holds `_consumer_access` uses the consumer.
    """

    java_class = f"{KAFKA}MirrorSourceTask"

    def __init__(self) -> None:
        self._metrics: MirrorSourceMetrics | None = None
        self._consumer: Any = None
        self._consumer_access = threading.Lock()
        self._writer: OffsetSyncWriter | None = None
        self._source_alias = ""
        self._policy = ReplicationPolicy()
        self._poll_timeout_ms = 1_000.0
        self._is_stopping = False
        self._wrapped: dict[TopicPartition, tuple[str, dict[str, Any]]] = {}

    def version(self) -> str:
        return java_classes.VERSION

    def start(self, config: Mapping[str, str]) -> None:
        checked = MirrorSourceTaskConfig(config)
        writer = None
        if checked.emit_offset_syncs_enabled:
            producer = make_producer(checked.offset_syncs_topic_producer_config())
            writer = OffsetSyncWriter(producer, checked.offset_syncs_topic(), int(checked["offset.lag.max"]))
        consumer = make_consumer(checked.consumer_config(SOURCE, "replication-consumer"), group_id=None)
        self.begin(checked, consumer, writer)

    def begin(self, config: MirrorSourceTaskConfig, consumer: Any, writer: OffsetSyncWriter | None) -> None:
        """Start with these clients, which `stop` closes."""
        self._consumer, self._writer = consumer, writer
        self._source_alias = alias = config.source_cluster_alias
        self._policy = policy = config.replication_policy
        self._poll_timeout_ms = float(config["consumer.poll.timeout.ms"])
        partitions = config.topic_partitions()
        self._metrics = MirrorSourceMetrics(
            alias if config["add.source.alias.to.metrics"] else None,
            config.target_cluster_alias,
            [TopicPartition(policy.format_remote_topic(alias, each.topic), each.partition) for each in partitions],
        )
        self._seek(partitions)
        log.info("%s copies %d partitions", config.entity_label(), len(partitions))

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._is_stopping or not self._consumer_access.acquire(blocking=False):
            return None
        try:
            batches = self._consumer.poll(timeout_ms=self._poll_timeout_ms)
        except WakeupException:
            return None
        except KafkaError as error:
            log.warning("Reading from %s failed and is tried again: %s", self._source_alias, error)
            return None
        finally:
            self._consumer_access.release()
        if self._writer is not None:
            self._writer.fire_pending()  # those of a burst that had to wait for others in flight
        records: list[SourceRecord] = []
        for partition, batch in batches.items():
            records += self._copied(partition, batch)
        return records or None

    def commit(self) -> None:
        if self._writer is not None:
            self._writer.promote_delayed()
            self._writer.fire_pending()

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if metadata is not None:
            batch = BatchMetadata(metadata.topic, metadata.partition, metadata.offset, -1, 1)
            self.commit_records([record], [batch])

    def commit_records(self, records: Sequence[SourceRecord], batches: Sequence[BatchMetadata]) -> None:
        if self._is_stopping:
            return
        first = records[0]
        partition = TopicPartition(first.topic or "", first.kafka_partition or 0)
        now = time.time() * 1000
        latencies = [now - record.timestamp for record in records if record.timestamp is not None]
        if self._metrics is not None and latencies:
            self._metrics.written(partition, latencies)
        if self._writer is None:
            return
        place = first.source_partition or {}
        source = TopicPartition(place["topic"], place["partition"])
        begin = 0
        for batch in batches:
            copied = records[begin : begin + batch.record_count]
            begin += batch.record_count
            if batch.offset < 0:
                log.error("The offsets of records of %s are not known: they cannot be synced", partition.topic)
                continue
            self._writer.queue_run(source, [unwrap_offset(record.source_offset) for record in copied], batch.offset)

    def read_metrics(self) -> Mapping[ConnectMetricName, float]:
        return {} if self._metrics is None else self._metrics.read()

    def stop(self) -> None:
        self._is_stopping = True
        if self._consumer is None:
            return
        self._consumer.wakeup()
        with self._consumer_access:
            for client in (self._consumer, self._writer):
                try:
                    if client is not None:
                        client.close()
                except Exception as error:
                    log.warning("Closing a client of %s failed: %s", self._source_alias, error)

    def _seek(self, partitions: Sequence[TopicPartition]) -> None:
        """Seek to after the last copied record of each partition; partitions without one start by
        `auto.offset.reset`."""
        self._consumer.assign(partitions)
        reader = self.context.offset_storage_reader()
        stored = reader.offsets([wrap_partition(each, self._source_alias) for each in partitions])
        for partition, wrapped in zip(partitions, stored, strict=True):
            offset = unwrap_offset(wrapped)
            if offset >= 0:
                self._consumer.seek(partition, offset + 1)

    def _copied(self, source: TopicPartition, batch: Sequence[Any]) -> list[SourceRecord]:
        known = self._wrapped.get(source)
        if known is None:
            remote = self._policy.format_remote_topic(self._source_alias, source.topic)
            known = self._wrapped[source] = remote, wrap_partition(source, self._source_alias)
        topic, place = known
        number = source.partition
        if self._metrics is not None and batch:
            now = time.time() * 1000
            size = sum(len(record.value) for record in batch if record.value is not None)
            self._metrics.polled(TopicPartition(topic, number), [now - record.timestamp for record in batch], size)
        return [
            SourceRecord(
                place,
                {OFFSET_KEY: record.offset},
                topic,
                number,
                OPTIONAL_BYTES_SCHEMA,
                record.key,
                BYTES_SCHEMA,
                record.value,
                record.timestamp,
                [Header(key, BYTES_SCHEMA, content) for key, content in record.headers] if record.headers else None,
            )
            for record in batch
        ]
