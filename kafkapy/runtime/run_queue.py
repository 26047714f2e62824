"""Time that a thread spent in the kernel's run queue: ready to run, without a core."""

from __future__ import annotations

import os
from contextlib import suppress

from kafkapy.common.capabilities import RUN_QUEUE_FILE


class RunQueue:
    """The run-queue account of the thread that calls `open`.

    Invariant: while it is open, `_file` is a descriptor of the kernel's account of that thread; None if it is not open,
    or if this kernel keeps none.
    """

    def __init__(self) -> None:
        self._file: int | None = None

    def open(self) -> None:
        with suppress(OSError):
            self._file = os.open(RUN_QUEUE_FILE, os.O_RDONLY | os.O_CLOEXEC)

    def seconds(self) -> float:
        """Return the seconds since the thread started, by one system call; 0 if the kernel does not count them."""
        return 0.0 if self._file is None else int(os.pread(self._file, 64, 0).split()[1]) / 1e9

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
