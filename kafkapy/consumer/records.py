"""`ConsumerRecord`, and the factory that makes records from columns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Generic, Literal, NamedTuple

from kafkapy.errors import RecordDeserializationError
from kafkapy.record.columns import RecordColumns
from kafkapy.record.pieces import Header
from kafkapy.record.record_batch import DefaultRecord, RecordBatch
from kafkapy.runtime import garbage
from kafkapy.serializer import K_co, LookUpFirst, V_co, for_client

DeserializationPolicy = Literal["raise", "skip"] | Callable[[RecordDeserializationError], object]
"""How to handle records that can't be deserialized: raise, skip, or call a function."""

_log = logging.getLogger("kafkapy.consumer")
_LEADER_EPOCH, _TIMESTAMP_TYPE = 1, 2  # the fields of `Segment`
_new = tuple.__new__
_MANY = 256


class ConsumerRecord(NamedTuple, Generic[K_co, V_co]):
    """A record as a consumer gives it out; fields and their order are kafka-python's.

    `K_co` and `V_co` are the types that the deserializers give; a null key or value is None all the same, as with Java's
    consumer.

    Attributes:
        topic: Name of the topic.
        partition: Partition number.
        leader_epoch: Leader epoch of the record's batch; -1: unknown.
        offset: Offset in the partition.
        timestamp: ms since the epoch; -1: none.
        timestamp_type: 0: CreateTime, 1: LogAppendTime, -1: none.
        key: What the key deserializer made of the bytes.
        value: What the value deserializer made of the bytes.
        headers: Pairs of name and bytes or None.
        checksum: Always None.
        serialized_key_size: Size of the key in bytes; -1: null.
        serialized_value_size: Size of the value in bytes; -1: null.
        serialized_header_size: Size of the headers in bytes; -1: no headers.

    Example:
        >>> record = ConsumerRecord("clicks", 0, -1, 42, 1_700_000_000_000, 0, None, b"home", [], None, -1, 4, -1)
        >>> record.offset, record.value
        (42, b'home')
    """

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: K_co
    value: V_co
    headers: list[Header]
    checksum: None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


class DeserializerFailure(Exception):
    """A deserializer raised `__cause__` for a record's key or value (`origin`); `records` are made from the `count`
    records before it. If the cause is `LookUpFirst`, the record may be valid: it is tried again after the look-up."""

    def __init__(self, origin: Literal["key", "value"], records: list[ConsumerRecord], count: int) -> None:
        super().__init__(origin, records, count)
        self.origin = origin
        self.records = records
        self.count = count


