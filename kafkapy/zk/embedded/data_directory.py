"""The data directory: read once at the start, then log files and snapshots are created and deleted."""

from __future__ import annotations

import fcntl
import logging
import os
from itertools import pairwise
from pathlib import Path

from kafkapy.zk.embedded.data_tree import DataTree
from kafkapy.zk.embedded.log_files import (
    StorageError,
    TransactionLog,
    TransactionLogFile,
    files_of,
    remove_quietly,
    version_directory,
    zxid_of,
)
from kafkapy.zk.embedded.snapshot_files import TreeCopy, publish, read_snapshot, write_snapshot

log = logging.getLogger("kafkapy.zk.EmbeddedZooKeeper")


class DataDirectory:
    """The directory of one server.

    Invariant: the newest complete snapshot and the later log entries contain all acknowledged transactions. Only one
    process uses it at a time (a lock that ends with the process).
    """

    def __init__(
        self, data_dir: Path, log_dir: Path | None = None, force_sync: bool = True, snapshots_kept: int = 3
    ) -> None:
        """`StorageError` if it is unusable."""
        self.snapshots = version_directory(data_dir)
        self.logs = version_directory(log_dir or data_dir)
        self._snapshots_kept = snapshots_kept
        try:
            self.snapshots.mkdir(parents=True, exist_ok=True)
            self.logs.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.snapshots / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError(f"{error.filename}: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise StorageError(f"{data_dir} is in use by another embedded ZooKeeper: stop that one first") from None
        self.transaction_log = TransactionLog(self.logs, force_sync)

    def load(self, tree: DataTree) -> None:
        """Load the state at the end of the last process. `StorageError` if it is not recoverable."""
        try:
            self._load(tree)
        except OSError as error:
            raise StorageError(f"{error.filename}: {error.strerror}") from None

    def _load(self, tree: DataTree) -> None:
        for unfinished in self.snapshots.glob(".snapshot.*.new"):
            remove_quietly(unfinished)
        snapshots, logs = files_of(self.snapshots, "snapshot"), files_of(self.logs, "log")
        if not snapshots and not logs:
            # ZooKeeper refuses a directory with logs and no snapshot.
            publish(write_snapshot(self.snapshots, TreeCopy(tree)))
            return
        self._load_snapshot(tree, snapshots)
        # The last file that begins at or before the snapshot may have entries after it.
        needed = [path for path in logs if zxid_of(path) > tree.last_zxid]
        before = logs[: len(logs) - len(needed)]
        for path in (*before[-1:], *needed):
            self._replay(tree, TransactionLogFile(path), is_last=path == logs[-1])

    def _load_snapshot(self, tree: DataTree, snapshots: list[Path]) -> None:
        for path in reversed(snapshots):
            try:
                read_snapshot(path, tree)
            except StorageError as error:
                log.warning("%s; the one before it and the log are taken instead", error)
            else:
                tree.last_zxid = zxid_of(path)
                return
        if snapshots:
            raise StorageError(
                f"None of the snapshots in {self.snapshots} can be read: restore one, or begin with an empty directory"
            )

    def _replay(self, tree: DataTree, file: TransactionLogFile, is_last: bool) -> None:
        for header, txn in file.entries():
            if header.zxid <= tree.last_zxid:
                continue
            if header.zxid != tree.last_zxid + 1 and header.zxid >> 32 == tree.last_zxid >> 32:
                raise StorageError(
                    f"{file.path} goes on with zxid 0x{header.zxid:x} after 0x{tree.last_zxid:x}: what stood between is lost. "
                    "Restore the missing log files, or begin with an empty directory."
                )
            tree.apply(header, txn)
        torn = file.torn_bytes
        if torn and not is_last:
            raise StorageError(
                f"{file.path} is damaged at byte {file.valid_size}, and a later log file goes on after it"
            )
        if torn:
            log.warning(
                "%s: the last %d bytes were never answered, a crash has cut them short; they are dropped",
                file.path,
                torn,
            )
        if is_last:
            file.cut()

    def snapshot(self, copy: TreeCopy) -> Path:
        """Write a snapshot, in a thread. The log has been rolled."""
        return write_snapshot(self.snapshots, copy)

    def publish(self, written: Path) -> None:
        """Publish a snapshot, in a thread, when the log is durable up to the snapshot's content. Deletes old files."""
        publish(written)
        snapshots = files_of(self.snapshots, "snapshot")[-self._snapshots_kept :]
        oldest = zxid_of(snapshots[0])
        for path in files_of(self.snapshots, "snapshot"):
            if zxid_of(path) < oldest:
                remove_quietly(path)
        logs = files_of(self.logs, "log")
        for path, following in pairwise(logs):
            if zxid_of(following) <= oldest + 1:
                remove_quietly(path)

    def close(self) -> None:
        self.transaction_log.close()
        os.close(self._lock)
