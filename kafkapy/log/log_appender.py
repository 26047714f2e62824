"""Appends to a log, and their effects: new epochs, rolls, producer state, flushes (part of Kafka's `UnifiedLog`).

The produce path is `append_as_leader`, which accesses only the page cache and runs on the reactor. Large appends are
validated in a thread without the lock (`validate`), then written (`append_validated`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from kafkapy.common.limits import MAX_INT
from kafkapy.log.files.file_batches import Batch
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.local_log import LocalLog
from kafkapy.log.log_bounds import LogBounds
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_flusher import LogFlusher
from kafkapy.log.log_types import (
    UNKNOWN_OFFSET,
    AppendOrigin,
    CompletedTxn,
    LogAppendInfo,
    LogOffsetMetadata,
    UnexpectedAppendOffsetError,
    WouldBlock,
)
from kafkapy.log.log_validator import LogValidator
from kafkapy.log.producers.producer_state import ProducerAppendInfo, ProducerStateEntry, RetainedBatch
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.log.validation_result import ValidationResult
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches as batches_of
from kafkapy.record.record_batch import CONTROL_MASK, TRANSACTIONAL_MASK

logger = logging.getLogger("kafkapy.log.Log")

_TRANSACTIONAL_OR_CONTROL: Final = TRANSACTIONAL_MASK | CONTROL_MASK

_ProducerChanges = tuple[dict[int, ProducerAppendInfo], list[CompletedTxn]]
"""An append's changes of producers, and the transactions that it completes."""


