"""Where a log begins and ends for its readers: log start, high watermark, last stable offset (part of Kafka's `UnifiedLog`)."""

from __future__ import annotations

import logging

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import FetchIsolation, LogOffsetMetadata, LogOffsetSnapshot
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.segments.local_log import DirFailureHandler, LocalLog
from kafkapy.log.segments.log_segments import LogSegments
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.Log")


class BoundedLog(LocalLog):
    """A log with its bounds.

    Invariant: log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset. Records below `log_start_offset` are
    deleted, if still on disk; those at or above `high_watermark` may still be lost with the leader; those at or above
    `last_stable_offset` may belong to a transaction that is not decided. `epochs` has the epoch of every batch, `producers` the
    state up to the log end.
    """

    def __init__(
        self,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        segments: LogSegments,
        log_start_offset: int,
        recovery_point: int,
        log_end_offset: int,
        epochs: LeaderEpochCache,
        producers: ProducerStateManager,
        scheduler: Scheduler,
        time: Time,
        on_dir_failure: DirFailureHandler,
    ) -> None:
        super().__init__(
            directory,
            topic_partition,
            config,
            segments,
            recovery_point,
            log_end_offset,
            scheduler,
            time,
            on_dir_failure,
        )
        self.epochs = epochs
        self.producers = producers
        self.log_start_offset = log_start_offset
        self.high_watermark = log_start_offset
        self._high_watermark_metadata = LogOffsetMetadata(log_start_offset)
        self._first_unstable: LogOffsetMetadata | None = None
        self._set_log_start_offset(log_start_offset)
        self._update_first_unstable_offset()

    # -- high watermark and last stable offset

    @property
    def last_stable_offset(self) -> int:
        """Everything below it is decided (KIP-98): min(high watermark, first offset of an undecided transaction)."""
        first = self._first_unstable
        if first is not None and first.message_offset < self.high_watermark:
            return first.message_offset
        return self.high_watermark

    def end_offset_metadata(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Up to where a reader may see, with its position. `KafkaError` OFFSET_OUT_OF_RANGE if it has none."""
        try:
            return self._end_offset_metadata(isolation)
        except OSError:
            return self._read_files("reading offsets", lambda: self._end_offset_metadata(isolation))

    def _end_offset_metadata(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Raises `OSError`."""
        if isolation is FetchIsolation.LOG_END:
            return self.log_end_offset_metadata
        if isolation is FetchIsolation.TXN_COMMITTED:
            first = self._first_unstable
            if first is not None and first.message_offset < self.high_watermark:
                if first.message_offset_only:
                    first = self._position_of(first.message_offset)
                    with self.lock:
                        if (
                            self._first_unstable is not None
                            and self._first_unstable.message_offset == first.message_offset
                        ):
                            self._first_unstable = first
                return first
        metadata = self._high_watermark_metadata
        if metadata.message_offset_only:
            metadata = self._position_of(metadata.message_offset)
            with self.lock:
                if self.high_watermark == metadata.message_offset:
                    self._set_high_watermark(metadata)
        return metadata

    @property
    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """The high watermark; its position may not be known (see `end_offset_metadata`)."""
        return self._high_watermark_metadata

    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """All offsets with their positions. `KafkaError` OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR."""
        return LogOffsetSnapshot(
            self.log_start_offset,
            self.log_end_offset_metadata,
            self.end_offset_metadata(FetchIsolation.HIGH_WATERMARK),
            self.end_offset_metadata(FetchIsolation.TXN_COMMITTED),
        )

    def maybe_increment_high_watermark(self, new: LogOffsetMetadata) -> LogOffsetMetadata | None:
        """As leader: move the high watermark up to `new` if it is higher (or as high on a newer segment).

        The high watermark before, None if it stays. `ValueError` above the log end.
        """
        if new.message_offset > self.log_end_offset:
            raise ValueError(
                f"High watermark {new} update exceeds current log end offset {self.log_end_offset_metadata}"
            )
        with self.lock:
            old = self._high_watermark_metadata
            if old.message_offset < new.message_offset or (
                old.message_offset == new.message_offset and old.on_older_segment(new)
            ):
                self._set_high_watermark(new)
                return old
        return None

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark (at start, or as a follower): brought into [log start, log end]. What holds now."""
        with self.lock:
            if offset >= self.log_end_offset:
                self._set_high_watermark(self.log_end_offset_metadata)
            else:
                self._set_high_watermark(LogOffsetMetadata(max(offset, self.log_start_offset)))
            return self.high_watermark

    def maybe_update_high_watermark(self, offset: int) -> int | None:
        """As follower: take over the leader's high watermark; the new one if it changed."""
        before = self.high_watermark
        if offset == before:
            return None
        after = self.update_high_watermark(offset)
        return after if after != before else None

    def _set_high_watermark(self, metadata: LogOffsetMetadata) -> None:
        if metadata.message_offset < 0:
            raise ValueError("High watermark offset should be non-negative")
        if metadata.message_offset < self.high_watermark:
            logger.warning(
                "[%s] Non-monotonic update of high watermark from %d to %s", self.name, self.high_watermark, metadata
            )
        self._high_watermark_metadata = metadata
        self.high_watermark = metadata.message_offset
        producers = self.producers
        if producers.unreplicated_txns:
            producers.on_high_watermark_updated(metadata.message_offset)
        if self._first_unstable is not None:
            self._update_first_unstable_offset()

    def _high_watermark_follows_end(self) -> None:
        """After the end moved back, or got another position by a roll."""
        if self.high_watermark >= self.log_end_offset:
            self._set_high_watermark(self.log_end_offset_metadata)

    def _update_first_unstable_offset(self) -> None:
        first = self.producers.first_unstable_offset()
        if first is not None and (first.message_offset_only or first.message_offset < self.log_start_offset):
            offset = max(first.message_offset, self.log_start_offset)
            try:
                first = self._position_of(offset)
            except KafkaError:
                first = LogOffsetMetadata(offset)
        self._first_unstable = first

    # -- log start

    def maybe_increment_log_start_offset(self, offset: int, reason: str = "client delete records request") -> bool:
        """Delete everything below `offset`, in name; True if the log start moved. `KafkaError` OFFSET_OUT_OF_RANGE."""
        with self._io(f"increasing log start offset to {offset}"), self.lock:
            if offset > self.high_watermark:
                raise KafkaError(
                    Errors.OFFSET_OUT_OF_RANGE,
                    f"Cannot increment the log start offset to {offset} of partition {self.topic_partition} since it is "
                    f"larger than the high watermark {self.high_watermark}",
                )
            self._check_open()
            if offset <= self.log_start_offset:
                return False
            self._set_log_start_offset(offset)
            logger.info("[%s] Incremented log start offset to %d due to %s", self.name, offset, reason)
            self.epochs.truncate_from_start(offset)
            self.producers.on_log_start_offset_incremented(offset)
            self._update_first_unstable_offset()
            return True

    def _set_log_start_offset(self, offset: int) -> None:
        self.log_start_offset = offset
        if self.high_watermark < offset:
            self.update_high_watermark(offset)
        if self.recovery_point < offset:
            self.recovery_point = offset
