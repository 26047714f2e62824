"""A Python without what other systems lack: LACKING=macos or windows in the environment, and this directory in PYTHONPATH.

Not shown: kqueue, sendfile and F_FULLFSYNC as macOS has them; file locks, sockets and the loop as Windows has them.
"""

from __future__ import annotations

import builtins
import io
import mmap
import os
import select
import sys
from typing import Any

ONLY_LINUX = {
    select: [name for name in dir(select) if name.lower().startswith("epoll")],
    os: [
        *(name for name in dir(os) if name.startswith(("RWF_", "POSIX_FADV_", "EFD_", "eventfd", "sched_"))),
        *("posix_fadvise", "posix_fallocate", "fdatasync", "pidfd_open", "splice", "copy_file_range", "memfd_create"),
    ],
    "socket": ["MSG_MORE", "SOCK_NONBLOCK", "SOCK_CLOEXEC", "TCP_USER_TIMEOUT", "TCP_QUICKACK", "TCP_KEEPIDLE"],
    "resource": ["RUSAGE_THREAD", "prlimit"],
}
NOT_ON_WINDOWS = {
    select: ["poll"],
    os: [
        *("pread", "pwrite", "preadv", "pwritev", "readv", "writev", "sendfile", "fork", "register_at_fork", "killpg"),
        *("getuid", "geteuid", "statvfs", "set_blocking", "O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"),
    ],
    mmap: ["MAP_PRIVATE", "MAP_ANONYMOUS", "MADV_DONTNEED"],
    "signal": [
        "SIGHUP",
        "SIGQUIT",
        "SIGUSR1",
        "SIGCHLD",
        "SIGKILL",
        "SIGSTOP",
        "SIGCONT",
        "pthread_sigmask",
        "sigwait",
    ],
}
MODULES_NOT_ON_WINDOWS = ("fcntl", "resource", "pwd", "grp", "termios", "readline")


def take_away(names: dict[Any, list[str]]) -> None:
    for owner, lacking in names.items():
        module = __import__(owner) if isinstance(owner, str) else owner
        for name in lacking:
            if hasattr(module, name):
                delattr(module, name)


def without_proc(module: Any, name: str) -> None:
    call = getattr(module, name)

    def refuse(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return call(path, *arguments, **options)

    setattr(module, name, refuse)


if lacking := os.environ.get("LACKING"):
    take_away(ONLY_LINUX)
    for module, name in (
        (builtins, "open"),
        (io, "open"),
        (os, "open"),
        (os, "listdir"),
        (os, "stat"),
        (os, "readlink"),
    ):
        without_proc(module, name)
    if lacking == "windows":
        take_away(NOT_ON_WINDOWS)
        sys.modules.update(dict.fromkeys(MODULES_NOT_ON_WINDOWS))  # type: ignore[arg-type]  # None: not to be imported
