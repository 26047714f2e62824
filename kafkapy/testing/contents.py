"""Reads a cluster's records, committed offsets and lags, and produces records in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.testing.waiting import wait_until

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.consumer.records import ConsumerRecord
    from kafkapy.producer import KafkaProducer

READ_SECONDS = 120.0
Value = bytes | str | None
Lags = dict[TopicPartition, int]


class Contents:
    """Reads and writes a cluster's contents.

    Invariant: `_producer` is the only producer of this object; it is created by the first `produce_many`.
    """

    def __init__(self, client_options: Callable[[], dict[str, Any]], admin: Callable[[], AdminClient]) -> None:
        self._client_options = client_options
        self._admin = admin
        self._producer: KafkaProducer[Any, Any] | None = None

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close(timeout=0)

    # ------------------------------------------------------------------------------------------------ records

    def records(self, topic: str, *, read_committed: bool = True, **options: Any) -> list[ConsumerRecord[Any, Any]]:
        """Return all current records of a topic, ordered by partition and offset. `options`: of `KafkaConsumer`, for
        example deserializers."""
        from kafkapy import KafkaConsumer

        consumer: KafkaConsumer[Any, Any] = KafkaConsumer(
            group_id=None,
            auto_offset_reset="earliest",
            isolation_level="read_committed" if read_committed else "read_uncommitted",
            **{**self._client_options(), **options},
        )
        found: dict[TopicPartition, list[ConsumerRecord[Any, Any]]] = {}
        with consumer:
            partitions = sorted(self.partitions(topic))
            ends = {name: end for name, end in consumer.end_offsets(partitions).items() if end}
            if not ends:
                return []
            consumer.assign(list(ends))
            consumer.seek_to_beginning()

            def has_all() -> bool:
                for name, records in consumer.poll(timeout_ms=50).items():
                    found.setdefault(name, []).extend(records)
                return all((consumer.position(name) or 0) >= end for name, end in ends.items())

            wait_until(has_all, READ_SECONDS, lambda: f"all records of {topic} are read")
        return [record for name in partitions for record in found.get(name, ()) if record.offset < ends.get(name, 0)]

    def produce_many(
        self,
        topic: str,
        values: Iterable[Value | tuple[Value, Value]],
        *,
        partition: int | None = None,
        timeout: float = READ_SECONDS,
    ) -> int:
        """Produce values, or pairs of key and value (text as UTF-8), and return how many.

        Returns when all in-sync replicas have acknowledged them.
        """
        rows = [value if isinstance(value, tuple) else (None, value) for value in values]
        if not rows:
            return 0
        if self._producer is None:
            from kafkapy import KafkaProducer

            # An auto-created topic has a leader a few ms after its first Metadata request.
            self._producer = KafkaProducer(**self._client_options(), acks="all", retry_backoff_ms=5)
        keys = [_encoded(key) for key, _ in rows]
        future = self._producer.send_many(
            topic,
            [_encoded(value) for _, value in rows],
            keys=None if all(key is None for key in keys) else keys,
            partition=partition,
        )
        future.get(timeout)
        return len(rows)

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic. Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION if it does not exist."""
        from kafkapy.admin.results import values_of

        (described,) = values_of(self._admin().describe_topics([topic])).values()
        return [TopicPartition(topic, each.partition) for each in described.partitions]

    # ------------------------------------------------------------------------------------------------ groups

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the group's committed offsets; empty if the group does not exist."""
        offsets = self._admin().list_group_offsets(group)
        return {name: offset.offset for name, offset in offsets.items() if offset is not None}

    def lag(self, group: str) -> Lags:
        """Return the lag of each partition of the topics with a committed offset.

        It is the end offset minus the committed offset, or minus the log start offset if the partition has none.
        """
        from kafkapy.admin.results import values_of
        from kafkapy.structs import OffsetSpec

        committed = self.committed(group)
        partitions = [name for topic in {name.topic for name in committed} for name in self.partitions(topic)]
        look_up = partial(self._admin().list_offsets)
        ends = values_of(look_up(dict.fromkeys(partitions, OffsetSpec.LATEST)))
        starts = values_of(look_up(dict.fromkeys(partitions, OffsetSpec.EARLIEST)))
        return {name: end.offset - committed.get(name, starts[name].offset) for name, end in ends.items()}

    def wait_until_committed(self, group: str, topic: str | None = None, timeout: float = READ_SECONDS) -> None:
        """Wait until the group has no lag in the topic, by default in all topics with a committed offset."""

        def is_committed() -> bool:
            lags = self.lag(group)
            of_topic = [lag for name, lag in lags.items() if topic in (None, name.topic)]
            return bool(of_topic) and not any(of_topic)

        wait_until(is_committed, timeout, lambda: f"group {group} has committed everything; its lag: {self.lag(group)}")


def _encoded(value: Value) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
