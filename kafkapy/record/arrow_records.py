"""Records as Arrow columns, and their bytes: a few of Arrow's kernels make those of many batches, and no object for any record.

A record is some small pieces around key and value, each a function of a number: its size, its offset, the length of a field.
All that may be needed of them and the columns are put one behind the other, and one `take` brings them into their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkapy.record.varint import encode_varint

Numbers = Any
"""A numpy array of integers. (Stub files are no use here: numpy's types say nothing about lengths.)"""

_NULL_LENGTH = -1
_MAX_TABLE = 1 << 15
"""Pieces that are kept: larger numbers are made when they are needed."""
_MOST_FOR_EACH = 64
"""So many pieces out of a table are copied in the time in which one is made."""


class _Pieces(NamedTuple):
    """One piece for each record: of `elements` those at `places`, of these `sizes` in bytes."""

    elements: Any
    places: Numbers
    sizes: Numbers


class _PieceTable:
    """Pieces for the numbers from -1 on, and their sizes; it grows when a larger number is asked for, in any thread."""

    def __init__(self, make: Callable[[int], bytes]) -> None:
        self._make = make
        self._known = self._made(range(_NULL_LENGTH, 0))

    def of(self, numbers: Numbers) -> _Pieces:
        """The pieces for these numbers, of which there is at least one."""
        smallest, largest = int(numbers.min()), int(numbers.max())
        count = largest - smallest + 1
        if smallest < _NULL_LENGTH or largest >= _MAX_TABLE or count > _MOST_FOR_EACH * len(numbers):
            distinct, places = np.unique(numbers, return_inverse=True)
            elements, sizes = self._made(distinct.tolist())
            return _Pieces(elements, places, sizes[places])
        elements, sizes = self._known
        end = len(elements) + _NULL_LENGTH
        if largest >= end:
            more = self._made(range(end, max(largest + 1, 2 * end)))
            elements, sizes = pa.concat_arrays([elements, more[0]]), np.concatenate([sizes, more[1]])
            self._known = elements, sizes
        first = smallest - _NULL_LENGTH
        return _Pieces(elements.slice(first, count), numbers - smallest, sizes[numbers - _NULL_LENGTH])

    def _made(self, numbers: Sequence[int]) -> tuple[Any, Numbers]:
        elements = pa.array(list(map(self._make, numbers)), pa.binary())
        return elements, pc.binary_length(elements).to_numpy().astype(np.int64)


_varints = _PieceTable(encode_varint)
_null_keys = _PieceTable(lambda length: b"\x01" + encode_varint(length))
"""A null key, and the length of the value."""
_heads = _PieceTable(lambda size: b"\0" + encode_varint(size) + b"\0")
"""The header count of the record before, size and attributes."""
_heads_at_once = _PieceTable(lambda size: b"\0" + encode_varint(size) + b"\0\0")
"""The same, and a timestamp that is the batch's."""


class ArrowRecords:
    """Records without headers.

    Invariant: `values` and `keys` are binary or large_binary arrays of one length, which is above 0; `keys` None: no record has a
    key. `timestamps`: a numpy array of ms, or None for the time at which the records are appended.
    """

    __slots__ = ("_key_lengths", "_value_lengths", "keys", "timestamps", "values")

    def __init__(
        self,
        values: Any,
        keys: Any = None,
        timestamps: Numbers = None,
        lengths: tuple[Numbers, Numbers | None] | None = None,
    ) -> None:
        """`lengths`: of values and keys, -1 for null, where they are known."""
        self.values = values
        self.keys = keys
        self.timestamps = timestamps
        known = (_lengths(values), None if keys is None else _lengths(keys)) if lengths is None else lengths
        self._value_lengths, self._key_lengths = known

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, first: int, last: int) -> ArrowRecords:
        """Records `first` to `last` (exclusive); nothing is copied."""
        return ArrowRecords(
            self.values.slice(first, last - first),
            self.keys.slice(first, last - first) if self.keys is not None else None,
            self.timestamps[first:last] if self.timestamps is not None else None,
            (self._value_lengths[first:last], None if self._key_lengths is None else self._key_lengths[first:last]),
        )

    def take(self, indices: Numbers) -> ArrowRecords:
        return ArrowRecords(
            self.values.take(pa.array(indices)),
            self.keys.take(pa.array(indices)) if self.keys is not None else None,
            self.timestamps[indices] if self.timestamps is not None else None,
            (self._value_lengths[indices], None if self._key_lengths is None else self._key_lengths[indices]),
        )

    def sizes(self) -> Numbers:
        """Bytes of key and value of each."""
        sizes = np.maximum(self._value_lengths, 0)
        return sizes if self._key_lengths is None else sizes + np.maximum(self._key_lengths, 0)

    def lengths(self) -> tuple[Sequence[int], Sequence[int] | None]:
        """Of values and keys, -1 for null."""
        keys = None if self._key_lengths is None else memoryview(self._key_lengths)
        return memoryview(self._value_lengths), keys

    def key_bytes(self) -> tuple[Numbers, Numbers, Numbers]:
        """An array of bytes, where in it the keys begin, and their lengths, -1 for null."""
        keys = self.keys
        _, offsets, content = keys.buffers()
        kind = np.int64 if pa.types.is_large_binary(keys.type) else np.int32
        starts = np.frombuffer(offsets, dtype=kind)[keys.offset : keys.offset + len(keys)]
        data = np.frombuffer(content, dtype=np.uint8) if content is not None else np.empty(0, dtype=np.uint8)
        return data, starts.astype(np.int64), self._key_lengths

    def encode(self, counts: Sequence[int]) -> list[memoryview]:
        """Batches of so many records, of each the records one after the other, uncompressed, as
        `batch_encoder.encode_records` makes them. All share one buffer.

        A timestamp is the difference to that of the batch's first record.
        """
        starts = np.cumsum([0, *counts[:-1]])
        rows = np.arange(len(self))
        lengths, key_lengths = self._value_lengths, self._key_lengths
        deltas = self._timestamp_deltas(starts, counts)
        pieces = [] if deltas is None else [_varints.of(deltas)]
        pieces.append(_varints.of(rows - np.repeat(starts, counts)))
        if key_lengths is None:
            pieces.append(_null_keys.of(lengths))
        else:
            pieces.append(_varints.of(key_lengths))
            pieces.append(_Pieces(self.keys, rows, np.maximum(key_lengths, 0)))
            pieces.append(_varints.of(lengths))
        pieces.append(_Pieces(self.values, rows, np.maximum(lengths, 0)))
        sizes = sum(piece.sizes for piece in pieces)
        # Attributes, header count and, if there is none among the pieces, the timestamp.
        more = 2 if deltas is not None else 3
        heads = (_heads if deltas is not None else _heads_at_once).of(sizes + more)
        content = _interleaved([heads, *pieces])
        ends = np.cumsum(sizes + heads.sizes)
        edges = [0, *ends[np.cumsum(counts) - 1].tolist()]
        # A record's header count stands at the head of its successor, so batches begin and end a byte later.
        return [content[begin + 1 : end + 1] for begin, end in pairwise(edges)]

    def _timestamp_deltas(self, starts: Numbers, counts: Sequence[int]) -> Numbers | None:
        """From the first one of each batch; None if there is only one time in each."""
        if self.timestamps is None:
            return None
        deltas = self.timestamps - np.repeat(self.timestamps[starts], counts)
        return deltas if deltas.any() else None


def _lengths(column: Any) -> Numbers:
    lengths = pc.binary_length(column)
    if column.null_count:
        lengths = lengths.fill_null(_NULL_LENGTH)
    return lengths.to_numpy().astype(np.int64)


def _interleaved(pieces: Sequence[_Pieces]) -> memoryview:
    """The first pieces of all, then the second ones, and so on; then a header count of none."""
    kind = pa.large_binary() if any(pa.types.is_large_binary(piece.elements.type) for piece in pieces) else pa.binary()
    elements = [piece.elements.cast(kind) for piece in pieces]
    count, width = len(pieces[0].places), len(pieces)
    places = np.empty(count * width + 1, dtype=np.int32)
    rows = places[:-1].reshape(count, width)
    before = 0
    for i, piece in enumerate(pieces):
        rows[:, i] = piece.places + before
        before += len(piece.elements)
    places[-1] = before
    taken = pc.take(pa.concat_arrays([*elements, pa.array([b"\0"], kind)]), pa.array(places), boundscheck=False)
    _, _, content = taken.buffers()
    return memoryview(content)
