"""How long a thread has been ready to run and had no core, as the kernel counts it."""

from __future__ import annotations

import os
from contextlib import suppress

from kafkapy.common.capabilities import RUN_QUEUE_FILE


class RunQueue:
    """Belongs to one thread, which opens it, asks, and closes it.

    Invariant: while it is open, `_file` is a descriptor of the kernel's account of the thread that has opened it; None if it is
    not open, or if this kernel does not count.
    """

    def __init__(self) -> None:
        self._file: int | None = None

    def open(self) -> None:
        with suppress(OSError):
            self._file = os.open(RUN_QUEUE_FILE, os.O_RDONLY | os.O_CLOEXEC)

    def seconds(self) -> float:
        """Since the thread began, with a system call; 0 if nothing is known."""
        return 0.0 if self._file is None else int(os.pread(self._file, 64, 0).split()[1]) / 1e9

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
