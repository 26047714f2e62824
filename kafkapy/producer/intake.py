"""Turns the arguments of `send` into a record in the accumulator: checks, serializers, the choice of a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.partitioner import DefaultPartitioner, Partitioner, StickyPartitioner
from kafkapy.partitioner.hashing import partition_of
from kafkapy.producer.batch import ProducerBatch
from kafkapy.producer.core import ProducerCore, TopicView
from kafkapy.producer.future import FutureRecordMetadata
from kafkapy.record.batch_encoder import Headers
from kafkapy.serializer import LookUpFirst, Serializer, SerializeWrapper, for_client

T = TypeVar("T")
Serialized = tuple[bytes | None, bytes | None, Headers | None]
"""Value, key and headers."""
Bytes = bytes | bytearray | memoryview


class Intake:
    """Validates, serializes and partitions records, and appends them to the accumulator. Thread-safe."""

    def __init__(self, core: ProducerCore, *, waits: bool = True) -> None:
        """`waits`: whether serializers may block; if False, they raise `LookUpFirst` instead."""
        config = core.config
        self.core = core
        self.accumulator = core.accumulator
        key_serializer = _serializer(config.key_serializer)
        value_serializer = _serializer(config.value_serializer)
        self.key_serializer = for_client(key_serializer, is_key=True, waits=waits)
        self.value_serializer = for_client(value_serializer, is_key=False, waits=waits)
        self.partitioner = config.partitioner
        self.own_choice = type(self.partitioner) in (DefaultPartitioner, StickyPartitioner)
        """Whether partitions are chosen here, and not by a partitioner of the user."""
        self._cluster = ClusterView(core)

    @property
    def short_path(self) -> dict[str, ProducerBatch]:
        """Return topic -> open batch to which `send` may append a value directly; empty if every record needs
        `append`."""
        if self.value_serializer is None and self.own_choice and self.core.transactions is None:
            return self.accumulator.sticky
        return {}

    def serialize(self, topic: str, value: Any, key: Any, headers: Any) -> Serialized:
        """Return value, key and headers in serialized form. Raises TypeError, ValueError, and the serializers'
        errors."""
        if value is None and key is None:
            raise ValueError("Need at least one: key or value")
        if type(topic) is not str:
            raise TypeError("topic must be a str")
        check_headers(headers)
        own_headers = headers if headers is not None else []
        if self.key_serializer is not None:
            key = self.key_serializer.serialize(topic, own_headers, key)
        if self.value_serializer is not None:
            value = self.value_serializer.serialize(topic, own_headers, value)
        return _as_bytes(value, "value"), _as_bytes(key, "key"), list(headers) if headers else None

    async def looked_up(self, f: Callable[[], T]) -> T:
        """Call `f`, after the look-ups that its serializers need; return its result. Raises the error of a failed
        look-up."""
        while True:
            try:
                return f()
            except LookUpFirst as needed:
                await self.core.driver.run_in_thread(needed.look_up)

    def append(
        self,
        view: TopicView,
        topic: str,
        record: tuple[bytes | None, bytes | None, Headers | None],
        partition: int | None,
        timestamp_ms: int | None,
        raw: tuple[Any, Any],
    ) -> FutureRecordMetadata | None:
        """Add a serialized record (value, key, headers); return None if there is no memory at present. `raw`: value
        and key as the user gave them, for the user's partitioner.

        Raises ValueError for a partition that doesn't exist, MessageSizeTooLargeError, IllegalStateError and the error
        of a failed transaction.
        """
        value, key, headers = record
        if timestamp_ms is not None and (type(timestamp_ms) is not int or timestamp_ms < 0):
            raise TypeError(f"timestamp_ms must be an int, at least 0; it is {timestamp_ms!r}")
        sticky = partition is None and key is None and self.own_choice
        chosen = self.partition(view, topic, record, partition, raw)
        topic_partition = TopicPartition(topic, chosen)
        transactions = self.core.transactions
        if transactions is not None:
            transactions.register(topic_partition)
            sticky = False
        if not self.own_choice and partition is None and key is None:
            topic_partition = self._maybe_new_choice(view, topic, record, raw, topic_partition)
        return self.accumulator.append(topic_partition, value, key, headers, timestamp_ms, sticky=sticky)

    def partition(
        self,
        view: TopicView,
        topic: str,
        record: tuple[bytes | None, bytes | None, Headers | None],
        partition: int | None,
        raw: tuple[Any, Any],
    ) -> int:
        """Choose the partition of a record."""
        value, key, headers = record
        if partition is not None:
            if type(partition) is not int or partition < 0:
                raise ValueError("partition must be >= 0")
            if partition not in view.partitions:
                raise ValueError(f"Unrecognized partition {partition} for topic {topic}")
            return partition
        if self.own_choice:
            if key is not None:
                return view.partitions[partition_of(key, len(view.partitions))]
            size = self.accumulator.record_size(value, key, headers)
            return self.accumulator.sticky_partition(topic, view.available, size)
        return self._ask_partitioner(view, topic, record, raw)

    def _ask_partitioner(
        self,
        view: TopicView,
        topic: str,
        record: tuple[bytes | None, bytes | None, Headers | None],
        raw: tuple[Any, Any],
    ) -> int:
        value, key, _ = record
        partitioner = self.partitioner
        if isinstance(partitioner, Partitioner):
            chosen: Any = partitioner.partition(topic, raw[1], key, raw[0], value, self._cluster)
        elif hasattr(partitioner, "partition"):
            chosen = partitioner.partition(topic, key, self._cluster)
        else:  # a function, as in kafka-python 2
            chosen = partitioner(key, list(view.partitions), view.available)
        if chosen is None:
            raise ValueError(f"Partitioner did not assign a partition for topic {topic}!")
        if chosen not in view.partitions:
            raise ValueError(f"Partitioner chose partition {chosen}, which topic {topic} does not have")
        return int(chosen)

    def _maybe_new_choice(
        self,
        view: TopicView,
        topic: str,
        record: tuple[bytes | None, bytes | None, Headers | None],
        raw: tuple[Any, Any],
        topic_partition: TopicPartition,
    ) -> TopicPartition:
        """Notify a sticky partitioner that a new batch begins, and call it again."""
        on_new_batch: Callable[..., object] | None = getattr(self.partitioner, "on_new_batch", None)
        if on_new_batch is None or self.accumulator.has_room(topic_partition, len(record[0] or b"")):
            return topic_partition
        on_new_batch(topic, self._cluster, topic_partition.partition)
        return TopicPartition(topic, self._ask_partitioner(view, topic, record, raw))

    def failed(
        self, topic: str, partition: int | None, value: bytes | None, error: BaseException
    ) -> FutureRecordMetadata:
        """Return a failed future: for brokers' errors that kafka-python doesn't raise from `send`."""
        topic_partition = TopicPartition(topic, -1 if partition is None else partition)
        batch = ProducerBatch(topic_partition, self.accumulator.lock, 0, 0)
        batch.values = [value]
        batch.times = [self.accumulator.clock()]
        batch.fail(error)
        return FutureRecordMetadata(batch, 0)

    def close(self) -> None:
        for serializer in (self.key_serializer, self.value_serializer):
            if serializer is not None and hasattr(serializer, "close"):
                serializer.close()


class ClusterView:
    """The cluster as partitioners see it (kafka-python's `ClusterMetadata`)."""

    def __init__(self, core: ProducerCore) -> None:
        self._core = core

    def topics(self) -> set[str]:
        return set(self._core.network.metadata.cluster.topics)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        view = self._core.topic_view(topic)
        return None if view is None else set(view.partitions)

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        nodes = self._core.network.metadata.cluster.nodes
        partitions = self._core.network.metadata.partitions_of(topic)
        return {p.partition for p in partitions if p.leader_id in nodes} if partitions else None


def _serializer(given: Any) -> Any:
    """Return a serializer object; kafka-python accepts functions, too, and `ProducerConfig` rejects everything
    else."""
    if given is None or isinstance(given, Serializer) or hasattr(given, "serialize"):
        return given
    return SerializeWrapper(given)


def check_headers(headers: Any) -> None:
    """Raise TypeError unless `headers` is None or a list or tuple of (str, bytes or None)."""
    if headers is None:
        return
    if not isinstance(headers, list | tuple):
        raise TypeError("headers must be list-type")
    for item in headers:
        if not (
            isinstance(item, tuple)
            and len(item) == 2
            and isinstance(item[0], str)
            and (item[1] is None or isinstance(item[1], bytes))
        ):
            raise TypeError("All headers items must be (str, bytes) tuples")


def _as_bytes(data: Any, what: str) -> bytes | None:
    """Return `data` as bytes; a mutable buffer is copied, because it could change before it is sent."""
    if data is None or type(data) is bytes:
        return data
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise TypeError(
        f"Unsupported type for serialized {what}: {type(data)}; give bytes, or the producer a {what}_serializer"
    )


def as_bytes_all(column: Sequence[Any], what: str) -> list[bytes | None]:
    """Apply `_as_bytes` to each element of a column."""
    if set(map(type, column)) <= {bytes, type(None)}:
        return column if type(column) is list else list(column)
    return [_as_bytes(data, what) for data in column]
