"""Flushes of a log (the `flush` part of Kafka's `UnifiedLog`)."""

from __future__ import annotations

from kafkapy.log.files.log_files import fsync_file
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.local_log import LocalLog


class LogFlusher:
    """Flushes a log, and moves its recovery point.

    Invariant: epochs and segments below an offset are on the disk before the recovery point moves there. The methods
    block on the disk, and are called without the log's lock: they hold it only while writing, not while syncing.
    """

    def __init__(self, local: LocalLog, epochs: LeaderEpochCache) -> None:
        self._local = local
        self._epochs = epochs

    def flush(self, offset: int, including: bool = False) -> None:
        """Fsync everything below `offset`, the new recovery point; `including`: also a segment that begins there.

        `KafkaError` KAFKA_STORAGE_ERROR.
        """
        local = self._local
        if local.closed or offset + including <= local.recovery_point:
            return
        with local.io(f"flushing up to {offset}"):
            while True:
                directory = local.directory
                self.sync_epochs()
                local.flush(offset + including)
                with local.lock:
                    if directory == local.directory:  # otherwise it was renamed, and files may not have been found
                        local.mark_flushed(min(offset, local.log_end_offset))
                        return

    def flush_later(self, offset: int, snapshot: str | None) -> None:
        """Flush the producer snapshot, then everything below `offset`, in a background thread after a roll."""

        def flush_old_segment() -> None:
            with self._local.io("flushing a producer snapshot"):
                if snapshot is not None:
                    fsync_file(snapshot)
            self.flush(offset)

        self._local.scheduler.schedule_in_thread("flush-log", flush_old_segment)

    def sync_epochs(self) -> bool:
        """Make the leader epoch checkpoint durable. It is written under the lock, as are all files of the directory.
        Raises `OSError`.

        Return False if there was nothing to do.
        """
        with self._local.lock:
            if self._local.closed:
                return False
            self._epochs.write_out()
        return self._epochs.sync()
