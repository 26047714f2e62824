"""Records for clients from before 0.11, converted while they are sent (Kafka's `LazyDownConversionRecordsSend`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from kafkapy.record.conversion import CONVERSION_CHUNK, LazyDownConversionRecords, overflow_entry
from kafkapy.record.file_records import FileRecords
from kafkapy.record.lazy_records import LazyRecords
from kafkapy.record.record_batch import LOG_OVERHEAD
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import Completion

P = ParamSpec("P")
R = TypeVar("R")


class InTurn:
    """Runs work that holds the interpreter lock in a pool's threads, one at a time, in the order of calls.

    More threads would not be faster, but the reactor would have to wait for each of them to get the lock.
    """

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread
        self._last: Completion[None] = Completion.of(None)

    async def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        mine: Completion[None] = Completion()
        before, self._last = self._last, mine
        await before
        try:
            return await self._in_thread(function, *args, **kwargs)
        finally:
            mine.set_result(None)


class DownConvertedRecords(LazyRecords):
    """The converted records of one partition. The announced number of bytes is sent even if later records can't be
    converted.

    Invariant: `_left` bytes are announced and not returned yet; `_first` are the next of them, if any.
    """

    def __init__(self, records: FileRecords, to_magic: int, first_offset: int, in_thread: InThread) -> None:
        self._conversion = LazyDownConversionRecords(records, to_magic, first_offset)
        self._in_thread = in_thread
        self._left = len(records)
        self._first: bytes | None = None
        self._ended = False

    async def begin(self) -> None:
        """Convert the first batch, which determines the response's size: it is sent completely even if it exceeds the
        limit.

        Raises `KafkaError`, `OSError` as `LazyDownConversionRecords` does.
        """
        conversion = self._conversion
        first: bytes | None = b""
        while first == b"":
            first = await self._in_thread(conversion.convert_next, 0)
        if first is None:
            self._ended = True
            self._left = LOG_OVERHEAD if conversion.has_batches else 0
            self._first = overflow_entry(self._left)
        else:
            self._first = first
            self._left = max(self._left, len(first))

    def __len__(self) -> int:
        return self._left

    async def next_piece(self) -> bytes:
        piece, self._first = self._first, None
        if piece is None:
            piece = await self._next_converted()
        piece = piece[: self._left]
        self._left -= len(piece)
        return piece

    async def _next_converted(self) -> bytes:
        if self._ended:
            return bytes(CONVERSION_CHUNK)
        converted: bytes | None = b""
        while converted == b"":
            converted = await self._in_thread(self._conversion.convert_next)
        if converted is not None:
            return converted
        self._ended = True
        return overflow_entry(self._left)[:CONVERSION_CHUNK]
