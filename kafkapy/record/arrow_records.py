"""Encodes Arrow columns as records, with a few Arrow kernels for many batches and without an object per record.

A record is some small pieces around key and value, each a function of a number: its size, its offset, the length of a
field. All pieces that may be needed and the columns are concatenated, and one `take` brings them into order.
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
"""A numpy array of integers. (Stub files would not help: numpy's types say nothing about lengths.)"""

_NULL_LENGTH = -1
_MAX_TABLE = 1 << 15
"""Limit of cached pieces: those for larger numbers are created when needed."""
_MAX_COPIES = 64
"""Copying this number of cached pieces takes as long as creating one."""


class _Pieces(NamedTuple):
    """One piece per record: the `elements` at `places`, with their `sizes` in bytes."""

    elements: Any
    places: Numbers
    sizes: Numbers


class _PieceTable:
    """Cached pieces for the numbers from -1 on, and their sizes; grows on demand, in any thread."""

    def __init__(self, make: Callable[[int], bytes]) -> None:
        self._make = make
        self._known = self._made(range(_NULL_LENGTH, 0))

    def of(self, numbers: Numbers) -> _Pieces:
        """Return the pieces for these numbers, of which there is at least one."""
        smallest, largest = int(numbers.min()), int(numbers.max())
        count = largest - smallest + 1
        if smallest < _NULL_LENGTH or largest >= _MAX_TABLE or count > _MAX_COPIES * len(numbers):
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
"""The header count of the previous record, size and attributes."""
_heads_without_delta = _PieceTable(lambda size: b"\0" + encode_varint(size) + b"\0\0")
"""The same, followed by a timestamp equal to the batch's."""


class ArrowRecords:
    """Records without headers.

    Invariant: `values` and `keys` are binary or large_binary arrays of the same length, which is above 0; `keys` is
    None if no record has a key. `timestamps`: a numpy array of ms, or None for the time of the append.
    """

    __slots__ = ("_key_lengths", "_value_lengths", "keys", "timestamps", "values")

    def __init__(
        self,
        values: Any,
        keys: Any = None,
        timestamps: Numbers = None,
        lengths: tuple[Numbers, Numbers | None] | None = None,
    ) -> None:
        """`lengths`: of values and keys, -1 for null, if they are known."""
        self.values = values
        self.keys = keys
        self.timestamps = timestamps
        known = (_lengths(values), None if keys is None else _lengths(keys)) if lengths is None else lengths
        self._value_lengths, self._key_lengths = known

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, first: int, last: int) -> ArrowRecords:
        """Return records `first` to `last` (exclusive) without copying."""
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
        """Return the bytes of key and value of each record."""
        sizes = np.maximum(self._value_lengths, 0)
        return sizes if self._key_lengths is None else sizes + np.maximum(self._key_lengths, 0)

    def lengths(self) -> tuple[Sequence[int], Sequence[int] | None]:
        """Return the lengths of values and keys, -1 for null."""
        keys = None if self._key_lengths is None else memoryview(self._key_lengths)
        return memoryview(self._value_lengths), keys

    def key_bytes(self) -> tuple[Numbers, Numbers, Numbers]:
        """Return an array of bytes, the starts of the keys in it, and their lengths, -1 for null."""
        keys = self.keys
        _, offsets, content = keys.buffers()
        kind = np.int64 if pa.types.is_large_binary(keys.type) else np.int32
        starts = np.frombuffer(offsets, dtype=kind)[keys.offset : keys.offset + len(keys)]
        data = np.frombuffer(content, dtype=np.uint8) if content is not None else np.empty(0, dtype=np.uint8)
        return data, starts.astype(np.int64), self._key_lengths

    def encode(self, counts: Sequence[int]) -> list[memoryview]:
        """Encode batches of these numbers of records; return the concatenated records of each, uncompressed.

        The bytes are those of `batch_encoder.encode_records`. All batches share one buffer. Timestamps are encoded
        relative to the batch's first record.
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
        # Attributes, header count and, unless a piece contains it, the timestamp.
        more = 2 if deltas is not None else 3
        heads = (_heads if deltas is not None else _heads_without_delta).of(sizes + more)
        content = _interleaved([heads, *pieces])
        ends = np.cumsum(sizes + heads.sizes)
        edges = [0, *ends[np.cumsum(counts) - 1].tolist()]
        # A record's header count is stored with the next record's head, so batches begin and end a byte later.
        return [content[begin + 1 : end + 1] for begin, end in pairwise(edges)]

    def _timestamp_deltas(self, starts: Numbers, counts: Sequence[int]) -> Numbers | None:
        """Return timestamps relative to the first one of each batch; None if each batch has only one."""
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
    """Return the first pieces of all records, then the second ones, and so on; then a header count of 0."""
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
