"""`ConsumerRecord`, and how many of them are made at once from columns."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

from kafkapy.record.columns import Header, RecordColumns
from kafkapy.record.record_batch import Record, RecordBatch
from kafkapy.serializer import for_client

_LEADER_EPOCH, _TIMESTAMP_TYPE = 1, 2  # the fields of `Segment`
_new = tuple.__new__
_MANY = 256


class ConsumerRecord(NamedTuple):
    """A record as a consumer gives it out; fields and their order are kafka-python's.

    `timestamp`: ms since the epoch, -1 if there is none; `timestamp_type`: 0 CreateTime, 1 LogAppendTime, -1 none.
    `leader_epoch`: of the record's batch, -1 if unknown. `key` and `value` are what the deserializers made of the
    bytes, sizes are those of the bytes (-1: null, or no headers). `checksum` is None.
    """

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: list[Header]
    checksum: None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


class DeserializerFailure(Exception):
    """A deserializer raised `__cause__`; `records` come before the record it could not read. If it is `LookUpFirst`, the record
    may be sound: it comes again after the look-up."""

    def __init__(self, records: list[ConsumerRecord]) -> None:
        super().__init__(records)
        self.records = records


class RecordFactory:
    """Makes the records of one consumer. A deserializer is an object with `deserialize(topic, headers, data)`, or a
    function of the bytes; None leaves the bytes."""

    def __init__(self, key_deserializer: Any = None, value_deserializer: Any = None) -> None:
        self._key_deserializer = for_client(key_deserializer, is_key=True, waits=False)
        self._value_deserializer = for_client(value_deserializer, is_key=False, waits=False)

    def make(self, topic: str, partition: int, columns: RecordColumns, first: int, last: int) -> list[ConsumerRecord]:
        """Records `first` to `last` (exclusive) of `columns`. Raises `DeserializerFailure`."""
        if last - first < _MANY or not gc.isenabled():
            return self._make(topic, partition, columns, first, last)
        # That many new objects, all of them alive, would set off the garbage collector dozens of times, for nothing.
        gc.disable()
        try:
            return self._make(topic, partition, columns, first, last)
        finally:
            gc.enable()

    def make_few(self, topic: str, partition: int, batch: RecordBatch, few: list[Record]) -> list[ConsumerRecord]:
        """The same of records of one batch that have no headers."""
        headers: list[list[Header]] = [[] for _ in few]
        keys: list[Any] = [record.key for record in few]
        values: list[Any] = [record.value for record in few]
        for deserializer, data in ((self._key_deserializer, keys), (self._value_deserializer, values)):
            failure = None if deserializer is None else _deserialize(deserializer, topic, headers, data)
            if failure is not None:
                raise DeserializerFailure([]) from failure
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
        headers = columns.headers(first, last)
        keys: list[Any] = columns.keys(first, last)
        values: list[Any] = columns.values(first, last)
        failure: Exception | None = None
        if self._key_deserializer is not None:
            failure = _deserialize(self._key_deserializer, topic, headers, keys)
        if self._value_deserializer is not None:
            failure = _deserialize(self._value_deserializer, topic, headers, values) or failure
        header_sizes: Iterable[int] = repeat(-1)
        if columns.have_headers:
            header_sizes = map(_size_of_headers, headers)
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
        # The class is called by nobody in between: a record costs one tuple.
        records: list[ConsumerRecord] = list(map(_new, repeat(ConsumerRecord), fields))
        if failure is not None:
            raise DeserializerFailure(records) from failure
        return records


def _deserialize(deserializer: Any, topic: str, headers: list[list[Header]], data: list[Any]) -> Exception | None:
    """Replace what is in `data`; where the deserializer raises, `data` is cut off, and that is returned."""
    deserialize = getattr(deserializer, "deserialize", None)
    index = -1
    try:
        if deserialize is None:
            for index, content in enumerate(data):
                data[index] = deserializer(content)
        else:
            for index, content in enumerate(data):
                data[index] = deserialize(topic, headers[index], content)
    except Exception as error:
        del data[index:]
        return error
    return None


def _each(columns: RecordColumns, field: int, first: int, last: int) -> Iterable[int]:
    found = columns.per_record(field)
    if isinstance(found, int):
        return repeat(found)
    return found[first:last]


def _size_of_headers(headers: list[Header]) -> int:
    if not headers:
        return -1
    return sum(len(key.encode()) + (0 if value is None else len(value)) for key, value in headers)
