"""Moves one replica to another log dir of its broker (part of Kafka's `ReplicaAlterLogDirsThread`)."""

from __future__ import annotations

import logging

from kafkapy.cluster.partition import Partition
from kafkapy.cluster.replica import Replica
from kafkapy.log.log import Log
from kafkapy.log.log_types import FetchIsolation, LogOffsetMetadata, UnexpectedAppendOffsetError
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.replication.replica_truncation import truncation_point

log = logging.getLogger("kafkapy.server.ReplicaAlterLogDirsManager")


class LogDirMove:
    """The future log replicates the current one, as a follower replicates its leader.

    Invariants: while `_truncations` equals the current log's, the future log is a prefix of it (from the later of
    their log starts on). Only `step`, in one thread at a time, and `maybe_replace`, on the reactor between steps,
    append to the future log; while `maybe_replace` runs, the current log gets appends from threads only.
    """

    def __init__(self, partition: Partition, current: Log, future: Log, log_manager: LogManager) -> None:
        self.partition = partition
        self.cancelled = False
        self._current = current
        self._future = future
        self._log_manager = log_manager
        self._cleaning_paused = False
        self._truncations: int | None = None

    # --- in a background thread

    def step(self, max_bytes: int) -> int:
        """Copy one chunk and return its size; 0 if nothing is left to copy. `KafkaError` as from reads and appends."""
        cleaner = self._log_manager.cleaner
        if cleaner is not None and not self._cleaning_paused:
            cleaner.abort_and_pause_cleaning(self.partition.topic_partition)
            self._cleaning_paused = True
        truncations = self._current.truncations
        if truncations != self._truncations:
            self._cut()
            self._truncations = truncations
        return self._copy(max_bytes)

    def end_copy(self) -> None:
        """End the copying, and allow the cleaner to clean the log again."""
        if self._cleaning_paused and self._log_manager.cleaner is not None:
            self._cleaning_paused = False
            self._log_manager.cleaner.resume_cleaning([self.partition.topic_partition])

    def _cut(self) -> None:
        """Truncate the future log to the offset up to which it agrees with the current one."""
        current, future = self._current, self._future
        agree = False
        while not agree:
            fallback, epoch = future.high_watermark, future.latest_epoch
            if epoch is None:
                offset, agree = fallback, True
            else:
                own, end = self.partition.end_offset_for_epoch(epoch) or (-1, -1)
                offset, agree = truncation_point(future, fallback, own, end)
            future.truncate_to(min(offset, current.log_end_offset))

    def _copy(self, max_bytes: int) -> int:
        current, future = self._current, self._future
        if future.log_end_offset < current.log_start_offset:
            future.truncate_fully_and_start_at(current.log_start_offset)
        found = current.read(future.log_end_offset, max_bytes, FetchIsolation.LOG_END, True).records
        records = memoryview(found if isinstance(found, bytes) else found.read())
        size = 0
        if records:
            try:
                info = future.append_as_follower(records)
            except UnexpectedAppendOffsetError as error:
                end = future.log_end_offset
                if end != future.log_start_offset or not error.first_offset < end <= error.last_offset:
                    raise
                # The log start lies within a batch (DeleteRecords): the future log must begin with that batch.
                future.truncate_fully_and_start_at(error.first_offset, end)
                info = future.append_as_follower(records)
            size = info.valid_bytes
            if info.flush_due:
                future.flush()
        future.maybe_update_high_watermark(current.high_watermark)
        start = min(current.log_start_offset, future.high_watermark)
        if start > future.log_start_offset:
            future.maybe_increment_log_start_offset(start, "leader offset increment")
        return size

    # --- on the reactor

    def maybe_replace(self, max_bytes: int) -> bool:
        """If little is left to copy, copy it and replace the current log by the future one. Return whether it was
        replaced.

        `KafkaError` KAFKA_STORAGE_ERROR; if `partition.log` is the future log then, only the old log's directory has failed.
        """
        partition, current, future = self.partition, self._current, self._future
        if self.cancelled or self._truncations != current.truncations or partition.thread_appends:
            return False
        if future.log_end_offset < current.log_end_offset:
            self._copy(max_bytes)
        if future.log_end_offset != current.log_end_offset:
            return False
        name = partition.topic_partition
        try:
            self._log_manager.future.replace_current(name)
        finally:
            if self._log_manager.get_log(name) is future:
                self._take_over()
        return True

    def _take_over(self) -> None:
        partition, future = self.partition, self._future
        partition.log, partition.future_log = future, None
        if partition.is_leader and (future.latest_epoch or 0) < partition.leader_epoch:
            # The leader's epoch may not have any record yet.
            future.maybe_assign_epoch_start_offset(partition.leader_epoch, future.log_end_offset)
        for replica in partition.remote_replicas.values():
            _forget_position(replica)
        log.info("Partition %s: its log is in %s now, and ends at offset %d",
                 partition.topic_partition, future.parent_dir, future.log_end_offset)  # fmt: skip


def _forget_position(replica: Replica) -> None:
    """Clear the replica's position, because the new log has other segments."""
    replica.log_end_offset = LogOffsetMetadata(replica.log_end_offset.message_offset)


def is_gone(error: Exception) -> bool:
    """Return whether a log dir has failed."""
    return isinstance(error, KafkaError) and error.error is Errors.KAFKA_STORAGE_ERROR
