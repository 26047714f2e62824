"""Decodes Avro values column by column: vectorized over all values, without a Python object for each.

The values are contiguous in a buffer, and each has a cursor. A field is decoded for all values before the next field:
varints byte by byte (most have one), strings by their lengths. Unions with null decode only the values that are not
null. Types without a fixed sequence of fields (arrays, maps, other unions, recursive types) are not supported:
`compile_reader` returns None. A malformed value is detected because its cursor is beyond its end: it is reported as
broken, and its columns are undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

Cursors = Any
"""int64: where the next byte of each value is."""

_FLOATS = {"float": (4, "<f4"), "double": (8, "<f8")}


class ValueCursors:
    """The bytes of many values. `ends`: behind the last byte of each; the buffer has 16 spare bytes at its end."""

    def __init__(self, data: Any, starts: Cursors, ends: Cursors) -> None:
        self.data = data
        self.at = starts.copy()
        self.ends = ends
        self.broken = np.zeros(len(starts), np.bool_)
        self._limit = len(data) - 16

    def chosen(self, rows: Any) -> ValueCursors:
        part = ValueCursors(self.data, self.at[rows], self.ends[rows])
        part.broken = self.broken[rows]
        return part

    def put_back(self, rows: Any, part: ValueCursors) -> None:
        self.at[rows] = part.at
        self.broken[rows] = part.broken

    def check(self) -> None:
        """Mark values as broken whose cursor is beyond their end, and move the cursor back into the buffer."""
        over = self.at > self.ends
        if over.any():
            self.broken |= over
            np.minimum(self.at, self._limit, out=self.at)

    def longs(self) -> Any:
        """Zigzag varints of up to ten bytes."""
        first = self.data[self.at]
        self.at += 1
        value = first.astype(np.uint64)
        more = np.flatnonzero(first > 0x7F)
        if len(more):
            value[more] &= 0x7F
            self._longer(value, more)
        self.check()
        return (value >> np.uint64(1)).view(np.int64) ^ -(value & np.uint64(1)).view(np.int64)

    def _longer(self, value: Any, rows: Any) -> None:
        for shift in range(7, 70, 7):
            byte = self.data[self.at[rows]]
            self.at[rows] += 1
            value[rows] |= (byte & np.uint8(0x7F)).astype(np.uint64) << np.uint64(shift)
            rows = rows[byte > 0x7F]
            if not len(rows):
                return
            self.check()
        self.broken[rows] = True

    def fixed(self, size: int) -> Any:
        """The bytes of each value (at most 16) as rows of a matrix."""
        taken = self.data[self.at[:, None] + np.arange(size)]
        self.at += size
        self.check()
        return taken

    def texts(self) -> tuple[Any, Any]:
        """Starts and lengths."""
        lengths = self.longs()
        wrong = (lengths < 0) | (lengths > self.ends - self.at) | self.broken
        if wrong.any():
            self.broken |= wrong
            lengths[wrong] = 0
        starts = self.at.copy()
        self.at += lengths
        return starts, lengths

    def spans(self, starts: Any, lengths: Any) -> tuple[Any, Any]:
        """Offsets and bytes of an Arrow array of these pieces."""
        offsets = np.zeros(len(starts) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        places = np.repeat(starts - offsets[:-1], lengths)
        places += np.arange(len(places))
        return offsets, self.data[np.minimum(places, len(self.data) - 1)]


Reader = Callable[[ValueCursors], pa.Array]


def compile_reader(schema: Any, type: pa.DataType) -> Reader | None:
    """Return a reader of values of a parsed schema (without logical types, except decimals) as an Arrow type.

    None: values must be decoded individually.
    """
    try:
        return _reader(schema, type, {}, ())
    except _NotColumnar:
        return None


class _NotColumnar(Exception):
    pass


def _reader(schema: Any, type: pa.DataType, named: dict[str, Any], inside: tuple[str, ...]) -> Reader:
    if isinstance(schema, list):
        return _union(schema, type, named, inside)
    if isinstance(schema, str):
        if schema in named and schema not in inside:
            return _reader(named[schema], type, named, inside)
        return _primitive(schema, type)
    kind = schema["type"]
    if "name" in schema and kind in ("record", "error", "enum", "fixed"):
        named[schema["name"]] = schema
    if kind in ("record", "error"):
        return _record(schema, type, named, (*inside, schema["name"]))
    if kind == "enum":
        return _enum(schema["symbols"])
    if schema.get("logicalType") is not None or kind in ("array", "map", "fixed"):
        raise _NotColumnar
    return _reader(kind, type, named, inside)


def _record(schema: Any, type: pa.DataType, named: dict[str, Any], inside: tuple[str, ...]) -> Reader:
    names = [own["name"] for own in schema["fields"]]
    readers = [_reader(own["type"], type.field(own["name"]).type, named, inside) for own in schema["fields"]]
    fields = [pa.field(name, type.field(name).type) for name in names]

    def read(columns: ValueCursors) -> pa.Array:
        arrays = [each(columns) for each in readers]
        return pa.StructArray.from_arrays(arrays, fields=fields) if arrays else pa.array([{}] * len(columns.at), type)

    return read


def _union(members: list[Any], type: pa.DataType, named: dict[str, Any], inside: tuple[str, ...]) -> Reader:
    others = [index for index, member in enumerate(members) if member != "null"]
    if len(others) != 1 or len(members) > 2:
        raise _NotColumnar
    value, size = others[0], len(members)
    read_value = _reader(members[value], type, named, inside)

    def read(columns: ValueCursors) -> pa.Array:
        branch = columns.longs()
        columns.broken |= (branch < 0) | (branch >= size)
        there = branch == value
        if there.all():
            return read_value(columns)
        rows = np.flatnonzero(there)
        part = columns.chosen(rows)
        found = read_value(part)
        columns.put_back(rows, part)
        indices = np.zeros(len(there), np.int64)
        indices[rows] = np.arange(len(rows))
        return found.take(pa.array(indices, mask=~there)) if len(rows) else pa.nulls(len(there), found.type)

    return read


def _enum(symbols: Sequence[str]) -> Reader:
    values = pa.array(symbols, pa.string())

    def read(columns: ValueCursors) -> pa.Array:
        index = columns.longs()
        wrong = (index < 0) | (index >= len(values))
        columns.broken |= wrong
        return values.take(pa.array(index, mask=wrong))

    return read


def _primitive(kind: str, type: pa.DataType) -> Reader:
    if kind == "null":
        return lambda columns: pa.nulls(len(columns.at), type)
    if kind in ("string", "bytes"):
        return lambda columns: _texts(columns, type)
    if kind in ("int", "long"):
        return lambda columns: _whole(columns, type)
    if kind == "boolean":
        return _boolean
    if kind in _FLOATS:
        size, numbers = _FLOATS[kind]
        return lambda columns: _plain(np.ascontiguousarray(columns.fixed(size)).view(numbers)[:, 0], type)
    raise _NotColumnar


def _boolean(columns: ValueCursors) -> pa.Array:
    found = columns.fixed(1)[:, 0]
    columns.broken |= found > 1
    return pa.array(found == 1)


def _texts(columns: ValueCursors, type: pa.DataType) -> pa.Array:
    starts, lengths = columns.texts()
    offsets, data = columns.spans(starts, lengths)
    found = pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    if type != pa.string():
        return found
    try:
        return found.cast(type)
    except pa.ArrowInvalid:
        return _valid_texts(columns, found)


def _valid_texts(columns: ValueCursors, found: pa.Array) -> pa.Array:
    """Some are no UTF-8."""
    values: list[str | None] = []
    for row, value in enumerate(found.to_pylist()):
        try:
            values.append(value.decode())
        except UnicodeDecodeError:
            columns.broken[row] = True
            values.append(None)
    return pa.array(values, pa.string())


def _whole(columns: ValueCursors, type: pa.DataType) -> pa.Array:
    found = columns.longs()
    if type.bit_width == 32:
        narrow = found.astype(np.int32)
        columns.broken |= narrow != found
        found = narrow
    return _plain(found, type)


def _plain(values: Any, type: pa.DataType) -> pa.Array:
    """Numbers, or what Arrow keeps as numbers."""
    return pa.Array.from_buffers(type, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def read_values(reader: Reader, values: pa.Array, skip: int) -> tuple[pa.Array, Any]:
    """Decode binary values without nulls, from byte `skip` on; return the column, and a mask of broken values."""
    values = values.cast(pa.large_binary()) if values.type != pa.large_binary() else values
    _, offsets_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[values.offset : values.offset + len(values) + 1]
    first, last = (int(offsets[0]), int(offsets[-1])) if len(values) else (0, 0)
    data = np.zeros(last - first + 16, np.uint8)
    if last > first:
        data[:-16] = np.frombuffer(data_buffer, np.uint8, last - first, first)
    columns = ValueCursors(data, offsets[:-1] - first + skip, offsets[1:] - first)
    columns.check()
    found = reader(columns)
    return found, columns.broken | (columns.at != columns.ends)
