"""Daemon threads for handlers: a handler that hangs does not keep the process alive, and its event is not committed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class DaemonThreads:
    """A pool that grows with the number of concurrent calls, up to `most` threads; threads are reused."""

    def __init__(self, name: str, most: int = 1_000) -> None:
        self._name = name
        self._most = most
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._threads = 0

    def run(self, function: Callable[[], object]) -> None:
        """Run `function` soon, in a thread. It must not raise."""
        with self._lock:
            self._idle -= 1
            if self._idle < 0 and self._threads < self._most:
                self._idle += 1
                self._threads += 1
                threading.Thread(target=self._loop, name=f"{self._name} {self._threads}", daemon=True).start()
        self._work.put(function)

    def close(self) -> None:
        """Let the threads end after their current calls."""
        for _ in range(self._threads):
            self._work.put(None)

    def _loop(self) -> None:
        while (function := self._work.get()) is not None:
            function()
            with self._lock:
                self._idle += 1
