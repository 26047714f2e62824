"""Removes records from a log: retention, DeleteRecords, the cleaner's swap, truncation (part of Kafka's `UnifiedLog`)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kafkapy.log import log_retention
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.local_log import LocalLog
from kafkapy.log.log_appender import LogAppender
from kafkapy.log.log_bounds import LogBounds
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.producers.producer_state_rebuild import rebuild_producer_state
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.Log")


class LogTrimmer:
    """Removes records at the start, at the end, and within a log.

    Invariant: epochs, producers and bounds refer to no removed record; `truncations` counts how often the end moved
    back.
    """

    def __init__(
        self,
        local: LocalLog,
        bounds: LogBounds,
        appender: LogAppender,
        epochs: LeaderEpochCache,
        producers: ProducerStateManager,
    ) -> None:
        self._local = local
        self._bounds = bounds
        self._appender = appender
        self._epochs = epochs
        self._producers = producers
        self.truncations = 0

    # -- at the start

    def delete_old_segments(self) -> int:
        """Delete whole segments that retention or the log start allows; return how many. `KafkaError`."""
        deleted = 0
        with self._local.io("deleting old segments"), self._local.lock:
            self._local.check_open()
            for breach in log_retention.breaches(self._local.config):
                deletable = breach.find(self._local, self._bounds)
                for segment in deletable:
                    logger.info("[%s] Deleting segment %s due to %s", self._local.name, segment, breach.reason)
                if deletable:
                    self._delete_oldest(deletable)
                deleted += len(deletable)
        return deleted

    def _delete_oldest(self, deletable: list[LogSegment]) -> None:
        if len(deletable) == len(self._local.segments):
            self._appender.roll(self._local.log_end_offset)  # a log needs at least one segment
        first_kept = self._local.segments.higher(deletable[-1].base_offset)
        assert first_kept is not None
        self.maybe_increment_log_start_offset(first_kept.base_offset, "segment deletion")
        self._local.remove_and_delete_segments(deletable)
        self._delete_snapshots_of(deletable)

    def _delete_snapshots_of(self, segments: Iterable[LogSegment]) -> None:
        marked = (self._producers.remove_and_mark_for_deletion(segment.base_offset) for segment in segments)
        self._local.delete_files_later("delete-producer-snapshot", [path for path in marked if path is not None])

    def replace_segments(self, new_segments: list[LogSegment], old_segments: list[LogSegment]) -> None:
        """Swap in the cleaner's output. `new_segments` are flushed .cleaned files. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._local.io("replacing segments"), self._local.lock:
            self._local.check_open()
            self._delete_snapshots_of(self._local.replace_segments(new_segments, old_segments))

    def maybe_increment_log_start_offset(self, offset: int, reason: str = "client delete records request") -> bool:
        """Move the log start to `offset`, which makes records below invisible; return whether it moved. `KafkaError`
        OFFSET_OUT_OF_RANGE.
        """
        local, bounds = self._local, self._bounds
        with local.io(f"increasing log start offset to {offset}"), local.lock:
            if offset > bounds.high_watermark:
                raise KafkaError(
                    Errors.OFFSET_OUT_OF_RANGE,
                    f"Cannot increment the log start offset to {offset} of partition {local.topic_partition} since it is "
                    f"larger than the high watermark {bounds.high_watermark}",
                )
            local.check_open()
            if offset <= bounds.log_start_offset:
                return False
            bounds.set_log_start_offset(offset)
            logger.info("[%s] Incremented log start offset to %d due to %s", local.name, offset, reason)
            self._epochs.truncate_from_start(offset)
            self._producers.on_log_start_offset_incremented(offset)
            bounds.update_first_unstable_offset()
            return True

    # -- at the end

    def truncate_to(self, offset: int) -> bool:
        """Remove everything at or after `offset`; return whether there was anything. `KafkaError` KAFKA_STORAGE_ERROR."""
        if offset < 0:
            raise ValueError(
                f"Cannot truncate partition {self._local.topic_partition} to a negative offset ({offset})."
            )
        with self._local.io(f"truncating to offset {offset}"), self._local.lock:
            self._local.check_open()
            if offset >= self._local.log_end_offset:
                # A leader's epoch may be recorded without any record of it, and the next leader does not know it.
                self._epochs.truncate_from_end(self._local.log_end_offset)
                return False
            logger.debug("[%s] Truncating to offset %d", self._local.name, offset)  # the caller logs the reason
            self.truncations += 1
            if self._local.segments.first.base_offset > offset:
                self.truncate_fully_and_start_at(offset)
                return True
            self._delete_snapshots_of(self._local.truncate_to(offset))
            self._epochs.truncate_from_end(offset)
            log_start_offset = min(offset, self._bounds.log_start_offset)
            self._rebuild_producers(log_start_offset, offset)
            self._bounds.after_truncation(log_start_offset)
            return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove everything, and continue at `offset`. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._local.io("truncating the entire log"), self._local.lock:
            self._local.check_open()
            self.truncations += 1
            self._local.truncate_fully_and_start_at(offset)
            self._epochs.clear_and_flush()
            self._producers.truncate_fully_and_start_at(offset)
            log_start_offset = offset if log_start_offset is None else log_start_offset
            self._rebuild_producers(log_start_offset, offset)
            self._bounds.restart(log_start_offset)

    def _rebuild_producers(self, log_start_offset: int, up_to: int) -> None:
        rebuild_producer_state(
            self._producers,
            self._local.segments,
            log_start_offset,
            up_to,
            self._local.time.milliseconds(),
            False,
            self._local.config.record_version,
        )
