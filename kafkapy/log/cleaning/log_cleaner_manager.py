"""Chooses the log to clean next and its range, and tracks which partitions may be cleaned (Kafka's
`LogCleanerManager`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, OffsetCheckpointFile
from kafkapy.log.local_log import DirFailureHandler
from kafkapy.log.log import Log
from kafkapy.log.segments.log_segment import total_size

logger = logging.getLogger("kafkapy.log.LogCleaner")


IN_PROGRESS: Literal["in progress"] = "in progress"
ABORTED: Literal["aborted"] = "aborted"
CleaningState = Literal["in progress", "aborted"] | int
"""In progress, being aborted, or the number of pauses. A partition without a state may be cleaned."""


class LogCleaningAbortedError(Exception):
    """The cleaning must stop because the log is to be changed otherwise."""


class LogCleaningError(Exception):
    """A log that cannot be cleaned; the cause is in `__cause__`."""

    def __init__(self, log: Log, message: str) -> None:
        super().__init__(message)
        self.log = log


class OffsetsToClean(NamedTuple):
    """A log is dirty from `first_dirty_offset` on, and may be cleaned below `first_uncleanable_offset`."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    force_update_checkpoint: bool
    """Whether the checkpoint is impossible and must be set to `first_dirty_offset`."""


class LogToClean:
    """A log and the benefit of cleaning it."""

    def __init__(self, log: Log, first_dirty_offset: int, uncleanable_offset: int, compaction_delay_ms: int) -> None:
        self.topic_partition = log.topic_partition
        self.log = log
        self.first_dirty_offset = first_dirty_offset
        self.compaction_delay_ms = compaction_delay_ms
        """How long ago max.compaction.lag.ms expired for the oldest dirty record, in ms; 0 if it has not."""
        uncleanable = log.non_active_segments_from(uncleanable_offset) or [log.active_segment]
        self.first_uncleanable_offset = uncleanable[0].base_offset
        """Whole segments are cleaned: the base offset of the segment that contains `uncleanable_offset`."""
        self.clean_bytes = total_size(log.segments.between(-1, first_dirty_offset))
        dirty_from = min(first_dirty_offset, self.first_uncleanable_offset)
        self.cleanable_bytes = total_size(log.segments.between(dirty_from, self.first_uncleanable_offset))
        self.total_bytes = self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        if self.compaction_delay_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.cleanable_ratio > self.log.config.min_cleanable_dirty_ratio


