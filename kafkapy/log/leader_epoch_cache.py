"""The start offset of each leader epoch in a log (Kafka's `LeaderEpochFileCache`, KIP-101 and KIP-279)."""

from __future__ import annotations

import logging
import threading
from bisect import bisect_right
from typing import Final, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import LeaderEpochCheckpointFile
from kafkapy.log.files.log_files import delete_if_exists, fsync_dir, fsync_file

logger = logging.getLogger("kafkapy.log.LeaderEpochCache")

UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochCache:
    """The list of (epoch, first offset of that epoch), backed by the file leader-epoch-checkpoint.

    Invariant: epochs and start offsets are both strictly increasing. An entry is in the file (in the page cache) before
    any batch of its epoch is in the log; until then it may be in memory only (`is_unwritten`). `sync` makes it durable.
    The log calls `sync` before its recovery point moves, and reads every batch after the recovery point again after a
    crash, so no epoch is lost. Entries that a truncation removed may reappear with a stale file: loading the log
    truncates again. The file is only written under the log's lock, so that its directory is not renamed meanwhile.
    While the cache is disabled it has no entries and no file, because batches of message formats before v2 have no
    epochs.
    """

    def __init__(
        self,
        partition: TopicPartition,
        checkpoint: LeaderEpochCheckpointFile,
        enabled: bool = True,
        exists: bool = True,
    ) -> None:
        """Reads the file, or deletes it if the cache is disabled; `exists`: whether there may be a file. Raises
        `OSError`.
        """
        self._partition = partition
        self._checkpoint = checkpoint
        self._lock = threading.RLock()
        self._unsynced = False
        self._entries: list[EpochEntry] = []
        self.is_unwritten = False
        """Whether entries are missing in the file: call `write_out` before a batch is appended. Read on the append
        path.
        """
        self.latest_epoch: int | None = None
        """The epoch of the last entry; read on the append path."""
        self._enabled = enabled
        if not exists:
            return
        if not enabled:
            self._delete_file()
            return
        for epoch, start_offset in checkpoint.read():
            self._assign(EpochEntry(epoch, start_offset))

    def set_enabled(self, enabled: bool) -> None:
        """Enable or disable the cache when the message format changes. Raises `OSError`."""
        with self._lock:
            self._enabled = enabled
            if not enabled:
                self.clear()
                self._delete_file()

    def _delete_file(self) -> None:
        if delete_if_exists(self._checkpoint.path):
            logger.warning(
                "[LeaderEpochCache %s] The leader epochs are dropped: the message format of the log has none",
                self._partition,
            )

    def assign(self, epoch: int, start_offset: int) -> None:
        """Set the start of `epoch` to `start_offset` unless it is the latest epoch already. Raises `OSError`.

        Removes contradicting entries (a higher epoch, or a start at or after `start_offset`).
        """
        with self._lock:
            if self._assign(EpochEntry(epoch, start_offset)):
                self._write()

    def announce(self, epoch: int, start_offset: int) -> bool:
        """Assign in memory only, because a new leader has no batch of its epoch yet. Return whether it changed
        anything.
        """
        with self._lock:
            changed = self._assign(EpochEntry(epoch, start_offset))
            self.is_unwritten |= changed
            return changed

    def write_out(self) -> None:
        """Write missing entries to the file, in the page cache. Raises `OSError`."""
        with self._lock:
            if self.is_unwritten:
                self._write()

    def _assign(self, entry: EpochEntry) -> bool:
        if entry.epoch < 0 or entry.start_offset < 0:
            raise ValueError(f"Received invalid partition leader epoch entry {entry}")
        if not self._enabled:
            return False
        entries = self._entries
        if entries and entries[-1].epoch == entry.epoch and entries[-1].start_offset <= entry.start_offset:
            return False
        kept = len(entries)
        while kept and (entries[kept - 1].epoch >= entry.epoch or entries[kept - 1].start_offset >= entry.start_offset):
            kept -= 1
        removed = entries[kept:]
        if len(removed) > 1 or (removed and removed[0].start_offset != entry.start_offset):
            logger.warning(
                "[LeaderEpochCache %s] New epoch entry %s caused truncation of conflicting entries %s",
                self._partition, entry, removed,
            )  # fmt: skip
        self._set([*entries[:kept], entry])
        return True

    def _set(self, entries: list[EpochEntry]) -> None:
        self._entries = entries
        self.latest_epoch = entries[-1].epoch if entries else None

    # -- queries

    @property
    def entries(self) -> list[EpochEntry]:
        return list(self._entries)

    @property
    def earliest_entry(self) -> EpochEntry | None:
        entries = self._entries
        return entries[0] if entries else None

    def end_offset_for(self, requested_epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return (largest epoch <= the requested one, its end offset); (-1, -1) if the requested one is above all known
        epochs.

        The end of an epoch is the start of the next one; that of the latest is the log end. A requested epoch below all
        known ones ends at the start of the first known one.
        """
        entries = self._entries
        if requested_epoch == UNDEFINED_EPOCH or not entries or requested_epoch > entries[-1].epoch:
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        if requested_epoch == entries[-1].epoch:
            return requested_epoch, log_end_offset
        higher = bisect_right(entries, requested_epoch, key=lambda entry: entry.epoch)
        floor_epoch = entries[higher - 1].epoch if higher else requested_epoch
        return floor_epoch, entries[higher].start_offset

    # -- changes

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the entries that start at or after `end_offset`. Raises `OSError`."""
        with self._lock:
            entries = self._entries
            if end_offset >= 0 and entries and entries[-1].start_offset >= end_offset:
                self._set([entry for entry in entries if entry.start_offset < end_offset])
                self._write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove epochs that end before `start_offset`; the epoch that contains it starts there now. Raises `OSError`."""
        with self._lock:
            entries = self._entries
            slot = bisect_right(entries, start_offset, key=lambda entry: entry.start_offset)
            if slot and (slot > 1 or entries[0].start_offset < start_offset):
                self._set([EpochEntry(entries[slot - 1].epoch, start_offset), *entries[slot:]])
                self._write()

    def clear(self) -> None:
        """Remove all entries, but keep the file (it is deleted with its directory)."""
        with self._lock:
            self._set([])
            self.is_unwritten = self._unsynced = False

    def clear_and_flush(self) -> None:
        with self._lock:
            self._set([])
            self._write()

    def move_to(self, checkpoint: LeaderEpochCheckpointFile) -> None:
        """Use another file from now on, because the directory was renamed."""
        with self._lock:
            self._checkpoint = checkpoint
            self._unsynced = True  # a concurrent `sync` may have missed the file

    def sync(self) -> bool:
        """Make written entries durable; return False if they are. May block on the disk, without the log's lock. Raises
        `OSError`.
        """
        with self._lock:
            if not self._unsynced:
                return False
            self._unsynced = False
            path = self._checkpoint.path
        fsync_file(path)
        fsync_dir(path[: path.rindex("/")])
        return True

    def _write(self) -> None:
        if not self._enabled:
            return
        self._checkpoint.write(self._entries, sync=False)
        self.is_unwritten = False
        self._unsynced = True
