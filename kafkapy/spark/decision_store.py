"""Stores the last decision of each sink in the cluster of its output, so that only the checkpoint is needed to find
it.

A decision is a record of a compacted topic (key: the sink; value: the decision with its winners, as JSON), and an offset that the
sink's own group commits for that topic, which points to the record and has the rest of the decision as metadata. Both are
written in one transaction of the sink's own transactional id. A task reads the offset alone; where there is none (no decision
yet, or the group has expired: offsets.retention.minutes), the topic is read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from kafkapy.admin.results import value_of
from kafkapy.admin.topics import NewTopic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.range_reader import read_range
from kafkapy.errors import ProducerFencedError
from kafkapy.producer.kafka_producer import KafkaProducer
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.spark.errors import SinkError
from kafkapy.spark.kafka_params import COMMON, SECURITY, KafkaParams, producer_configs
from kafkapy.spark.sink_decision import Decision, decision_of, sink_id
from kafkapy.spark.sink_transactions import SinkTransactions
from kafkapy.structs import IsolationLevel, OffsetAndMetadata, OffsetSpec

_TRANSACTION_TIMEOUT_MS = 60_000
_PATIENCE_SECONDS = 3.0
"""How long a task waits for a decision that is being written, before it fences its writer."""
_POLL_SECONDS = 0.05
_REPLICAS = 3
_MOST_BYTES = 900_000
"""Limit of a decision: brokers accept batches of a million bytes (message.max.bytes)."""


class DecisionStore:
    """Reads the last decision of a sink, and changes it. Not thread-safe."""

    def __init__(self, params: KafkaParams, topic: str, cluster: SinkTransactions) -> None:
        self._params = params
        self._cluster = cluster
        self._partition = TopicPartition(topic, 0)

    # --- reading

    def last(self, sink: str) -> Decision | None:
        """Return the last decision without its winners. A decision that is being written is awaited, or its writer
        fenced."""
        pointer = self._pointer(sink)
        if pointer is not None:
            return decision_of(pointer.metadata or "", sink)
        return self._search(sink)

    def with_winners(self, sink: str) -> Decision | None:
        """Return the last decision with its winners. Raises SinkError if its record is missing."""
        pointer = self._pointer(sink)
        if pointer is None:
            return self._search(sink)
        for key, value in self._read(pointer.offset, pointer.offset + 1):
            if key == sink.encode():
                return decision_of(value, sink)
        raise SinkError(
            f"The record of the last decision of sink {sink} is missing at offset {pointer.offset} of {self._partition}: the "
            "topic must be compacted and not deleted. Whether that batch was committed completely is not known; look at the "
            f"transactions of {sink_id(sink)}/…, then begin with a new checkpoint or sinkName."
        )

    def _pointer(self, sink: str) -> OffsetAndMetadata | None:
        group = sink_id(sink)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for prevented in (False, True):
            while True:
                found = self._cluster.list_group_offsets(group, [self._partition], require_stable=True)
                if self._partition in found:
                    return found[self._partition]
                if time.monotonic() > deadline:
                    break
                time.sleep(_POLL_SECONDS)
            if not prevented:
                value_of(self._cluster.fence([group], _TRANSACTION_TIMEOUT_MS)[group])
                deadline = time.monotonic() + 10 * _PATIENCE_SECONDS
        raise SinkError(
            f"The offset of group {group} for {self._partition} cannot be read: a transaction with it stays open"
        )

    def _search(self, sink: str) -> Decision | None:
        """Return the topic's last record of the sink."""
        topic = self._cluster.describe_topics([self._partition.topic])[self._partition.topic]
        if isinstance(topic, KafkaError) and topic.error is Errors.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        start, end = self._offset(OffsetSpec.EARLIEST), self._offset(OffsetSpec.LATEST)
        last = None
        for key, value in self._read(start, end):
            if key == sink.encode():
                last = value
        return None if last is None else decision_of(last, sink)

    def _offset(self, which: OffsetSpec) -> int:
        found = self._cluster.list_offsets({self._partition: which}, IsolationLevel.READ_COMMITTED)
        return value_of(found[self._partition]).offset

    def _read(self, start: int, end: int) -> Iterator[tuple[bytes | None, bytes]]:
        params = self._params
        given = {name.replace(".", "_"): params[name] for name in COMMON if params[name] is not None}
        if start >= end:
            return
        topic, partition = self._partition
        for batch in read_range(
            given | params[SECURITY], topic, partition, start, end, isolation_level="read_committed"
        ):
            for key, value in zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True):
                if value is not None:
                    yield key, value

    # --- changing

    @contextmanager
    def turn(self, sink: str) -> Iterator[Turn]:
        """Acquire the exclusive right to change a sink's decision, until another process acquires it.

        Earlier writers are fenced; a write that they have begun is either complete or fails.
        """
        self._create_topic()
        configs = producer_configs(self._params) | {
            "transactional_id": sink_id(sink),
            "transaction_timeout_ms": _TRANSACTION_TIMEOUT_MS,
            "acks": "all",
            "enable_idempotence": True,
            "compression_type": "gzip",
        }
        with KafkaProducer(**configs) as producer:
            producer.init_transactions()
            yield Turn(producer, sink, self._partition, self.with_winners(sink))

    def _create_topic(self) -> None:
        servers = self._params["bootstrap.servers"]
        if (servers, self._partition.topic) in _created():
            return
        brokers = len(self._cluster.describe_cluster().nodes)
        replicas = min(brokers, _REPLICAS)
        configs = {
            "cleanup.policy": "compact",
            "min.insync.replicas": str(max(1, replicas - 1)),
            "segment.bytes": str(16 << 20),
        }
        topic = NewTopic(self._partition.topic, 1, replicas, topic_configs=configs)
        created = self._cluster.create_topics([topic])[topic.name]
        if isinstance(created, KafkaError) and created.error is not Errors.TOPIC_ALREADY_EXISTS:
            raise created
        _created().add((servers, topic.name))


@cache
def _created() -> set[tuple[Any, str]]:
    """Return the pairs of brokers and topic that this process has found to exist."""
    return set()


class Turn:
    """`last`: the decision that is valid until another writer takes the right to change it."""

    def __init__(
        self, producer: KafkaProducer[Any, Any], sink: str, partition: TopicPartition, last: Decision | None
    ) -> None:
        self.last = last
        self._producer = producer
        self._sink = sink
        self._partition = partition

    def decide(self, decision: Decision) -> None:
        """Write the decision; it is final on return. Raises SinkError if it was not written; after another error it
        may be written."""
        value = decision.to_json(self._sink)
        if len(value) > _MOST_BYTES:
            raise SinkError(
                f"The batch has {len(decision.winners)} tasks that write: too many for one decision "
                f"({len(value):,} of {_MOST_BYTES:,} bytes). Coalesce the DataFrame to fewer partitions."
            )
        producer, topic = self._producer, self._partition.topic
        try:
            producer.begin_transaction()
            sent = producer.send(topic, value, key=self._sink.encode(), partition=self._partition.partition)
            producer.flush()
            pointer = OffsetAndMetadata(sent.get().offset, decision.summary())
            producer.send_offsets_to_transaction({self._partition: pointer}, sink_id(self._sink))
            producer.commit_transaction()
        except ProducerFencedError as error:
            raise SinkError(
                f"Another driver writes to sink {self._sink} and has taken over: two queries have the same checkpoint, or "
                "two jobs the same sinkName. This one's batch is not visible."
            ) from error
        self.last = decision
