"""A folder for files before their upload, which does not outlive its process for long."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from kafkapy.connect.errors import ConnectException

_PREFIX: Final = "kafkapy-sink-"


class SpoolFolder:
    """A new folder, locked by this process; folders that killed processes have left beside it are removed.

    Invariant: `path` is a folder whose lock is held until `close`, so that others leave it alone.

    Args:
        parent: Where it is made. Default: the system's folder for temporary files.

    Raises:
        ConnectException: It cannot be made.

    Example:
        >>> folder = SpoolFolder()
        >>> Path(folder.path).is_dir()
        True
        >>> folder.close()
        >>> Path(folder.path).exists()
        False
    """

    def __init__(self, parent: str | None = None) -> None:
        place = Path(parent or tempfile.gettempdir())
        try:
            _remove_unlocked(place)
            self.path, self._lock = _make_locked(place)
        except OSError as error:
            raise ConnectException(f"A folder for temporary files cannot be made (spool.dir): {error}") from error

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _make_locked(place: Path) -> tuple[str, int | None]:
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=place)
        try:
            lock = _locked(path)
        except (BlockingIOError, FileNotFoundError):  # another process takes it for one that was left
            continue
        if lock is None or os.path.exists(path):
            return path, lock
        os.close(lock)


def _locked(path: str | Path) -> int | None:
    """Return a descriptor that holds the folder's lock, None where the file system has no locks. Raises BlockingIOError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_unlocked(place: Path) -> None:
    for path in place.glob(f"{_PREFIX}*"):
        try:
            lock = _locked(path)
        except OSError:  # it is in use, of another user, or no folder
            continue
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
