"""Decodes one partition's batches of a Fetch response into columns of the records that the consumer may see."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop
from typing import cast

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.record.batches import batches
from kafkapy.record.columns import MAX_OFFSET, RecordColumns
from kafkapy.record.control_records import ControlRecordType
from kafkapy.record.decoding import decode_batches, decode_legacy_batches, decode_plain
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    CODEC_MASK,
    CONTROL_MASK,
    HEADER_SIZE_UP_TO_MAGIC,
    HEADER_TO_MAGIC,
    LAST_OFFSET_DELTA,
    LAST_OFFSET_DELTA_POSITION,
    LOG_OVERHEAD,
    MIN_RECORD_SIZE,
    RECORD_BATCH_OVERHEAD,
    Buffer,
    RecordBatch,
)

_CHUNK_BYTES = 1 << 22
_CHUNK_RECORDS = 1 << 17
"""Records are decoded in portions of about this size, so that a decompressed response need not fit into memory."""

_OFFSETS = struct.Struct(">qi4xb6xi")
"""Base offset, length, magic and last offset delta of a batch of format v2."""

_Batch = RecordBatch | LegacyRecordBatch


class AbortedTransactions:
    """Finds the batches of aborted transactions (KIP-98) while the batches are read in log order.

    Invariant: `_producers` are the producers with an aborted transaction at the current offset; `_ahead` are the
    aborted transactions that begin later.
    """

    def __init__(self, aborted: Iterable[FetchResponse.AbortedTransaction]) -> None:
        self._ahead = [(transaction.first_offset, transaction.producer_id) for transaction in aborted]
        heapify(self._ahead)
        self._producers: set[int] = set()

    def hides(self, batch: RecordBatch) -> bool:
        """Return whether to leave out this batch. Call it exactly once for each batch, in order."""
        while self._ahead and self._ahead[0][0] <= batch.last_offset:
            self._producers.add(heappop(self._ahead)[1])
        if batch.is_control:
            if _is_abort_marker(batch):
                self._producers.discard(batch.producer_id)
            return True
        return batch.is_transactional and batch.producer_id in self._producers


def _is_abort_marker(batch: RecordBatch) -> bool:
    record = next(batch.records(), None)
    return record is not None and ControlRecordType.parse(record.key) is ControlRecordType.ABORT


class PartitionRecords:
    """The records of a response for one partition, from `fetch_offset` on, in portions.

    Iterating yields `RecordColumns`, some of which may be empty (markers, aborted or compacted offsets; `next_offset`
    is where they end). A damaged batch ends the iteration with a `KafkaError` (CORRUPT_MESSAGE, INVALID_RECORD,
    UNKNOWN_SERVER_ERROR …), after all records before it; `next_offset` is then that batch's offset. An incomplete
    batch at the end is left out.
    """

    def __init__(
        self,
        data: Buffer,
        fetch_offset: int,
        *,
        end_offset: int = MAX_OFFSET,
        aborted: AbortedTransactions | None = None,
        check_crcs: bool = True,
    ) -> None:
        """`aborted`: None for read_uncommitted. `end_offset`: records from this offset on are left out."""
        self._data = data
        self._aborted = aborted
        self._check_crcs = check_crcs
        self._end_offset = end_offset
        self._fetch_offset = fetch_offset
        self._position = 0
        """Byte position of the next batch."""
        self._hidden_until = -1
        self._hidden_epoch = -1
        self.next_offset = fetch_offset

    def __iter__(self) -> Iterator[RecordColumns]:
        yield from self._plain()
        for run in self._runs():
            while run:
                columns = self._decode(run)
                run = run[len(columns.segments) :]
                if columns.segments:
                    if not run and columns.error is None and columns.segments[-1].leader_epoch == self._hidden_epoch:
                        # The following batches are hidden, up to the next run. Those of another epoch are not added: a position
                        # has the epoch of the batch before it.
                        columns.next_offset = max(columns.next_offset, self._hidden_until)
                    self.next_offset = columns.next_offset
                    yield columns
                if columns.error is not None:
                    raise columns.error
        if self._hidden_until > self.next_offset:
            self.next_offset = self._hidden_until
            yield RecordColumns.empty(self._hidden_until, self._hidden_epoch)

    def _plain(self) -> Iterator[RecordColumns]:
        """Decode the leading batches that are uncompressed, of format v2 and no markers: the common case."""
        view = memoryview(self._data)
        while _may_be_plain(view, self._position):
            data = bytes(view[self._position : self._position + _CHUNK_BYTES])
            columns, size = decode_plain(
                data,
                self._fetch_offset,
                self._end_offset,
                transactional=self._aborted is None,
                check_crcs=self._check_crcs,
                most=_CHUNK_RECORDS,
            )
            self._position += size
            if columns is not None:
                self.next_offset = columns.next_offset
                yield columns
            if not size:
                return

    def _runs(self) -> Iterator[list[_Batch]]:
        """Yield lists of batches that can be decoded together."""
        run: list[_Batch] = []
        size = count = 0
        failure = None
        for batch in self._sound_batches():
            if isinstance(batch, KafkaError):
                failure = batch
                break
            if isinstance(batch, RecordBatch) and (
                batch.is_control if self._aborted is None else self._aborted.hides(batch)
            ):
                self._hidden_until = batch.next_offset
                self._hidden_epoch = batch.partition_leader_epoch
                continue
            if run and (size > _CHUNK_BYTES or count > _CHUNK_RECORDS or not _alike(run[0], batch)):
                yield run
                run, size, count = [], 0, 0
            run.append(batch)
            size += batch.size_in_bytes
            count += batch.record_count or 1
        if run:
            yield run
        if failure is not None:
            raise failure

    def _sound_batches(self) -> Iterator[_Batch | KafkaError]:
        """Yield the visible batches with valid header and CRC, and at the end the error of the next one."""
        try:
            for batch in batches(self._data, self._position):
                if batch.next_offset <= self._fetch_offset:
                    continue
                if batch.magic == 2 and batch.base_offset >= self._end_offset:
                    return
                if self._check_crcs:
                    batch.ensure_valid()
                yield batch
        except KafkaError as error:
            yield error

    def _decode(self, run: list[_Batch]) -> RecordColumns:
        if isinstance(run[0], RecordBatch):
            return decode_batches(cast(list[RecordBatch], run), self._fetch_offset, self._end_offset)
        return decode_legacy_batches(cast(list[LegacyRecordBatch], run), self._fetch_offset, self._end_offset)


def _may_be_plain(data: memoryview, position: int) -> bool:
    """Return whether the next batch is of format v2, uncompressed and no marker."""
    if len(data) - position < RECORD_BATCH_OVERHEAD:
        return False
    attributes = data[position + 22]
    return data[position + 16] == 2 and not attributes & (CODEC_MASK | CONTROL_MASK)


def _alike(one: _Batch, other: _Batch) -> bool:
    """Return whether two batches can be decoded together."""
    if type(one) is not type(other):
        return False
    return isinstance(one, LegacyRecordBatch) or one.is_compressed == other.is_compressed


def offset_after(data: Buffer, fetch_offset: int) -> int:
    """Return the offset after the response's last complete batch, where the next fetch begins. Reads headers only.

    `KafkaError` CORRUPT_MESSAGE for an impossible size.
    """
    position, end = 0, len(data)
    next_offset = fetch_offset
    while end - position >= _OFFSETS.size:
        base_offset, length, magic, delta = _OFFSETS.unpack_from(data, position)
        if magic != 2 or length <= LAST_OFFSET_DELTA_POSITION:
            break
        position += length + LOG_OVERHEAD
        if position > end:
            return max(next_offset, fetch_offset)
        next_offset = base_offset + delta + 1
    while end - position >= HEADER_SIZE_UP_TO_MAGIC:
        base_offset, length, magic = HEADER_TO_MAGIC.unpack_from(data, position)
        if length < MIN_RECORD_SIZE:
            raise KafkaError(Errors.CORRUPT_MESSAGE, f"Record size {length} is less than the minimum record overhead")
        start, position = position, position + length + LOG_OVERHEAD
        if position > end:
            break
        next_offset = base_offset + 1
        if magic == 2 and length > LAST_OFFSET_DELTA_POSITION:
            next_offset += LAST_OFFSET_DELTA.unpack_from(data, start + LAST_OFFSET_DELTA_POSITION)[0]
    return max(next_offset, fetch_offset)
