"""Simulates a full disk without mounting one: writes to files below some directories fail."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

_CALLS = ("pwrite", "write", "posix_fallocate")


class FullDisk:
    """From `fill` to `empty`, writes below `directories` raise ENOSPC.

    Truncating and deleting works. Overwriting fails, which it would not on a disk that is really full.
    """

    def __init__(self, directories: Sequence[str]) -> None:
        self._directories = tuple(os.path.realpath(directory) + os.sep for directory in directories)
        self._real: dict[str, Any] = {}

    def fill(self) -> None:
        if not self._real:
            self._real = {name: getattr(os, name) for name in _CALLS if hasattr(os, name)}
            for name, call in self._real.items():
                setattr(os, name, self._refusing(call))

    def empty(self) -> None:
        for name, call in self._real.items():
            setattr(os, name, call)
        self._real = {}

    def _refusing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(fd: int, *arguments: Any) -> Any:
            path = _path_of(fd)
            if path.startswith(self._directories):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            return call(fd, *arguments)

        return refuse


def _path_of(fd: int) -> str:
    if sys.platform == "darwin":
        return fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()
    return os.readlink(f"/proc/self/fd/{fd}")
