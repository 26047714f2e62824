"""Periodic tasks over all logs: retention, flushes, checkpoints (part of Kafka's `LogManager`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import OffsetCheckpointFile
from kafkapy.log.local_log import DirFailureHandler
from kafkapy.log.log import Log
from kafkapy.log.manager.log_dirs import LogDir, LogDirs
from kafkapy.log.manager.log_manager_config import NEVER, LogCleaning, LogManagerConfig

logger = logging.getLogger("kafkapy.log.LogManager")


@dataclass(eq=False)
class LogMaintenance:
    """The periodic tasks over the manager's logs; all may block, and run in background threads.

    Invariant: `_logs` and `_future_logs` are the manager's own maps, which each task copies. A failure of one log does
    not stop a task for others; a checkpoint that cannot be written takes its dir offline. Checkpoints are written one
    at a time.
    """

    _dirs: LogDirs
    _logs: Mapping[TopicPartition, Log]
    _future_logs: Mapping[TopicPartition, Log]
    _cleaner: LogCleaning | None
    _time: Time
    _on_dir_failure: DirFailureHandler
    _checkpoint_lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def start(self, scheduler: Scheduler, config: LogManagerConfig) -> None:
        """Schedule all tasks."""
        delay = config.initial_task_delay_ms
        expiry = config.producer_id_expiration_check_interval_ms
        for name, task, first, period in (
            ("kafka-log-retention", self.cleanup_logs, delay, config.retention_check_ms),
            ("kafka-log-flusher", self.flush_dirty_logs, delay, config.flush_check_ms),
            ("kafka-recovery-point-checkpoint", self.checkpoint_recovery_points, delay,
             config.flush_recovery_offset_checkpoint_ms),
            ("kafka-log-start-offset-checkpoint", self.checkpoint_log_start_offsets, delay,
             config.flush_start_offset_checkpoint_ms),
            ("PeriodicProducerExpirationCheck", self.remove_expired_producers, expiry, expiry),
        ):  # fmt: skip
            if period != NEVER:
                scheduler.schedule_in_thread(name, task, first, period)

    # -- checkpoints

    def checkpoint_recovery_points(self, directories: Iterable[str] | None = None, sync: bool = True) -> None:
        """Write recovery-point-offset-checkpoint of these dirs (None: all)."""
        for log_dir in self._of(directories):
            offsets = {log.topic_partition: log.recovery_point for log in self._logs_in(log_dir)}
            self._write(log_dir, log_dir.recovery_points, offsets, sync)

    def checkpoint_log_start_offsets(self, directories: Iterable[str] | None = None, sync: bool = True) -> None:
        """Write log-start-offset-checkpoint of these dirs (None: all), for logs whose start differs from their first
        segment's.
        """
        for log_dir in self._of(directories):
            offsets = {
                log.topic_partition: log.log_start_offset
                for log in self._logs_in(log_dir)
                if log.log_start_offset > log.segments.first.base_offset
            }
            self._write(log_dir, log_dir.log_start_offsets, offsets, sync)

    def checkpoint(self, log_dir: LogDir) -> None:
        """Write both checkpoints of one dir."""
        self.checkpoint_recovery_points([log_dir.path])
        self.checkpoint_log_start_offsets([log_dir.path])

    def checkpoint_all(self, sync: bool = True) -> None:
        """Write all checkpoints. Without `sync` they survive a crash of the process, but not of the machine."""
        self.checkpoint_recovery_points(sync=sync)
        self.checkpoint_log_start_offsets(sync=sync)

    def _of(self, directories: Iterable[str] | None) -> list[LogDir]:
        if directories is None:
            return self._dirs.live()
        return [log_dir for path in directories if (log_dir := self._dirs.get(path)) is not None]

    def _logs_in(self, log_dir: LogDir) -> list[Log]:
        return [log for log in self._all() if log.parent_dir == log_dir.path]

    def _all(self) -> list[Log]:
        return [*self._logs.values(), *self._future_logs.values()]

    def _write(
        self, log_dir: LogDir, file: OffsetCheckpointFile, offsets: dict[TopicPartition, int], sync: bool
    ) -> None:
        try:
            with self._checkpoint_lock:
                file.write(offsets, sync)
        except OSError as error:
            self._on_dir_failure(log_dir.path, f"Disk error while writing {file.path}", error)

    # -- retention, flushes, producers

    def cleanup_logs(self) -> None:
        """Apply retention: delete old segments of logs that are not compacted (the cleaner does it for the others)."""
        if self._cleaner is not None:
            deletable = self._cleaner.pause_cleaning_for_non_compacted_partitions()
        else:
            deletable = [(log.topic_partition, log) for log in list(self._logs.values()) if not log.config.compact]
        try:
            for partition, log in deletable:
                self._quietly("deleting old segments", log, log.delete_old_segments)
                future_log = self._future_logs.get(partition)
                if future_log is not None:
                    self._quietly("deleting old segments", future_log, future_log.delete_old_segments)
        finally:
            if self._cleaner is not None:
                self._cleaner.resume_cleaning([partition for partition, _ in deletable])

    def flush_dirty_logs(self) -> None:
        """Apply flush.ms: fsync the logs whose last flush is older."""
        now = self._time.milliseconds()
        for log in self._all():
            if now - log.last_flush_ms >= log.config.flush_ms:
                self._quietly("flushing", log, log.flush)

    def remove_expired_producers(self) -> None:
        """Apply producer.id.expiration.ms: remove idle producers."""
        now = self._time.milliseconds()
        for log in list(self._logs.values()):
            log.remove_expired_producers(now)

    def _quietly(self, doing: str, log: Log, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:
            logger.exception("Error while %s of %s", doing, log.topic_partition)
