"""The directories of log.dirs: creates, checks and locks them (part of Kafka's `LogManager`)."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Sequence

from kafkapy.log.files.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    CleanShutdownFile,
    OffsetCheckpointFile,
)
from kafkapy.log.files.log_files import delete_if_exists, fsync_dir
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.LogManager")

LOCK_FILE = ".lock"

_locked_here: set[str] = set()
_locked_here_guard = threading.Lock()


class LogDirError(Exception):
    """The broker cannot start with these directories; the message says which one and why."""


class DirLock:
    """The lock file of a log dir.

    Invariant: between `acquire` and `release` no other process that uses the same fcntl lock (as Apache's brokers do)
    holds it, and no other `DirLock` of this process. `release` deletes the file; it remains after a crash.
    """

    def __init__(self, directory: str) -> None:
        self._path = os.path.realpath(f"{directory}/{LOCK_FILE}")
        self._directory = directory
        self._fd: int | None = None

    def acquire(self) -> None:
        """Raise `LogDirError` if another broker holds the lock, or `OSError`."""
        with _locked_here_guard:
            if self._path in _locked_here:
                raise self._in_use()
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(fd)
                raise self._in_use() from None
            self._fd = fd
            _locked_here.add(self._path)

    def release(self) -> None:
        with _locked_here_guard:
            if self._fd is not None:
                try:
                    delete_if_exists(self._path)
                except OSError as error:
                    logger.warning("Could not remove %s: %s", self._path, error)
                os.close(self._fd)
                self._fd = None
                _locked_here.discard(self._path)

    def _in_use(self) -> LogDirError:
        return LogDirError(
            f"Failed to acquire lock on file {LOCK_FILE} in {self._directory}. "
            "A Kafka instance in another process or thread is using this directory."
        )


class LogDir:
    """One directory of log.dirs: its lock and its checkpoint files."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock = DirLock(path)
        self.recovery_points = OffsetCheckpointFile(f"{path}/{RECOVERY_POINT_CHECKPOINT}")
        self.log_start_offsets = OffsetCheckpointFile(f"{path}/{LOG_START_OFFSET_CHECKPOINT}")
        self.clean_shutdown_file = CleanShutdownFile(path)
        self.had_clean_shutdown = False
        """Whether the previous broker closed it cleanly."""
        self.load_completed = False
        """Whether every log in it was loaded (and recovered): only then a clean shutdown may be marked."""

    def create_and_validate(self) -> None:
        """Create the directory if it does not exist. Raises `OSError`."""
        if not os.path.exists(self.path):
            logger.info("Log directory %s not found, creating it.", self.path)
            os.makedirs(self.path)
            fsync_dir(os.path.dirname(self.path))
        if not os.path.isdir(self.path) or not os.access(self.path, os.R_OK | os.X_OK):
            raise OSError(f"{self.path} is not a readable log directory.")


class LogDirs:
    """All directories of log.dirs.

    Invariant: the live ones are locked; a dir that was taken offline remains so until the next start.
    """

    def __init__(self, directories: Sequence[str]) -> None:
        """Creates, checks and locks the dirs. `LogDirError` if none is usable, two are the same, or a broker uses one."""
        self._paths = [os.path.abspath(directory) for directory in directories]
        self._live: dict[str, LogDir] = {}
        if len({os.path.realpath(path) for path in self._paths}) < len(self._paths):
            raise LogDirError(f"Duplicate log directory found: {', '.join(directories)}")
        try:
            for path in self._paths:
                self._open(LogDir(path))
        except LogDirError:
            self.release()
            raise
        if not self._live:
            raise LogDirError(
                f"None of the specified log dirs from {', '.join(self._paths)} can be created or validated"
            )

    def _open(self, log_dir: LogDir) -> None:
        try:
            log_dir.create_and_validate()
            log_dir.lock.acquire()
        except OSError as error:
            logger.error("Failed to create or validate data directory %s: %s", log_dir.path, error)
        else:
            self._live[log_dir.path] = log_dir

    def live(self) -> list[LogDir]:
        return list(self._live.values())

    def get(self, path: str) -> LogDir | None:
        """Return the live dir with this absolute path."""
        return self._live.get(path)

    def __contains__(self, path: str) -> bool:
        return path in self._live

    @property
    def live_paths(self) -> list[str]:
        return list(self._live)

    @property
    def offline_paths(self) -> list[str]:
        return [path for path in self._paths if path not in self._live]

    def is_online(self, directory: str) -> bool:
        """Return whether a dir is live. `KafkaError` LOG_DIR_NOT_FOUND if log.dirs does not contain it."""
        path = os.path.abspath(directory)
        if path not in self._paths:
            raise KafkaError(Errors.LOG_DIR_NOT_FOUND, f"Log dir {path} is not found in the config.")
        return path in self._live

    def take_offline(self, path: str) -> LogDir | None:
        """Return the dir if it was live; the caller releases its lock."""
        return self._live.pop(path, None)

    def release(self) -> None:
        """Unlock all live dirs."""
        for log_dir in self.live():
            log_dir.lock.release()
