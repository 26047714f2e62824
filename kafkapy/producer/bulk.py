"""Appends many records at a time: takes columns, produces whole batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.partitioner.hashing import partition_of, partitions_of
from kafkapy.producer.batch import RECORD_OVERHEAD, ProducerBatch
from kafkapy.producer.core import TopicView
from kafkapy.producer.future import FutureBatchMetadata
from kafkapy.producer.intake import Intake, as_bytes_all, check_headers
from kafkapy.record.batch_encoder import Headers

_MANY = 256
"""Number of keys from which numpy hashes faster than a loop."""


class BulkAppend:
    """Appends whole batches to the accumulator.

    Invariant: `_work` yields, in order, what isn't appended yet: a partition and the other arguments of `_put`.
    `batches` has those that were appended.
    """

    def __init__(self, intake: Intake) -> None:
        self.batches: list[ProducerBatch] = []
        self._intake = intake
        self._accumulator = intake.accumulator
        self._work: Iterator[tuple[TopicPartition, Any]] = iter(())
        self._next: tuple[TopicPartition, Any] | None = None

    def append(self) -> bool:
        """Append as much as there is memory for; return True when everything was appended."""
        while True:
            if self._next is None:
                self._next = next(self._work, None)
                if self._next is None:
                    return True
            topic_partition, records = self._next
            transactions = self._intake.core.transactions
            if transactions is not None:
                transactions.register(topic_partition)
            batch = self._put(topic_partition, records)
            if batch is None:
                return False
            self.batches.append(batch)
            self._next = None

    def future(self) -> FutureBatchMetadata:
        return FutureBatchMetadata(self.batches)

    def _put(self, topic_partition: TopicPartition, records: Any) -> ProducerBatch | None:
        """Append a batch; None if there is no memory at present."""
        raise NotImplementedError


class BulkSend(BulkAppend):
    """The work of one `send_many`: columns of Python objects."""

    def __init__(
        self,
        intake: Intake,
        view: TopicView,
        topic: str,
        values: Sequence[Any],
        keys: Sequence[Any] | None = None,
        partition: int | None = None,
        headers: Sequence[Any] | None = None,
        timestamps: Sequence[int] | None = None,
        partitions: Sequence[int] | None = None,
        *,
        empty_records: bool = False,
    ) -> None:
        """`partitions`: one for each record; `empty_records`: key and value may both be null. Raises TypeError and
        ValueError for columns that don't fit.
        """
        super().__init__(intake)
        self._view = view
        self._topic = topic
        count = len(values)
        for name, column in (("keys", keys), ("headers", headers), ("timestamps", timestamps)):
            if column is not None and len(column) != count:
                raise ValueError(f"{name} has {len(column)} elements where values has {count}")
        if headers is not None:
            for own in headers:
                check_headers(own)
        self._raw = values, keys
        self._values, self._keys = self._serialized(topic, values, keys, headers)
        self._headers: list[Headers | None] | None = list(headers) if headers is not None else None
        self._timestamps = _checked(timestamps)
        if not empty_records:
            self._check_nulls()
        self._work = self._pieces(partition, partitions)

    def _put(self, topic_partition: TopicPartition, records: Any) -> ProducerBatch | None:
        return self._accumulator.append_batch(topic_partition, *records)

    # --- columns

    def _serialized(
        self, topic: str, values: Sequence[Any], keys: Sequence[Any] | None, headers: Sequence[Any] | None
    ) -> tuple[list[bytes | None], list[bytes | None] | None]:
        intake = self._intake
        own_headers = [own or [] for own in headers] if headers is not None else [[]] * len(values)
        if intake.value_serializer is not None:
            serialize = intake.value_serializer.serialize
            values = [serialize(topic, own, value) for own, value in zip(own_headers, values, strict=True)]
        if intake.key_serializer is not None and keys is not None:
            serialize = intake.key_serializer.serialize
            keys = [serialize(topic, own, key) for own, key in zip(own_headers, keys, strict=True)]
        return as_bytes_all(values, "value"), as_bytes_all(keys, "key") if keys is not None else None

    def _check_nulls(self) -> None:
        if None in self._values:
            for i, value in enumerate(self._values):
                if value is None and (self._keys is None or self._keys[i] is None):
                    raise ValueError("Need at least one: key or value")

    def _sizes(self) -> list[int]:
        """Return the estimated size of each record in bytes."""
        try:
            sizes = [size + RECORD_OVERHEAD for size in map(len, self._values)]  # type: ignore[arg-type]
        except TypeError:
            sizes = [len(value or b"") + RECORD_OVERHEAD for value in self._values]
        if self._keys is not None:
            sizes = [size + len(key or b"") for size, key in zip(sizes, self._keys, strict=True)]
        if self._headers is not None:
            sizes = [
                size + sum(len(name.encode()) + len(content or b"") + 4 for name, content in own or ())
                for size, own in zip(sizes, self._headers, strict=True)
            ]
        return sizes

    # --- pieces

    def _pieces(self, partition: int | None, partitions: Sequence[int] | None) -> Iterator[tuple[TopicPartition, Any]]:
        """Yield the arguments of `append_batch` for one batch after the other."""
        sizes = self._sizes()
        if sizes:
            largest = sizes.index(max(sizes))
            own_headers = self._headers[largest] if self._headers is not None else None
            own_key = self._keys[largest] if self._keys is not None else None
            self._accumulator.record_size(self._values[largest], own_key, own_headers)
        if partition is not None and partition not in self._view.partitions:
            raise ValueError(f"Unrecognized partition {partition} for topic {self._topic}")
        groups = self._groups(partition, partitions)
        return self._cut(groups, sizes)

    def _cut(
        self, groups: list[tuple[int | None, list[int] | None]], sizes: list[int]
    ) -> Iterator[tuple[TopicPartition, Any]]:
        accumulator = self._accumulator
        for group_partition, indices in groups:
            values, keys, headers, timestamps, own_sizes = self._select(indices, sizes)
            for start, end in accumulator.pieces(own_sizes):
                size = sum(own_sizes[start:end])
                partition = group_partition
                if partition is None:
                    partition = accumulator.sticky_partition(self._topic, self._view.available, size, count=True)
                yield (
                    TopicPartition(self._topic, partition),
                    (
                        values[start:end],
                        keys[start:end] if keys is not None else None,
                        headers[start:end] if headers is not None else None,
                        timestamps[start:end] if timestamps is not None else None,
                        size,
                    ),
                )

    def _select(self, indices: list[int] | None, sizes: list[int]) -> tuple[Any, ...]:
        columns = (self._values, self._keys, self._headers, self._timestamps, sizes)
        if indices is None:
            return columns
        return tuple([column[i] for i in indices] if column is not None else None for column in columns)

    def _groups(
        self, partition: int | None, partitions: Sequence[int] | None
    ) -> list[tuple[int | None, list[int] | None]]:
        """Return each partition with the indices of its records; partition None: records that may go to any."""
        count = len(self._values)
        if partition is not None or (len(self._view.partitions) == 1 and partitions is None):
            return [(self._view.partitions[0] if partition is None else partition, None)]
        chosen = self._chosen(partitions)
        if chosen is None:
            return [(None, None)]
        groups: dict[int | None, list[int]] = {}
        for i in range(count):
            groups.setdefault(chosen[i], []).append(i)
        return list(groups.items())

    def _chosen(self, partitions: Sequence[int] | None) -> Sequence[int | None] | None:
        """Return a partition for each record; None if all may go to any."""
        view, intake, keys = self._view, self._intake, self._keys
        if partitions is not None:
            unknown = set(partitions) - set(view.partitions)
            if unknown:
                raise ValueError(f"Unrecognized partition {min(unknown)} for topic {self._topic}")
            return partitions
        if not intake.own_choice:
            raw_values, raw_keys = self._raw
            return [
                intake.partition(
                    view,
                    self._topic,
                    (value, keys[i] if keys is not None else None, None),
                    None,
                    (raw_values[i], raw_keys[i] if raw_keys is not None else None),
                )
                for i, value in enumerate(self._values)
            ]
        if keys is None:
            return None
        if None not in keys and len(keys) >= _MANY:
            return [view.partitions[i] for i in partitions_of(keys, len(view.partitions))]  # type: ignore[arg-type]
        return [None if key is None else view.partitions[partition_of(key, len(view.partitions))] for key in keys]


def _checked(timestamps: Sequence[int] | None) -> list[int] | None:
    if timestamps is None:
        return None
    checked = [int(timestamp) for timestamp in timestamps]
    if checked and min(checked) < 0:
        raise ValueError(f"Invalid timestamp {min(checked)}: it must not be negative")
    return checked
