"""Checks the records of a v2 batch without an object per record.

A broker has to check every record of every produce request: lengths, varints, offset deltas and timestamps must be
valid before the batch is stored. As machine code that is a loop over bytes, record by record. In plain Python such a
loop would cost more than the rest of the request. There, similar records, as most are, are checked together as columns
of bytes (`record_columns`), and only the others one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kafkapy import compiled
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.blocks import PIECE, too_large
from kafkapy.record.record_columns import check as check_columns
from kafkapy.record.record_fields import INVALID_STRUCTURE, RecordFields, invalid
from kafkapy.record.varint import read_varint, read_varlong
from kafkapy.runtime.yield_gil import yield_gil

if TYPE_CHECKING:
    from mypy_extensions import i64

_ONE_BY_ONE: Final = compiled.is_used()

_MIN_MANY: Final = 4
_MIN_SIZE: Final = 8
"""For fewer records, or bytes, a joint check is not tried."""
_FIRST_MANY: Final = 64
_MAX_MANY: Final = 8192
"""Limit of records per joint check: it grows while checks succeed, so that a failure costs little more than it gains.
"""
_ENOUGH: Final = 16
_MAX_ONES: Final = 63
"""After a joint check of too few records, this many at most are checked one by one before the next: 1, 3, 7, ..., 63.
"""

_MAX_STEPS: Final = 4_000_000
"""Limit of single checks in plain Python of records and headers of a compressed batch, and of headers of giant records:
a few seconds' work.
"""
_RECORDS_PER_YIELD: Final = 4096
"""Records that machine code checks in a thread between two yields of the interpreter lock: some 0.1 ms."""


class RecordsWalk:
    """A check of the records of one batch, and its results.

    Invariant: the first `walked` records are checked; `max_timestamp_delta` is their maximum, and no delta is below
    `min_timestamp_delta`; `sequential` tells whether their offset deltas are 0, 1, 2, ..., `keyless` whether any has no
    key.
    """

    __slots__ = (
        "_fields",
        "_steps",
        "_yields_gil",
        "count",
        "keyless",
        "max_timestamp_delta",
        "min_timestamp_delta",
        "sequential",
        "walked",
    )

    def __init__(self, count: int, yields_gil: bool = False) -> None:
        """`count`: the number of records in the batch's header. `yields_gil`: whether to yield the interpreter lock, in
        a thread.
        """
        self.count = count
        self._yields_gil = yields_gil
        self.walked = 0
        self.max_timestamp_delta = -(1 << 63)
        self.min_timestamp_delta = (1 << 63) - 1
        self.sequential = True
        self.keyless = False
        self._fields = RecordFields()
        self._steps = 0

    def walk_all(self, data: bytes) -> None:
        """Check the records of a batch in memory: `count` of them, and nothing after them.

        `KafkaError` INVALID_RECORD, with Kafka's messages where they are informative.
        """
        position = self.walk(data)
        if self.walked < self.count:
            raise _incomplete(data, position)
        if position != len(data):
            raise invalid("Incorrect declared batch size, records still remaining in file")

    def walk_chunks(self, chunks: Iterator[bytes], limit: int) -> int:
        """Check as `walk_all` decompressed data in pieces, in bounded memory; return the number of bytes.

        `KafkaError` MESSAGE_TOO_LARGE if there are more than `limit`, or so many records that the check takes too long.
        """
        source = _Chunks(chunks, limit)
        data = source.take(b"")
        position = 0
        while True:
            position = self.walk(data)
            if self.walked == self.count:
                break
            rest = data[position:]
            if source.ended:
                raise _incomplete(rest, 0)
            if _announced_size(rest) > PIECE:
                data = self._walk_giant(source, rest)
            else:
                data = source.take(rest)
            position = 0
            self._check_steps()
        if not source.ended and position == len(data):
            position = -len(source.take(b""))
            data = b""
        if position != len(data):
            raise invalid("Incorrect declared batch size, records still remaining in file")
        return source.size

    def walk(self, data: bytes) -> int:
        """Check the complete records of `data`, from `walked` on; return their end.

        `KafkaError` INVALID_RECORD for a malformed record.
        """
        position = 0
        length = len(data)
        index = self.walked
        count = self.count
        many = _FIRST_MANY
        ones = 0
        try:
            while index < count:
                left = count - index
                if _ONE_BY_ONE or left < _MIN_MANY or length - position < _MIN_SIZE:
                    ones = min(left, _RECORDS_PER_YIELD) if self._yields_gil else left
                    done, position = self._walk_ones(data, position, index, ones)
                    index += done
                    if done < ones or index == count:
                        break
                    yield_gil()
                    continue
                checked = check_columns(data, position, index, min(left, many), self.sequential)
                if checked is not None:
                    done, position, lowest, highest, keyless = checked
                    index += done
                    if highest > self.max_timestamp_delta:
                        self.max_timestamp_delta = highest
                    if lowest < self.min_timestamp_delta:
                        self.min_timestamp_delta = lowest
                    if keyless:
                        self.keyless = True
                    if done >= _ENOUGH:
                        ones = 0
                        many = min(2 * many, _MAX_MANY) if 2 * done >= many else _FIRST_MANY
                        continue
                ones = min(2 * ones + 1, _MAX_ONES, count - index)
                done, position = self._walk_ones(data, position, index, ones)
                index += done
                if done < ones:
                    break
        except IndexError:
            raise invalid(INVALID_STRUCTURE) from None
        finally:
            self.walked = index
        assert position <= length
        return position

    def _walk_ones(self, data: bytes, position: i64, index: i64, ones: i64) -> tuple[i64, i64]:
        """Check up to `ones` records; return (their number, their end). Fewer than `ones`: the next is incomplete."""
        fields = self._fields
        highest: i64 = self.max_timestamp_delta
        lowest: i64 = self.min_timestamp_delta
        sequential = self.sequential
        keyless = self.keyless
        done: i64 = 0
        while done < ones:
            end = fields.read(data, position)
            if end < 0:
                break
            position = end
            delta = fields.timestamp_delta
            if delta > highest:
                highest = delta
            if delta < lowest:
                lowest = delta
            if fields.offset_delta != index + done:
                sequential = False
            if fields.key_length < 0:
                keyless = True
            done += 1
            if not _ONE_BY_ONE:
                self._steps += 1 + fields.header_count
        self.max_timestamp_delta = highest
        self.min_timestamp_delta = lowest
        self.sequential = sequential
        self.keyless = keyless
        return done, position

    def _walk_giant(self, source: _Chunks, data: bytes) -> bytes:
        """Check one record that is too large for memory; return the data after it, from which the check continues."""
        reader = _Reader(source, data)
        size = reader.varint()
        start = reader.consumed
        reader.skip(1)
        delta = reader.varlong()
        if reader.varint() != self.walked:
            self.sequential = False
        key = reader.varint()
        if key < 0:
            self.keyless = True
        reader.skip(key)
        reader.skip(reader.varint())
        headers = reader.varint()
        if headers < 0:
            raise invalid(f"Found invalid number of record headers {headers}")
        self._steps += headers
        self._check_steps()
        for _ in range(headers):
            key = reader.varint()
            if key < 0:
                raise invalid(f"Invalid negative header key size {key}")
            reader.skip(key)
            reader.skip(reader.varint())
        if reader.consumed - start != size:
            raise invalid(
                f"Invalid record size: expected to read {size} bytes in record payload, "
                f"but instead read {reader.consumed - start}"
            )
        self.max_timestamp_delta = max(delta, self.max_timestamp_delta)
        self.min_timestamp_delta = min(delta, self.min_timestamp_delta)
        self.walked += 1
        return reader.rest()

    def _check_steps(self) -> None:
        if self._steps > _MAX_STEPS:
            raise KafkaError(Errors.MESSAGE_TOO_LARGE, "The compressed batch holds too many records or headers")


class _Chunks:
    """Joins decompressed chunks to pieces of about 256 KB, and counts their bytes."""

    def __init__(self, chunks: Iterator[bytes], limit: int) -> None:
        self._chunks = chunks
        self._limit = limit
        self.size = 0
        self.ended = False

    def take(self, rest: bytes) -> bytes:
        """Return `rest` and what follows it, at least one byte more unless the data has `ended`."""
        parts = [rest] if rest else []
        wanted = self.size + PIECE
        for chunk in self._chunks:
            parts.append(chunk)
            self.size += len(chunk)
            if self.size > self._limit:
                raise too_large(self._limit)
            if self.size >= wanted:
                break
        else:
            self.ended = True
        return parts[0] if len(parts) == 1 else b"".join(parts)


class _Reader:
    """Reads the fields of a record from chunks, and skips its contents without keeping them."""

    def __init__(self, source: _Chunks, data: bytes) -> None:
        self._source = source
        self._data = data
        self._position = 0
        self._dropped = 0

    @property
    def consumed(self) -> int:
        return self._dropped + self._position

    def varint(self) -> int:
        self._fill()
        value, self._position = read_varint(self._data, self._position)
        return value

    def varlong(self) -> int:
        self._fill()
        value, self._position = read_varlong(self._data, self._position)
        return value

    def skip(self, size: int) -> None:
        """Skip `size` bytes (none if it is negative: the length of null)."""
        if size <= 0:
            return
        self._position += size
        while self._position > len(self._data):
            if self._source.ended:
                raise invalid("Reached end of input stream before skipping all bytes.")
            self._dropped += len(self._data)
            self._position -= len(self._data)
            self._data = self._source.take(b"")

    def rest(self) -> bytes:
        return self._data[self._position :]

    def _fill(self) -> None:
        while len(self._data) - self._position < 10 and not self._source.ended:
            rest = self.rest()
            self._dropped += self._position
            self._position = 0
            self._data = self._source.take(rest)


def _announced_size(data: bytes) -> int:
    """Return the length of the record at the start of `data`, 0 if that is incomplete."""
    try:
        return read_varint(data, 0)[0]
    except IndexError:
        return 0


def _incomplete(data: bytes, position: int) -> KafkaError:
    size = _announced_size(data[position : position + 5])
    return invalid(
        f"Invalid record size: expected {size} bytes in record payload, but there are only {len(data) - position} "
        "bytes left with the size."
    )
