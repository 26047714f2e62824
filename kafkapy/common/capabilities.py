"""What this operating system offers beside what every one has: looked for once, at import. Each has something plainer in its
place (docs/platforms.md)."""

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
"""Of the thread that opens it: nanoseconds on a core, nanoseconds in the run queue, and how often it got a core."""

EPOLL: Final = hasattr(select, "epoll")
NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
"""The flag of `preadv` for reads that never wait for a disk; 0: there are no such reads."""
SENDFILE: Final = hasattr(os, "sendfile")
FADVISE: Final = hasattr(os, "posix_fadvise")
FALLOCATE: Final = hasattr(os, "posix_fallocate")
FDATASYNC: Final = hasattr(os, "fdatasync")
FULL_SYNC: Final[int] = getattr(fcntl, "F_FULLFSYNC", 0)
"""macOS's call of `fcntl` for what `fsync` does elsewhere: there `fsync` leaves data in the drive's cache."""
SYNCFS: Final = sys.platform == "linux"
"""Can all files of a file system be made durable in one call?"""
PIDFD: Final = hasattr(os, "pidfd_open")
RUN_QUEUE_TIMES: Final = os.path.exists(RUN_QUEUE_FILE)

STOP_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
"""What ends a server in good order. Windows has no SIGHUP."""

SERVERS: Final = fcntl is not None and hasattr(os, "pread")
"""Can a broker run here?"""


class UnsupportedSystem(Exception):
    """Something can't run on this operating system; the sentence says what serves instead."""


def need_servers(what: str) -> None:
    """Raises `UnsupportedSystem` where no broker can run. `what` begins the sentence."""
    if not SERVERS:
        raise UnsupportedSystem(
            f"{what} does not run on Windows. Run it in WSL (Windows Subsystem for Linux) or in a container; "
            "kafkapy's clients and tools on Windows reach it there by its address"
        )


def summary(poller: str) -> str:
    """For the log. `poller`: what the reactor waits for events with."""
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
    """Make the bytes of a file, or the names in a directory, durable. Raises `OSError`."""
    if FULL_SYNC:
        try:
            fcntl.fcntl(fd, FULL_SYNC)
            return
        except OSError:
            pass  # not every file system has it
    os.fsync(fd)


def sync_data(fd: int) -> None:
    """The same without what is not needed to read the bytes, such as the file's times."""
    if FDATASYNC:
        os.fdatasync(fd)
    else:
        sync(fd)


def reserve(fd: int, size: int) -> None:
    """Make a new file so large; where the system can, its blocks are reserved on the disk. Raises `OSError`."""
    if FALLOCATE:
        os.posix_fallocate(fd, 0, size)
    else:
        os.ftruncate(fd, size)
