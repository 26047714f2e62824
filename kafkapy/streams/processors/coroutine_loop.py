"""The event loop on which the coroutines of operators run: one for the process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Final


class CoroutineLoop:
    """An event loop in a thread of its own.

    Clients that coroutines share, such as a session of aiohttp, are bound to one event loop, and outlive stream
    threads and tasks. So the process has one loop, which ends with `stop`, or with the process.

    Invariant: `_loop` is None, or runs in the daemon thread `_thread` of this process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine; callable from any thread except the loop's.

        Args:
            coroutine: The coroutine.

        Returns:
            Its future result; `cancel` cancels the coroutine.
        """
        return asyncio.run_coroutine_threadsafe(coroutine, self._running())

    def stop(self) -> None:
        """End the thread and close the loop; the next `start` creates another."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        if loop is not None:
            return loop
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="streams-coroutines", daemon=True)
                self._thread.start()
            return self._loop

    def forget(self) -> None:
        """Drop the loop; called in a forked process, which lacks its parent's threads."""
        self.__init__()  # type: ignore[misc]


COROUTINE_LOOP: Final = CoroutineLoop()
"""The loop of this process."""

os.register_at_fork(after_in_child=COROUTINE_LOOP.forget)