class LogCleanerManager:
    """The cleaning states of partitions, and the cleaner-offset-checkpoint of each log dir.

    A partition goes from no state to `IN_PROGRESS` and back. If its cleaning is to stop, it goes to `ABORTED`, then to
    paused once (the number 1); from there up and down, and at 0 it has no state.

    Invariant: at most one thread has a partition in progress; no cleaner touches a paused one. One lock covers all
    states, another the checkpoints, which are synced under it; deleting a log takes only the first. No other lock is
    taken while holding either.
    """

    def __init__(
        self,
        log_dirs: Iterable[str],
        logs: Mapping[TopicPartition, Log],
        on_dir_failure: DirFailureHandler,
    ) -> None:
        """`logs`: the live map of all logs."""
        self._logs = logs
        self._on_dir_failure = on_dir_failure
        self._checkpoints = {path: OffsetCheckpointFile(f"{path}/{CLEANER_OFFSET_CHECKPOINT}") for path in log_dirs}
        for path, checkpoint in self._checkpoints.items():
            try:
                checkpoint.create()
            except OSError as error:
                on_dir_failure(path, f"Error while creating {checkpoint.path}", error)
        self._states: dict[TopicPartition, CleaningState] = {}
        self._uncleanable: dict[str, set[TopicPartition]] = {}
        self._lock = threading.RLock()
        self._checkpoint_lock = threading.Lock()
        self._paused = threading.Condition(self._lock)
        self.dirtiest_log_cleanable_ratio = 0.0
        """For the dirtiest log of the last choice; feeds a metric, as do the next three."""
        self.time_of_last_run = 0
        self.max_compaction_delay_ms = 0

    # -- choosing

    def grab_filthiest_compacted_log(self, now_ms: int) -> LogToClean | None:
        """Choose the log to clean and mark it `IN_PROGRESS`; return None if there is none. `LogCleaningError`."""
        self.time_of_last_run = now_ms
        last_clean = self.all_cleaner_checkpoints()
        with self._lock:
            free = [
                log
                for partition, log in list(self._logs.items())
                if log.config.compact and partition not in self._states and not self._is_uncleanable(log)
            ]
        dirty = [one for log in free if (one := self._measure(log, last_clean, now_ms)).total_bytes > 0]
        self.max_compaction_delay_ms = max((one.compaction_delay_ms for one in dirty), default=0)
        self.dirtiest_log_cleanable_ratio = max((one.cleanable_ratio for one in dirty), default=0.0)
        due = sorted((one for one in dirty if one.is_due), key=lambda one: one.cleanable_ratio, reverse=True)
        for one in due:
            partition = one.topic_partition
            with self._lock:
                if partition in self._states or self._logs.get(partition) is not one.log:
                    continue
                self._states[partition] = IN_PROGRESS
            try:
                # It may have been truncated, or cleaned by another thread, since it was measured.
                to_clean = self._measure(one.log, self.all_cleaner_checkpoints(), now_ms)
            except LogCleaningError:
                self.done_deleting([partition])
                raise
            if to_clean.is_due:
                return to_clean
            self.done_deleting([partition])
        return None

    def _measure(self, log: Log, last_clean: Mapping[TopicPartition, int], now_ms: int) -> LogToClean:
        """Compute the benefit of cleaning a log, and correct an impossible checkpoint. `LogCleaningError`."""
        partition = log.topic_partition
        try:
            offsets = cleanable_offsets(log, last_clean.get(partition), now_ms)
            delay = max_compaction_delay(log, offsets.first_dirty_offset, now_ms)
            to_clean = LogToClean(log, offsets.first_dirty_offset, offsets.first_uncleanable_offset, delay)
        except Exception as error:
            message = f"Failed to calculate log cleaning stats for partition {partition}: {error}"
            raise LogCleaningError(log, message) from error
        if offsets.force_update_checkpoint:
            self.update_checkpoints(log.parent_dir, to_update=(partition, offsets.first_dirty_offset))
        return to_clean

    def deletable_logs(self) -> list[Log]:
        """Return the compacted logs without a state, now `IN_PROGRESS`: the cleaner applies retention to them, too."""
        return self._grab(
            lambda partition, log: log.config.compact and not self._is_uncleanable(log), state=IN_PROGRESS
        )

    def pause_cleaning_for_non_compacted_partitions(self) -> list[tuple[TopicPartition, Log]]:
        """Pause and return the logs that are not compacted, so that retention and a change of policy do not overlap."""
        return [(log.topic_partition, log) for log in self._grab(lambda _, log: not log.config.compact, state=1)]

    def _grab(self, wanted: Callable[[TopicPartition, Log], bool], state: CleaningState) -> list[Log]:
        with self._lock:
            found = [
                log
                for partition, log in list(self._logs.items())
                if partition not in self._states and wanted(partition, log)
            ]
            for log in found:
                self._states[log.topic_partition] = state
            return found

    # -- states

    def cleaning_state(self, partition: TopicPartition) -> CleaningState | None:
        with self._lock:
            return self._states.get(partition)

    def abort_cleaning(self, partition: TopicPartition) -> None:
        """Abort the cleaning of a partition, if one is running; return when it has stopped."""
        with self._lock:
            self.abort_and_pause_cleaning(partition)
            self.resume_cleaning([partition])

    def abort_and_pause_cleaning(self, partition: TopicPartition) -> None:
        """Abort as `abort_cleaning`, and prevent cleanings until `resume_cleaning` has been called once for each call.

        The cleaner checks the state every few milliseconds. `ValueError` if another thread is aborting it at the
        moment.
        """
        with self._lock:
            state = self._states.get(partition)
            if state is None:
                self._states[partition] = 1
            elif isinstance(state, int):
                self._states[partition] = state + 1
            elif state == IN_PROGRESS:
                self._states[partition] = ABORTED
            else:
                raise ValueError(f"Compaction for partition {partition} cannot be aborted and paused: it is {state}")
            while not isinstance(self._states.get(partition), int):
                self._paused.wait(0.1)

    def resume_cleaning(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove one pause from each partition. `ValueError` if one is not paused."""
        with self._lock:
            for partition in partitions:
                state = self._states.get(partition)
                if not isinstance(state, int):
                    raise ValueError(
                        f"Compaction for partition {partition} cannot be resumed: it is not paused ({state})"
                    )
                if state > 1:
                    self._states[partition] = state - 1
                else:
                    del self._states[partition]

    def check_cleaning_aborted(self, partition: TopicPartition) -> None:
        """Raise `LogCleaningAbortedError` if the cleaning must stop."""
        if self._states.get(partition) == ABORTED:
            raise LogCleaningAbortedError

    def done_cleaning(self, log: Log, end_offset: int) -> None:
        """End a cleaning: write the checkpoint, unless it was aborted."""
        partition = log.topic_partition
        with self._lock:
            finished = self._states.get(partition) == IN_PROGRESS
        if finished:
            self.update_checkpoints(log.parent_dir, to_update=(partition, end_offset))
        self.done_deleting([partition])

    def done_deleting(self, partitions: Iterable[TopicPartition]) -> None:
        """End the state of partitions that were in progress. `ValueError` if one was not."""
        with self._lock:
            for partition in partitions:
                state = self._states.get(partition)
                if state == IN_PROGRESS:
                    del self._states[partition]
                elif state == ABORTED:
                    self._states[partition] = 1
                    self._paused.notify_all()
                else:
                    raise ValueError(f"In-progress partition {partition} cannot be in state {state}")

    # -- logs that failed

    def mark_uncleanable(self, log: Log) -> bool:
        """Exclude a log whose cleaning fails repeatedly. Return False if it is no longer a partition's log."""
        with self._lock:
            if self._logs.get(log.topic_partition) is not log:
                return False
            self._mark_uncleanable(log.parent_dir, log.topic_partition)
            return True

    def _mark_uncleanable(self, directory: str, partition: TopicPartition) -> None:
        self._uncleanable.setdefault(directory, set()).add(partition)

    def uncleanable_partitions(self, directory: str) -> set[TopicPartition]:
        with self._lock:
            return set(self._uncleanable.get(directory, ()))

    def uncleanable_count(self, directory: str) -> int:
        """Return the number of uncleanable logs in a dir."""
        return len(self._uncleanable.get(directory, ()))

    def maintain_uncleanable_partitions(self) -> None:
        """Remove deleted logs."""
        with self._lock:
            for directory, partitions in list(self._uncleanable.items()):
                partitions.intersection_update(self._logs)
                if not partitions:
                    del self._uncleanable[directory]

    def _is_uncleanable(self, log: Log) -> bool:
        return log.topic_partition in self._uncleanable.get(log.parent_dir, ())

    # -- checkpoints

    def all_cleaner_checkpoints(self) -> dict[TopicPartition, int]:
        """Return the first dirty offsets of all dirs."""
        with self._checkpoint_lock:
            offsets: dict[TopicPartition, int] = {}
            for directory, checkpoint in self._checkpoints.items():
                try:
                    offsets.update(checkpoint.read())
                except OSError as error:
                    logger.error("Failed to access checkpoint file %s in dir %s: %s", checkpoint.path, directory, error)
            return offsets

    def update_checkpoints(
        self,
        directory: str,
        partitions_to_remove: Collection[TopicPartition] = (),
        to_update: tuple[TopicPartition, int] | None = None,
    ) -> None:
        """Write a dir's checkpoint without deleted partitions and `partitions_to_remove`, and with `to_update`."""

        def change(offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
            kept = {p: offset for p, offset in offsets.items() if p in self._logs and p not in partitions_to_remove}
            if to_update is not None:
                kept[to_update[0]] = to_update[1]
            return kept

        self._change_checkpoint(directory, change)

    def maybe_truncate_checkpoint(self, directory: str, partition: TopicPartition, offset: int) -> None:
        """Limit the clean part of a log after truncation to `offset`."""
        log = self._logs.get(partition)
        if log is not None and log.config.compact:
            self._change_checkpoint(
                directory,
                lambda offsets: {**offsets, partition: offset} if offsets.get(partition, 0) > offset else None,
            )

    def alter_checkpoint_dir(self, partition: TopicPartition, source: str, destination: str) -> None:
        """Move a log's checkpoint entry from one dir to another."""
        with self._checkpoint_lock:
            try:
                checkpoint = self._checkpoints.get(source)
                offset = checkpoint.read().get(partition) if checkpoint is not None else None
            except OSError as error:
                logger.error("Failed to access checkpoint file in dir %s: %s", source, error)
                offset = None
        with self._lock:
            if partition in self._uncleanable.get(source, ()):
                self._uncleanable[source].remove(partition)
                self._mark_uncleanable(destination, partition)
        if offset is not None:
            self.update_checkpoints(source, partitions_to_remove=[partition])
            self.update_checkpoints(destination, to_update=(partition, offset))

    def handle_log_dir_failure(self, directory: str) -> None:
        """Ignore a dir that is offline."""
        logger.warning("Stopping cleaning logs in dir %s", directory)
        with self._checkpoint_lock:
            self._checkpoints = {path: file for path, file in self._checkpoints.items() if path != directory}

    def _change_checkpoint(
        self,
        directory: str,
        change: Callable[[dict[TopicPartition, int]], dict[TopicPartition, int] | None],
    ) -> None:
        with self._checkpoint_lock:
            checkpoint = self._checkpoints.get(directory)
            if checkpoint is None:
                return
            failure = None
            try:
                changed = change(checkpoint.read())
                if changed is not None:
                    checkpoint.write(changed)
            except OSError as error:
                failure = error
        if failure is not None:  # without the lock: the handler closes logs
            self._on_dir_failure(directory, f"Failed to access checkpoint file {checkpoint.path}", failure)


def cleanable_offsets(log: Log, last_clean_offset: int | None, now_ms: int) -> OffsetsToClean:
    """Return the range of a log that may be cleaned. `last_clean_offset`: from the checkpoint, None if it has none.
    `OSError`.

    The range ends at the last stable offset, at the active segment, and at the first segment with a record that is
    younger than min.compaction.lag.ms.
    """
    start = log.log_start_offset
    first_dirty = start if last_clean_offset is None else last_clean_offset
    force_update = False
    if first_dirty < start:
        if not log.config.delete:  # with retention, this is normal
            logger.warning(
                "Resetting first dirty offset of %s to log start offset %d since the checkpointed offset %d is invalid.",
                log.name, start, first_dirty,
            )  # fmt: skip
        first_dirty, force_update = start, True
    elif first_dirty > log.log_end_offset:
        logger.warning(
            "The last checkpoint dirty offset for partition %s is %d, which is larger than the log end offset %d. "
            "Resetting to the log start offset %d.",
            log.name, first_dirty, log.log_end_offset, start,
        )  # fmt: skip
        first_dirty, force_update = start, True

    uncleanable = min(log.last_stable_offset, log.active_segment.base_offset)
    min_lag = log.config.min_compaction_lag_ms
    if min_lag > 0:
        for segment in log.non_active_segments_from(first_dirty):
            if segment.largest_timestamp > now_ms - min_lag:
                uncleanable = min(uncleanable, segment.base_offset)
                break
    return OffsetsToClean(first_dirty, max(first_dirty, uncleanable), force_update)


def max_compaction_delay(log: Log, first_dirty_offset: int, now_ms: int) -> int:
    """Return how long, in ms, the oldest dirty record has waited beyond max.compaction.lag.ms; 0 if none has.
    `OSError`.
    """
    clean_until = now_ms - log.config.max_compaction_lag_ms
    if clean_until <= 0:
        return 0
    timestamps = [segment.first_batch_timestamp for segment in log.non_active_segments_from(first_dirty_offset)]
    earliest = min((timestamp for timestamp in timestamps if timestamp > 0), default=MAX_LONG)
    return max(0, clean_until - earliest)
