"""The offsets that bound a log for readers: log start, high watermark, last stable offset (part of Kafka's
`UnifiedLog`).
"""

from __future__ import annotations

import logging

from kafkapy.log.local_log import LocalLog
from kafkapy.log.log_types import FetchIsolation, LogOffsetMetadata
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.protocol.errors import KafkaError

logger = logging.getLogger("kafkapy.log.Log")


class LogBounds:
    """The offsets that bound a log.

    Invariant: log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset. Records below
    `log_start_offset` are deleted, even if still on disk; those at or above `high_watermark` may still be lost with the
    leader; those at or above `last_stable_offset` may belong to an open transaction.
    """

    def __init__(self, local: LocalLog, log_start_offset: int, producers: ProducerStateManager) -> None:
        self._local = local
        self._producers = producers
        self.log_start_offset = log_start_offset
        self.high_watermark = log_start_offset
        self.high_watermark_metadata = LogOffsetMetadata(log_start_offset)
        """The high watermark; its position may be unknown (see `end_offset_metadata`)."""
        self.first_unstable: LogOffsetMetadata | None = None
        """The start of the first undecided transaction. Read on the append path."""
        self.set_log_start_offset(log_start_offset)
        self.update_first_unstable_offset()

    # -- high watermark and last stable offset

    @property
    def last_stable_offset(self) -> int:
        """The end of decided records (KIP-98): min(high watermark, first offset of an undecided transaction)."""
        first = self.first_unstable
        if first is not None and first.message_offset < self.high_watermark:
            return first.message_offset
        return self.high_watermark

    def end_offset_metadata(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Return the end of the range that a reader may see, with its position. `KafkaError` OFFSET_OUT_OF_RANGE if it
        has none; `OSError`.
        """
        if isolation is FetchIsolation.LOG_END:
            return self._local.log_end_offset_metadata
        if isolation is FetchIsolation.TXN_COMMITTED:
            first = self.first_unstable
            if first is not None and first.message_offset < self.high_watermark:
                if first.message_offset_only:
                    first = self._local.position_of(first.message_offset)
                    with self._local.lock:
                        if (
                            self.first_unstable is not None
                            and self.first_unstable.message_offset == first.message_offset
                        ):
                            self.first_unstable = first
                return first
        metadata = self.high_watermark_metadata
        if metadata.message_offset_only:
            metadata = self._local.position_of(metadata.message_offset)
            with self._local.lock:
                if self.high_watermark == metadata.message_offset:
                    self.set_high_watermark(metadata)
        return metadata

    def maybe_increment_high_watermark(self, new: LogOffsetMetadata) -> LogOffsetMetadata | None:
        """Move a leader's high watermark up to `new` if that is higher (or as high on a newer segment).

        Return the previous high watermark, or None if it has not moved. `ValueError` above the log end.
        """
        if new.message_offset > self._local.log_end_offset:
            raise ValueError(
                f"High watermark {new} update exceeds current log end offset {self._local.log_end_offset_metadata}"
            )
        with self._local.lock:
            old = self.high_watermark_metadata
            if old.message_offset < new.message_offset or (
                old.message_offset == new.message_offset and old.on_older_segment(new)
            ):
                self.set_high_watermark(new)
                return old
        return None

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark (at start, or as a follower), limited to [log start, log end]; return the result."""
        with self._local.lock:
            if offset >= self._local.log_end_offset:
                self.set_high_watermark(self._local.log_end_offset_metadata)
            else:
                self.set_high_watermark(LogOffsetMetadata(max(offset, self.log_start_offset)))
            return self.high_watermark

    def maybe_update_high_watermark(self, offset: int) -> int | None:
        """Set a follower's high watermark from the leader's; return the new one if it changed."""
        before = self.high_watermark
        if offset == before:
            return None
        after = self.update_high_watermark(offset)
        return after if after != before else None

    def set_high_watermark(self, metadata: LogOffsetMetadata) -> None:
        if metadata.message_offset < 0:
            raise ValueError("High watermark offset should be non-negative")
        if metadata.message_offset < self.high_watermark:
            logger.warning(
                "[%s] Non-monotonic update of high watermark from %d to %s",
                self._local.name,
                self.high_watermark,
                metadata,
            )
        self.high_watermark_metadata = metadata
        self.high_watermark = metadata.message_offset
        producers = self._producers
        if producers.unreplicated_txns:
            producers.on_high_watermark_updated(metadata.message_offset)
        if self.first_unstable is not None:
            self.update_first_unstable_offset()

    def high_watermark_follows_end(self) -> None:
        """Adjust the high watermark after truncation, or when the end has another position after a roll."""
        if self.high_watermark >= self._local.log_end_offset:
            self.set_high_watermark(self._local.log_end_offset_metadata)

    def update_first_unstable_offset(self) -> None:
        first = self._producers.first_unstable_offset()
        if first is not None and (first.message_offset_only or first.message_offset < self.log_start_offset):
            offset = max(first.message_offset, self.log_start_offset)
            try:
                first = self._local.position_of(offset)
            except KafkaError:
                first = LogOffsetMetadata(offset)
        self.first_unstable = first

    def after_truncation(self, log_start_offset: int) -> None:
        """Adjust the bounds after the end, and the producers with it, have moved back."""
        self.log_start_offset = log_start_offset
        self.high_watermark_follows_end()
        self.update_first_unstable_offset()

    def restart(self, log_start_offset: int) -> None:
        """Adjust the bounds of an empty log with a new end: nothing in it is undecided."""
        self.log_start_offset = log_start_offset
        self.set_high_watermark(self._local.log_end_offset_metadata)
        self.update_first_unstable_offset()

    # -- log start

    def set_log_start_offset(self, offset: int) -> None:
        """Set the log start; everything below is neither undecided nor needs recovery."""
        self.log_start_offset = offset
        if self.high_watermark < offset:
            self.update_high_watermark(offset)
        if self._local.recovery_point < offset:
            self._local.recovery_point = offset
