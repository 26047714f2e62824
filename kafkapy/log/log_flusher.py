"""Makes a log durable (the `flush` part of Kafka's `UnifiedLog`)."""

from __future__ import annotations

from kafkapy.log.files.log_files import fsync_file
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.local_log import LocalLog


class LogFlusher:
    """Moves the recovery point of a log.

    Invariant: epochs and segments below an offset are on the disk before the recovery point moves there. Its methods block on the
    disk, and are called without the log's lock: it is held only while something is written, not while that is synced.
    """

    def __init__(self, local: LocalLog, epochs: LeaderEpochCache) -> None:
        self._local = local
        self._epochs = epochs

    def flush(self, offset: int, including: bool = False) -> None:
        """Fsync everything below `offset`, the new recovery point; `including`: a segment that begins there, too.

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
                    if directory == local.directory:  # else it was renamed, and files may not have been found
                        local.mark_flushed(min(offset, local.log_end_offset))
                        return

    def flush_later(self, offset: int, snapshot: str | None) -> None:
        """In the background, after a roll: the producers' snapshot, then everything below `offset`."""

        def flush_old_segment() -> None:
            with self._local.io("flushing a producer snapshot"):
                if snapshot is not None:
                    fsync_file(snapshot)
            self.flush(offset)

        self._local.scheduler.schedule_in_thread("flush-log", flush_old_segment)

    def sync_epochs(self) -> bool:
        """Make the leader epoch checkpoint durable: written under the lock, as all in the directory is. Raises `OSError`.

        False if there was nothing to do.
        """
        with self._local.lock:
            if self._local.closed:
                return False
            self._epochs.write_out()
        return self._epochs.sync()
