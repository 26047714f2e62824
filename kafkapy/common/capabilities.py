"""Optional features of the operating system, detected at import. Each has a portable fallback (docs/platforms.md)."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Any, Final

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

RUN_QUEUE_FILE: Final = "/proc/thread-self/schedstat"
"""For the thread that opens it: nanoseconds on a core, nanoseconds in the run queue, number of time slices."""

EPOLL: Final = hasattr(select, "epoll")
NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
"""The flag of `preadv` for reads that never wait for a disk; 0 if there is none."""
SENDFILE: Final = hasattr(os, "sendfile")
FADVISE: Final = hasattr(os, "posix_fadvise")
FALLOCATE: Final = hasattr(os, "posix_fallocate")
FDATASYNC: Final = hasattr(os, "fdatasync")
FULL_SYNC: Final[int] = getattr(fcntl, "F_FULLFSYNC", 0)
"""macOS's `fcntl` command for what `fsync` does elsewhere: its `fsync` leaves data in the drive's cache."""
SYNCFS: Final = sys.platform == "linux"
"""Whether all files of a file system can be synced by one call."""
PIDFD: Final = hasattr(os, "pidfd_open")
RUN_QUEUE_TIMES: Final = os.path.exists(RUN_QUEUE_FILE)

STOP_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
"""Signals that stop a server gracefully. Windows has no SIGHUP."""

SERVERS: Final = fcntl is not None and hasattr(os, "pread")
"""Whether a broker can run on this system."""


class UnsupportedSystem(Exception):
    """A program cannot run on this operating system; the message names the alternative."""


def require_server_support(what: str) -> None:
    """Raise `UnsupportedSystem` if no broker can run here. `what`: the program's name, for the message."""
    if not SERVERS:
        raise UnsupportedSystem(
            f"{what} does not run on Windows. Run it in WSL (Windows Subsystem for Linux) or in a container; "
            "kafkapy's clients and tools on Windows reach it there by its address"
        )


def summary(poller: str) -> str:
    """Describe the system for the log. `poller`: how the reactor waits for events."""
    offered = {
        "reads from memory only (RWF_NOWAIT)": NOWAIT,
        "sendfile": SENDFILE,
        "posix_fadvise": FADVISE,
        "fdatasync": FDATASYNC,
        "pidfd": PIDFD,
        "run queue times (schedstat)": RUN_QUEUE_TIMES,
    }
    there = [poller, *(name for name, is_there in offered.items() if is_there), *["F_FULLFSYNC"] * bool(FULL_SYNC)]
    missing = [name for name, is_there in offered.items() if not is_there]
    return f"Of the system it uses {', '.join(there)}" + (f"; it lacks {', '.join(missing)}" if missing else "")


# --- durable files


def sync(fd: int) -> None:
    """Make a file's bytes, or a directory's names, durable. Raises `OSError`."""
    if FULL_SYNC:
        try:
            fcntl.fcntl(fd, FULL_SYNC)
            return
        except OSError:
            pass  # not every file system supports it
    os.fsync(fd)


def sync_data(fd: int) -> None:
    """Make a file's bytes durable, without metadata that reading does not need, such as its times. Raises `OSError`."""
    if FDATASYNC:
        os.fdatasync(fd)
    else:
        sync(fd)


def reserve(fd: int, size: int) -> None:
    """Give a new file this size, with its disk blocks reserved where the system can. Raises `OSError`."""
    if FALLOCATE:
        os.posix_fallocate(fd, 0, size)
    else:
        os.ftruncate(fd, size)
