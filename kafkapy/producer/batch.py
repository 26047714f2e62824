"""A batch of records for one partition, until it is acknowledged or has failed (Kafka's `ProducerBatch`)."""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import InvalidRecordError
from kafkapy.producer.future import BatchMetadata, RecordMetadata
from kafkapy.protocol.errors import KafkaError
from kafkapy.record.batch_encoder import (
    NO_PRODUCER,
    BatchProducer,
    Columns,
    EncodedRecords,
    Headers,
    TimeRun,
    encode_columns,
    finish_batch,
    time_runs,
)
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder

_log = logging.getLogger("kafkapy.producer")

Lengths = tuple[Sequence[int], Sequence[int] | None]
"""Lengths of the values and of the keys in bytes, -1 for null."""
RECORD_OVERHEAD = 12
"""Estimated bytes of a record besides key, value and headers."""


class ProducerBatch:
    """First the columns of its records, then their encoded bytes, at last their outcome.

    Invariant: records are added only while it is the open batch of its queue, under the accumulator's lock. `room` is
    the number of bytes that may be added before the accumulator has to reserve more memory. `done` changes from False
    to True once; results don't change after that. A split batch is done when all its parts are.
    """

    __slots__ = (
        "_callbacks",
        "_event",
        "_lock",
        "_parts",
        "_sizes",
        "attempts",
        "base_offset",
        "counted",
        "created_ms",
        "done",
        "encoded",
        "error",
        "has_own_times",
        "headers",
        "keys",
        "last_error",
        "last_node",
        "log_append_time",
        "number",
        "producer",
        "record_errors",
        "reserved",
        "retry_at_ms",
        "room",
        "runs",
        "sent",
        "sequence_was_reset",
        "times",
        "topic_partition",
        "values",
        "wait_otherwise",
    )

    def __init__(self, topic_partition: TopicPartition, lock: threading.Lock, created_ms: float, reserved: int) -> None:
        """`reserved`: bytes of buffer memory that the batch holds."""
        self.topic_partition = topic_partition
        self.created_ms = created_ms
        self.reserved = reserved
        self.room = reserved
        self.counted = 0
        """Bytes of this batch that the sticky choice has counted."""
        self.values: list[bytes | None] = []
        self.keys: list[bytes | None] | None = None
        self.headers: list[Headers | None] | None = None
        self.times: list[float] = []
        """Seconds since the epoch (float), or ms (int) where the user gave a timestamp."""
        self.has_own_times = False
        self.runs: Sequence[TimeRun] = ()
        self.encoded: EncodedRecords | None = None
        self.producer: BatchProducer = NO_PRODUCER
        self.number = 0
        """Number of the partition's batches that were given sequences before this one."""
        self.sequence_was_reset = False
        self.attempts = 0
        self.retry_at_ms = 0.0
        self.last_node = -1
        self.last_error: BaseException | None = None
        """The error of the last attempt."""
        self.sent = False
        """Whether the batch may have reached a broker."""
        self.done = False
        self.base_offset = -1
        self.log_append_time = -1
        self.error: BaseException | None = None
        self.record_errors: dict[int, str | None] | None = None
        self.wait_otherwise: Callable[[ProducerBatch, float | None], object] | None = None
        """Called by a thread that waits for the outcome, before it blocks; takes the longest time in seconds."""
        self._lock = lock
        self._event: threading.Event | None = None
        self._callbacks: list[Callable[[], object]] | None = None
        self._parts: list[tuple[int, ProducerBatch]] | None = None
        self._sizes: tuple[Sequence[int], Sequence[int] | None, Sequence[int] | None] | None = None
        """Sizes of values, keys and headers, kept when the columns are released."""

    @property
    def record_count(self) -> int:
        return len(self.values) if self._sizes is None else len(self._sizes[0])

    @property
    def has_sequence(self) -> bool:
        return self.producer.base_sequence >= 0

    def __repr__(self) -> str:
        return f"<ProducerBatch {self.topic_partition} of {self.record_count}, sequence {self.producer.base_sequence}>"

    # --- adding records: under the accumulator's lock

    def add(
        self, value: bytes | None, key: bytes | None, headers: Headers | None, timestamp: int | None, now: float
    ) -> int:
        """Add a record; return its index. The value is added last, so that a Ctrl-C in between leaves no partial
        record."""
        index = len(self.values)
        if key is not None and self.keys is None:
            self.keys = [None] * index
        if self.keys is not None:
            self.keys[index:] = [key]
        if headers and self.headers is None:
            self.headers = [None] * index
        if self.headers is not None:
            self.headers[index:] = [headers]
        if timestamp is not None:
            self.has_own_times = True
        self.times[index:] = [now if timestamp is None else timestamp]
        self.values.append(value)
        return index

    def hold(self, encoded: EncodedRecords, lengths: Lengths, runs: Sequence[TimeRun]) -> None:
        """Set all records of the batch, already encoded, with the lengths of their values and keys."""
        self.encoded = encoded
        self.runs = runs
        self._sizes = *lengths, None

    # --- its bytes

    def _unpack(self) -> None:
        """Decode records that were added in encoded form back into columns."""
        if self.encoded is not None and not self.values:
            records = list(RecordBatch(finish_batch(self.encoded)).records())
            self.values = [record.value for record in records]
            self.keys = [record.key for record in records]

    def time_columns(self) -> Sequence[TimeRun]:
        """Return the timestamps as runs; computed once, when the batch has been closed."""
        if not self.runs:
            del self.times[len(self.values) :]
            if self.has_own_times:
                self.runs = time_runs([t if type(t) is int else int(t * 1000) for t in self.times])
            else:
                self.runs = _clock_runs(self.times)
            self.times = []
        return self.runs

    def records(self, magic: int, codec: CompressionType, level: int | None) -> bytes:
        """Return the batch in the wire format; records are encoded once, the header each time."""
        if magic < 2:
            return self._legacy_records(magic, codec)
        if self.encoded is None:
            self.encoded = encode_columns(
                Columns(self.values, self.keys, self.headers, self.time_columns()), codec, level
            )
        return finish_batch(self.encoded, self.producer)

    def _legacy_records(self, magic: int, codec: CompressionType) -> bytes:
        self._unpack()
        builder = MemoryRecordsBuilder(magic=magic, compression_type=codec)
        for i, value in enumerate(self.values):
            builder.append(self._timestamp(i), self.keys[i] if self.keys is not None else None, value)
        return builder.build()

    def size_hint(self) -> int:
        """Estimate its size on the wire in bytes."""
        return len(self.encoded.body) + 61 if self.encoded is not None else max(61, self.reserved - self.room)

    def compression_ratio(self) -> float:
        """Return compressed size / uncompressed size; 1 if unknown."""
        encoded = self.encoded
        return (
            len(encoded.body) / encoded.uncompressed_size if encoded is not None and encoded.uncompressed_size else 1.0
        )

    def _timestamp(self, index: int) -> int:
        runs = self.time_columns()
        return runs[bisect_right(runs, index, key=lambda run: run[0]) - 1][1]

    # --- the outcome

    def complete(self, base_offset: int, log_append_time: int) -> None:
        """Set the outcome: all records are in the log, from `base_offset` on (-1: not known)."""
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._finish()

    def fail(self, error: BaseException, record_errors: dict[int, str | None] | None = None) -> None:
        """Set the outcome: the batch has failed. `record_errors`: index -> the broker's message, for the records that
        it rejected."""
        self.error = error
        self.record_errors = record_errors
        self._finish()

    def _finish(self) -> None:
        runs = self.time_columns()
        assert runs
        sizes = self._sizes or (_sizes_of(self.values), _key_sizes(self.keys), _header_sizes(self.headers))
        with self._lock:
            if self.done:
                return
            self._sizes = sizes
            self.values, self.keys, self.headers, self.encoded = [], None, None, None
            self._be_done()

    def _be_done(self) -> None:
        self.done = True
        self.wait_otherwise = None

    def announce(self) -> None:
        """Wake waiting callers and call callbacks. Call it after `complete` or `fail`, without the lock."""
        with self._lock:
            event, self._event = self._event, None
            callbacks, self._callbacks = self._callbacks, None
        if event is not None:
            event.set()
        for callback in callbacks or ():
            try:
                callback()
            except Exception:
                _log.exception("A callback of a producer's record failed")

    def wait(self, timeout: float | None) -> bool:
        wait_otherwise = self.wait_otherwise
        if not self.done and wait_otherwise is not None:
            begun = time.monotonic()
            wait_otherwise(self, timeout)
            if timeout is not None:
                timeout = max(0.0, timeout - (time.monotonic() - begun))
        if not self.done:
            with self._lock:
                if self.done:
                    return True
                if self._event is None:
                    self._event = threading.Event()
                event = self._event
            event.wait(timeout)
        return self.done

    def when_done(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if not self.done:
                if self._callbacks is None:
                    self._callbacks = []
                self._callbacks.append(callback)
                return
        try:
            callback()
        except Exception:
            _log.exception("A callback of a producer's record failed")

    def metadata_of(self, index: int) -> RecordMetadata | None:
        """Return one record's metadata; None if it failed or isn't done."""
        if self._parts is not None:
            part, start = self._part_of(index)
            return part.metadata_of(index - start) if self.done else None
        if not self.done or self.error is not None or self._sizes is None:
            return None
        values, keys, headers = self._sizes
        return RecordMetadata(
            *self.topic_partition,
            self.topic_partition,
            self.base_offset + index if self.base_offset >= 0 else -1,
            self.log_append_time if self.log_append_time >= 0 else self._timestamp(index),
            None,
            keys[index] if keys is not None else -1,
            values[index],
            headers[index] if headers is not None else -1,
        )

    def error_of(self, index: int) -> BaseException | None:
        if self._parts is not None:
            part, start = self._part_of(index)
            return part.error_of(index - start) if self.done else None
        if self.error is None or not self.record_errors:
            return self.error
        if index in self.record_errors:
            return InvalidRecordError(self.record_errors[index] or str(self.error))
        return KafkaError(
            InvalidRecordError.error,
            "Failed to append record because it was part of a batch which had one or more invalid records",
        )

    def first_error(self) -> BaseException | None:
        if self._parts is not None:
            return next((error for _, part in self._parts if (error := part.first_error()) is not None), None)
        return self.error

    def batch_metadata(self) -> list[BatchMetadata]:
        if self._parts is not None:
            return [metadata for _, part in self._parts for metadata in part.batch_metadata()]
        if not self.done or self.error is not None:
            return []
        timestamp = self.log_append_time if self.log_append_time >= 0 else self._timestamp(0)
        return [BatchMetadata(*self.topic_partition, self.base_offset, timestamp, self.record_count)]

    # --- splitting (KIP-126)

    def split(self, max_bytes: int) -> list[ProducerBatch]:
        """Return at least two smaller batches with its records, each of about `max_bytes` or of one record.

        From now on the outcome of this batch is that of its parts. Their sequences continue from its own.
        """
        self._unpack()
        sizes = [
            a + b + RECORD_OVERHEAD
            for a, b in zip(_plain_sizes(self.values), _plain_sizes(self.keys, self.record_count), strict=True)
        ]
        limit = min(max_bytes, max(1, sum(sizes) // 2))
        parts = []
        for start, end in cuts(sizes, limit):
            parts.append((start, self._slice(start, end)))
        waiting = [part for _, part in parts]
        with self._lock:
            self._parts = parts
            self._sizes = _sizes_of(self.values), None, None
            self.values, self.keys, self.headers, self.encoded = [], None, None, None

        def part_is_done() -> None:
            if all(part.done for part in waiting):
                with self._lock:
                    self._be_done()
                self.announce()

        for part in waiting:
            part.when_done(part_is_done)
        return waiting

    def _slice(self, start: int, end: int) -> ProducerBatch:
        part = ProducerBatch(self.topic_partition, self._lock, self.created_ms, 0)
        part.values = self.values[start:end]
        part.keys = self.keys[start:end] if self.keys is not None else None
        part.headers = self.headers[start:end] if self.headers is not None else None
        part.runs = time_runs([self._timestamp(i) for i in range(start, end)])
        part.attempts = self.attempts
        part.reserved, self.reserved = self.reserved, 0  # the first part releases all of the memory
        if self.has_sequence:
            sequence = next_sequence(self.producer.base_sequence, start)
            part.producer = self.producer._replace(base_sequence=sequence)
            part.number = self.number
        return part

    def _part_of(self, index: int) -> tuple[ProducerBatch, int]:
        assert self._parts is not None
        start, part = self._parts[bisect_right(self._parts, index, key=lambda part: part[0]) - 1]
        return part, start


def next_sequence(sequence: int, count: int) -> int:
    """Return the sequence that is `count` records later; 0 follows 2^31 - 1."""
    return (sequence + count) & 0x7FFFFFFF


def precedes(a: ProducerBatch, b: ProducerBatch) -> bool:
    """Return whether `a` precedes `b` by epoch, then by sequence. Sequences wrap."""
    if a.producer.producer_epoch != b.producer.producer_epoch:
        return a.producer.producer_epoch < b.producer.producer_epoch
    return (b.producer.base_sequence - a.producer.base_sequence) & 0x7FFFFFFF < 0x40000000


def cuts(sizes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Return (start, end) of runs of at most `limit` bytes and at least one element."""
    return cuts_of_sums(list(accumulate(sizes)), limit)


def cuts_of_sums(ends: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """The same as `cuts`, for cumulative sums of the sizes."""
    runs = []
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        end = max(bisect_right(ends, before + limit), start + 1)
        runs.append((start, end))
        start = end
    return runs


def _clock_runs(times: Sequence[float]) -> list[TimeRun]:
    """Return clock readings as runs of equal ms.

    Readings are nearly always ascending, so that one bisection for each ms is enough, instead of a step for each
    record.
    """
    runs = []
    start = 0
    while start < len(times):
        ms = int(times[start] * 1000)
        runs.append((start, ms))
        start = max(start + 1, bisect_left(times, (ms + 1) / 1000, start))
    return runs


def _sizes_of(fields: Sequence[bytes | None]) -> list[int]:
    try:
        return list(map(len, fields))  # type: ignore[arg-type]
    except TypeError:
        return [-1 if field is None else len(field) for field in fields]


def _key_sizes(keys: Sequence[bytes | None] | None) -> list[int] | None:
    return _sizes_of(keys) if keys is not None else None


def _header_sizes(headers: Sequence[Headers | None] | None) -> list[int] | None:
    if headers is None:
        return None
    return [sum(len(name.encode()) + len(content or b"") for name, content in own) if own else -1 for own in headers]


def _plain_sizes(fields: Sequence[bytes | None] | None, count: int = 0) -> list[int]:
    return [len(field or b"") for field in fields] if fields is not None else [0] * count
