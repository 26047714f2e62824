"""Builds Arrow tables from record columns, without a Python object for each record."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from kafkapy.record.columns import RecordColumns

_TIMESTAMP_TYPE = 2  # the field of `Segment`
_GREATEST = 2**63 - 1
_PER_MS = {"ms": 1, "us": 1000, "ns": 1_000_000}

_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS = pa.list_(pa.field("element", _HEADER))


@lru_cache(maxsize=8)
def record_schema(include_headers: bool = True, timestamp_unit: str = "ms") -> pa.Schema:
    """The columns of a topic, named and typed as in Spark's Kafka source (whose timestamps are in "us").

    `timestamp`: ms since the epoch in that unit, in UTC; `timestampType`: 0 CreateTime, 1 LogAppendTime, -1 none;
    `headers`: null where a record has none.
    """
    fields = [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp(timestamp_unit, tz="UTC")),
        pa.field("timestampType", pa.int32()),
    ]
    if include_headers:
        fields.append(pa.field("headers", HEADERS))
    return pa.schema(fields)


class ArrowBuilder:
    """Makes record batches of one partition's records."""

    def __init__(self, topic: str, partition: int, include_headers: bool = True, timestamp_unit: str = "ms") -> None:
        self.schema = record_schema(include_headers, timestamp_unit)
        self._include_headers = include_headers
        self._timestamp_type = self.schema.field("timestamp").type
        self._timestamp_factor = _PER_MS[timestamp_unit]
        self._topic = _Constant(pa.scalar(topic, pa.string()))
        self._partition = _Constant(pa.scalar(partition, pa.int32()))
        self._constants: dict[int, _Constant] = {}

    def build(self, columns: RecordColumns, first: int = 0, last: int | None = None) -> pa.RecordBatch:
        """Records `first` to `last` (exclusive). The bytes of `columns` are copied and may be used again."""
        last = len(columns) if last is None else last
        count = last - first
        # Timestamps that the unit can't hold are clamped: for example nanoseconds that were sent as milliseconds.
        most = _GREATEST // self._timestamp_factor
        timestamps = np.clip(np.asarray(columns.timestamps)[first:last], -most, most) * self._timestamp_factor
        arrays = [
            _binary(columns.data, columns.key_starts[first:last], columns.key_lengths[first:last]),
            _binary(columns.data, columns.value_starts[first:last], columns.value_lengths[first:last]),
            self._topic.repeated(count),
            self._partition.repeated(count),
            pa.array(np.asarray(columns.offsets)[first:last].copy()),
            pa.Array.from_buffers(self._timestamp_type, count, [None, pa.py_buffer(timestamps)]),
            self._timestamp_types(columns, first, last),
        ]
        if self._include_headers:
            arrays.append(_headers(columns, first, last))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _timestamp_types(self, columns: RecordColumns, first: int, last: int) -> pa.Array:
        found = columns.per_record(_TIMESTAMP_TYPE)
        if not isinstance(found, int):
            return pa.array(found[first:last], pa.int32())
        if found not in self._constants:
            self._constants[found] = _Constant(pa.scalar(found, pa.int32()))
        return self._constants[found].repeated(last - first)


class _Constant:
    """A column that repeats one value; the array is made once and sliced to the length needed."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self._array = pa.repeat(value, 0)

    def repeated(self, count: int) -> pa.Array:
        if len(self._array) < count:
            self._array = pa.repeat(self._value, count)
        return self._array.slice(0, count)


def _binary(data: Any, starts: Any, lengths: Any) -> pa.Array:
    """Copy the pieces of `data` into a binary array; a negative length is a null. The pieces must be in ascending
    order."""
    starts, lengths = np.asarray(starts), np.asarray(lengths)
    count = len(lengths)
    nulls = int(np.count_nonzero(lengths < 0))
    if nulls == count:
        return pa.nulls(count, pa.binary())
    # View the data as an array that alternates between gaps and pieces; Arrow then copies the pieces out of it.
    edges = np.empty(2 * count + 1, np.int32)
    edges[0] = 0
    edges[1::2] = starts
    np.add(starts, np.maximum(lengths, 0) if nulls else lengths, out=edges[2::2])
    whole = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    pieces = whole.take(pa.array(np.arange(1, 2 * count, 2, dtype=np.int32)))
    if not nulls:
        return pieces
    validity = pa.py_buffer(np.packbits(lengths >= 0, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [validity, *pieces.buffers()[1:]], nulls)


def _headers(columns: RecordColumns, first: int, last: int) -> pa.Array:
    counts = np.asarray(columns.header_counts)[first:last]
    without = int((counts == 0).sum())
    if without == last - first:
        return pa.nulls(last - first, HEADERS)
    key_starts, key_lengths, value_starts, value_lengths = columns.header_columns(first, last)
    keys = _strings(_binary(columns.data, key_starts, key_lengths))
    values = _binary(columns.data, value_starts, value_lengths)
    entries = pa.StructArray.from_arrays([keys, values], fields=list(_HEADER))
    offsets = np.zeros(last - first + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    validity = pa.py_buffer(np.packbits(counts > 0, bitorder="little")) if without else None
    return pa.Array.from_buffers(HEADERS, last - first, [validity, pa.py_buffer(offsets)], without, children=[entries])


def _strings(keys: pa.Array) -> pa.Array:
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8: malformed bytes are replaced, as in Java
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