class RecordFactory:
    """Makes the records of one consumer. A deserializer is an object with `deserialize(topic, headers, data)`, or a
    function of the bytes; None keeps the bytes. With the policy "skip", records that can't be deserialized are left
    out and logged; other policies are applied by the caller, which gets `DeserializerFailure`."""

    def __init__(
        self, key_deserializer: Any = None, value_deserializer: Any = None, policy: DeserializationPolicy = "raise"
    ) -> None:
        self.policy = policy
        self._key_deserializer = for_client(key_deserializer, is_key=True, waits=False)
        self._value_deserializer = for_client(value_deserializer, is_key=False, waits=False)

    def make(self, topic: str, partition: int, columns: RecordColumns, first: int, last: int) -> list[ConsumerRecord]:
        """Make records `first` to `last` (exclusive) of `columns`. Raises `DeserializerFailure`."""
        if last - first < _MANY:
            return self._make(topic, partition, columns, first, last)
        # So many new live objects would trigger dozens of garbage collections that find nothing.
        with garbage.paused():
            return self._make(topic, partition, columns, first, last)

    def make_few(
        self, topic: str, partition: int, batch: RecordBatch, few: list[DefaultRecord]
    ) -> list[ConsumerRecord]:
        """As `make`, for the records of one batch without headers."""
        headers: list[list[Header]] = [[] for _ in few]
        keys: list[Any] = [record.key for record in few]
        values: list[Any] = [record.value for record in few]
        failed = self._read(topic, headers, keys, values, None)
        if failed is not None:
            raise DeserializerFailure(failed[0], [], 0) from failed[1]
        epoch, kind = batch.partition_leader_epoch, int(batch.timestamp_type)
        return [
            ConsumerRecord(
                topic,
                partition,
                epoch,
                record.offset,
                record.timestamp,
                kind,
                key,
                value,
                own_headers,
                None,
                -1 if record.key is None else len(record.key),
                -1 if record.value is None else len(record.value),
                -1,
            )
            for record, key, value, own_headers in zip(few, keys, values, headers, strict=True)
        ]

    def _make(self, topic: str, partition: int, columns: RecordColumns, first: int, last: int) -> list[ConsumerRecord]:
        count = last - first
        headers, header_sizes = columns.headers_and_sizes(first, last)
        keys: list[Any] = columns.keys(first, last)
        values: list[Any] = columns.values(first, last)
        bad: dict[int, Exception] | None = {} if self.policy == "skip" else None
        failed = self._read(topic, headers, keys, values, bad)
        fields = zip(
            repeat(topic, count),
            repeat(partition),
            _each(columns, _LEADER_EPOCH, first, last),
            columns.offsets[first:last].tolist(),
            columns.timestamps[first:last].tolist(),
            _each(columns, _TIMESTAMP_TYPE, first, last),
            keys,
            values,
            headers,
            repeat(None),
            columns.key_lengths[first:last].tolist(),
            columns.value_lengths[first:last].tolist(),
            header_sizes,
            strict=False,
        )
        # No Python-level constructor is called: each record costs one tuple.
        records: list[ConsumerRecord] = list(map(_new, repeat(ConsumerRecord), fields))
        count = len(records)
        if bad:
            records = _without(records, bad)
        if failed is not None:
            raise DeserializerFailure(failed[0], records, count) from failed[1]
        return records

    def _read(
        self,
        topic: str,
        headers: list[list[Header]],
        keys: list[Any],
        values: list[Any],
        bad: dict[int, Exception] | None,
    ) -> tuple[Literal["key", "value"], Exception] | None:
        """Deserialize keys and values in place, up to the first failure; return it as (key or value, error). With
        `bad`, failures are collected there and don't stop it."""
        failed: tuple[Literal["key", "value"], Exception] | None = None
        if self._key_deserializer is not None:
            error = _deserialize(self._key_deserializer, topic, headers, keys, bad)
            if error is not None:
                failed = "key", error
                del values[len(keys) :]
        if self._value_deserializer is not None:
            error = _deserialize(self._value_deserializer, topic, headers, values, bad)
            if error is not None:
                failed = "value", error  # in an earlier record
        return failed


def _deserialize(
    deserializer: Any,
    topic: str,
    headers: list[list[Header]],
    data: list[Any],
    bad: dict[int, Exception] | None,
) -> Exception | None:
    """Deserialize `data` in place. The deserializer's errors are put into `bad`; without `bad`, and for `LookUpFirst`,
    `data` is truncated at the failure, and the error is returned."""
    deserialize = getattr(deserializer, "deserialize", None)
    index = -1
    left = enumerate(data)
    while True:
        try:
            if deserialize is None:
                for index, content in left:
                    data[index] = deserializer(content)
            else:
                for index, content in left:
                    data[index] = deserialize(topic, headers[index], content)
        except Exception as error:
            if bad is None or isinstance(error, LookUpFirst):
                del data[index:]
                return error
            bad[index] = error
            data[index] = None
        else:
            return None


def _without(records: list[ConsumerRecord], bad: dict[int, Exception]) -> list[ConsumerRecord]:
    """Return the records without those in `bad`, which are logged in one line."""
    skipped = sorted(index for index in bad if index < len(records))
    if not skipped:
        return records
    first = records[skipped[0]]
    _log.warning(
        "Skipped %d of the records from topic %s, partition %d: they cannot be deserialized. The first has offset %d: %r",
        len(skipped),
        first.topic,
        first.partition,
        first.offset,
        bad[skipped[0]],
    )
    return [record for index, record in enumerate(records) if index not in bad]


def _each(columns: RecordColumns, field: int, first: int, last: int) -> Iterable[int]:
    found = columns.per_record(field)
    if isinstance(found, int):
        return repeat(found)
    return found[first:last]