class LogAppender:
    """The write side of a log.

    Invariant: epochs are recorded before their batches are written; log end and producers change after the batches are
    written, so no offset is assigned twice, whatever fails. Batches validated for a leader are not written once another
    leader's epoch has begun (`fence`).
    """

    def __init__(
        self,
        local: LocalLog,
        bounds: LogBounds,
        epochs: LeaderEpochCache,
        producers: ProducerStateManager,
        flusher: LogFlusher,
    ) -> None:
        self._local = local
        self._bounds = bounds
        self._epochs = epochs
        self._producers = producers
        self._flusher = flusher
        self._validator = LogValidator(local.topic_partition, local.config)
        self._fenced_below = -1

    def update_config(self, config: LogConfig) -> None:
        """Validate later appends with this config."""
        self._validator = LogValidator(self._local.topic_partition, config)

    def append_as_leader(
        self,
        records: bytes | bytearray | memoryview,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = 11,
        non_blocking: bool = False,
    ) -> LogAppendInfo:
        """Validate records of a client or coordinator, assign offsets and the leader epoch, and append them.

        Args:
            records: The batches; a writable buffer is changed in place.
            leader_epoch: The epoch that the batches get.
            origin: The source of the records, which determines the checks; default CLIENT.
            request_version: The version of the Produce request, which determines what it may contain; default 11.
            non_blocking: Whether to raise `WouldBlock` instead of blocking the thread for long; default False.

        Raises:
            KafkaError: an error of `LogValidator.validate`; OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
                INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED; RECORD_LIST_TOO_LARGE for more than a segment;
                KAFKA_STORAGE_ERROR.
        """
        local = self._local
        with local.lock:
            local.check_open()
            if non_blocking and records and local.is_full_for(len(records)):
                raise WouldBlock
            now_ms = local.time.milliseconds()
            checked = self._validator.validate(
                records, local.log_end_offset, now_ms, leader_epoch, origin, request_version, non_blocking
            )
            return self._append_checked(checked, leader_epoch, origin, now_ms)

    def _append_checked(
        self, checked: ValidationResult, leader_epoch: int, origin: AppendOrigin, now_ms: int
    ) -> LogAppendInfo:
        log_start_offset = self._bounds.log_start_offset
        if not checked.batches:
            return LogAppendInfo(UNKNOWN_OFFSET, UNKNOWN_OFFSET, log_start_offset)
        info = LogAppendInfo(checked.first_offset, checked.last_offset, log_start_offset)
        info.record_count = checked.record_count
        info.max_timestamp = checked.max_timestamp
        info.shallow_offset_of_max_timestamp = checked.shallow_offset_of_max_timestamp
        info.log_append_time = checked.log_append_time
        info.last_leader_epoch = leader_epoch
        info.valid_bytes = len(checked.records)
        self._append(checked.records, checked.batches, info, origin, now_ms)
        return info

    # -- large appends

    def validate(
        self, records: bytes | bytearray | memoryview, request_version: int
    ) -> tuple[LogValidator, ValidationResult]:
        """Do the slow part of `append_as_leader`, which needs only the config of the log. For any thread, without the
        lock.
        """
        validator = self._validator
        now_ms = self._local.time.milliseconds()
        return validator, validator.validate(records, 0, now_ms, 0, AppendOrigin.CLIENT, request_version)

    def append_validated(self, validator: LogValidator, checked: ValidationResult, leader_epoch: int) -> LogAppendInfo:
        """Append the result of `validate` as the leader of this epoch. For any thread.

        Raises:
            KafkaError: as `append_as_leader`; NOT_LEADER_OR_FOLLOWER if another epoch has begun.
        """
        local = self._local
        with local.lock:
            local.check_open()
            self._check_epoch(leader_epoch)
            now_ms = local.time.milliseconds()
            if checked.batches:
                # The config has changed, so validate again. With log append time the result is no longer a client's
                # batch.
                if validator is not self._validator and not validator.rules.append_time:
                    validator, origin = self._validator, AppendOrigin.COORDINATOR
                    checked = validator.validate(checked.records, 0, now_ms, 0, origin)
                checked = validator.renumber(checked, local.log_end_offset, now_ms, leader_epoch)
            return self._append_checked(checked, leader_epoch, AppendOrigin.CLIENT, now_ms)

    def _check_epoch(self, leader_epoch: int) -> None:
        if leader_epoch < self._fenced_below:
            raise KafkaError(
                Errors.NOT_LEADER_OR_FOLLOWER, f"Leader epoch {leader_epoch} of {self._local.topic_partition} is over"
            )

    def fence(self, leader_epoch: int) -> None:
        """Refuse further appends of leaders before this epoch. Waits for an append that is running in a thread."""
        with self._local.lock:
            self._fenced_below = leader_epoch

    def append_as_follower(
        self, records: bytes | bytearray | memoryview, leader_epoch: int | None = None
    ) -> LogAppendInfo:
        """Append records from the leader unchanged, without an incomplete batch at the end.

        Args:
            records: The batches.
            leader_epoch: In a thread: the epoch of the leader that sent the records; None (default) is not checked.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER if another epoch has begun, CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR
                (decreasing offsets), `UnexpectedAppendOffsetError` (offsets below the log end), RECORD_LIST_TOO_LARGE,
                KAFKA_STORAGE_ERROR.
        """
        local = self._local
        batches = list(batches_of(records))
        info = LogAppendInfo(UNKNOWN_OFFSET, UNKNOWN_OFFSET, self._bounds.log_start_offset)
        if not batches:
            return info
        for batch in batches:
            batch.ensure_valid()
            if batch.last_offset <= info.last_offset:
                raise KafkaError(
                    Errors.UNKNOWN_SERVER_ERROR, f"Out of order offsets found in append to {local.topic_partition}"
                )
            info.last_offset = batch.last_offset
            info.valid_bytes += batch.size_in_bytes
            if batch.max_timestamp > info.max_timestamp:
                info.max_timestamp = batch.max_timestamp
                info.shallow_offset_of_max_timestamp = batch.last_offset
        info.last_leader_epoch = batches[-1].partition_leader_epoch
        first = batches[0]
        info.first_offset = first.base_offset if first.magic >= 2 else first.last_offset
        with local.lock:
            local.check_open()
            if leader_epoch is not None:
                self._check_epoch(leader_epoch)
            if info.first_offset < local.log_end_offset:
                raise UnexpectedAppendOffsetError(
                    f"Unexpected offset in append to {local.topic_partition}. First offset {info.first_offset} is less than "
                    f"the next offset {local.log_end_offset}. Last offset in append: {info.last_offset}. "
                    f"Log start offset = {self._bounds.log_start_offset}",
                    info.first_offset,
                    info.last_offset,
                )
            self._append(
                memoryview(records)[: info.valid_bytes],
                batches,
                info,
                AppendOrigin.REPLICATION,
                local.time.milliseconds(),
            )
        return info

    def _append(
        self,
        records: bytes | bytearray | memoryview,
        batches: Sequence[Batch],
        info: LogAppendInfo,
        origin: AppendOrigin,
        now_ms: int,
    ) -> None:
        """Append checked batches with offsets and epochs; completes `info` for a duplicate."""
        local, producers = self._local, self._producers
        try:
            self._note_epochs(batches)
            segment = self._segment_for(len(records), batches, info, now_ms)
            changes: _ProducerChanges | None = None
            expecting = self._expecting(batches)
            if expecting is None and (len(batches) > 1 or batches[0].producer_id >= 0):
                changes = self._check_producers(batches, info, segment, origin)
                if info.duplicate:
                    info.flush_due = self._is_flush_due()
                    return
            local.append(segment, records, batches, info.last_offset)
            # The records are written from here on, so move the log end even if something below fails.
            end = info.last_offset + 1
            if expecting is not None:
                first = batches[0]
                expecting.add_batch(
                    RetainedBatch(
                        first.last_sequence, info.last_offset, info.last_offset - info.first_offset, first.max_timestamp
                    )
                )
            elif changes is not None:
                self._change_producers(changes, segment)
            producers.map_end_offset = end
            if producers.ongoing_txns or producers.unreplicated_txns or self._bounds.first_unstable is not None:
                self._bounds.update_first_unstable_offset()
            info.flush_due = self._is_flush_due()
        except OSError as error:
            raise local.storage_failure("appending records", error) from error

    def _is_flush_due(self) -> bool:
        local = self._local
        return local.log_end_offset - local.recovery_point >= local.config.flush_messages

    # -- epochs and segments

    def _note_epochs(self, batches: Sequence[Batch]) -> None:
        """Write the batches' epochs to the file. Raises `OSError`."""
        epochs = self._epochs
        if epochs.is_unwritten:
            epochs.write_out()
        for batch in batches:
            if batch.partition_leader_epoch != epochs.latest_epoch:
                self._note_epoch(batch)

    def _note_epoch(self, batch: Batch) -> None:
        if batch.magic >= 2 and batch.partition_leader_epoch >= 0:
            self._epochs.assign(batch.partition_leader_epoch, batch.base_offset)
        elif self._epochs.latest_epoch is not None:
            # After an append in an older format, only the high watermark is a safe truncation point.
            logger.warning(
                "[%s] Clearing leader epoch cache after unexpected append with format v%d",
                *(self._local.name, batch.magic),
            )
            self._epochs.clear_and_flush()

    def _segment_for(self, size: int, batches: Sequence[Batch], info: LogAppendInfo, now_ms: int) -> LogSegment:
        """Return the active segment, or a new one if it must roll. `KafkaError` RECORD_LIST_TOO_LARGE if no segment has
        room for the batches.
        """
        local = self._local
        config = local.config
        if size > config.segment_bytes:
            raise KafkaError(
                Errors.RECORD_LIST_TOO_LARGE,
                f"Message batch size is {size} bytes in append to partition {local.topic_partition}, which exceeds the "
                f"maximum configured segment size of {config.segment_bytes}.",
            )
        segment = local.segments.active
        if not segment.should_roll(size, info.max_timestamp, info.last_offset, now_ms, config):
            return segment
        # The first offset of a v0 or v1 set is unknown: this bound is not above it, and the last offset still fits.
        known = batches[0].magic >= 2
        return self.roll(info.first_offset if known else info.last_offset - MAX_INT)

    def roll(self, expected_next_offset: int) -> LogSegment:
        """Create a new segment at max(`expected_next_offset`, log end); the old one is flushed later. Raises `OSError`."""
        segment = self._local.roll(expected_next_offset)
        # With a snapshot at the base offset, recovery of the new segment can start there.
        self._producers.map_end_offset = segment.base_offset
        snapshot = self._producers.take_snapshot(sync=False)
        self._bounds.high_watermark_follows_end()
        self._flusher.flush_later(segment.base_offset, snapshot)
        return segment

    # -- producers

    def _expecting(self, batches: Sequence[Batch]) -> ProducerStateEntry | None:
        """Return the producer if this is its next expected batch, as nearly always: then no checks are needed."""
        first = batches[0]
        if len(batches) > 1 or first.attributes & _TRANSACTIONAL_OR_CONTROL:
            return None
        producers = self._producers
        entry = producers.producers.get(first.producer_id)
        if entry is None or not entry.expects(first.producer_epoch, first.base_sequence):
            return None
        if producers.verifications and first.producer_id in producers.verifications:
            return None  # a refused transaction may begin with an earlier sequence
        return entry

    def _check_producers(
        self, batches: Sequence[Batch], info: LogAppendInfo, segment: LogSegment, origin: AppendOrigin
    ) -> _ProducerChanges:
        """Check sequences and epochs, and collect the changes; sets `info` if a client sends a batch again.

        Raises:
            KafkaError: OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE,
                TRANSACTION_COORDINATOR_FENCED.
        """
        producers, position = self._producers, segment.size
        infos: dict[int, ProducerAppendInfo] = {}
        completed: list[CompletedTxn] = []
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id >= 0:
                entry = producers.producers.get(producer_id) if origin is AppendOrigin.CLIENT else None
                if entry is not None:
                    duplicate = entry.find_duplicate_batch(
                        batch.producer_epoch, batch.base_sequence, batch.last_sequence
                    )
                    if duplicate is not None:
                        info.duplicate = True
                        info.first_offset, info.last_offset = duplicate.first_offset, duplicate.last_offset
                        info.log_append_time = duplicate.timestamp
                        info.valid_bytes = 0
                        break
                kind = batch.attributes & _TRANSACTIONAL_OR_CONTROL
                if kind == TRANSACTIONAL_MASK and origin is not AppendOrigin.REPLICATION:
                    producers.check_verified(producer_id, batch.producer_epoch)
                # Transactions keep the position, so that the last stable offset needs no look-up.
                first_offset = LogOffsetMetadata(batch.base_offset, segment.base_offset, position)
                txn = producers.note_batch(batch, infos, origin, first_offset)
                if txn is not None:
                    completed.append(txn)
                if kind & CONTROL_MASK:
                    producers.end_verification(producer_id)
            position += batch.size_in_bytes
        return infos, completed

    def _change_producers(self, changes: _ProducerChanges, segment: LogSegment) -> None:
        infos, completed = changes
        for info in infos.values():
            self._producers.update(info)
        for txn in completed:
            segment.update_txn_index(txn, self._producers.last_stable_offset(txn))
            self._producers.complete_txn(txn)
