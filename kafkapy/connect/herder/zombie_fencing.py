"""One round of fencing of a connector's earlier tasks (KIP-618)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.callbacks import Callback


class ZombieFencing:
    """Invariant: each callback is called once; one that is added after the end is called immediately."""

    def __init__(
        self,
        fence: Callable[[], Future[None]],
        record: Callable[[], None],
        on_herder_thread: Callable[[Callable[[], None], Callback], object],
        ended: Callable[[], None],
    ) -> None:
        """
        Args:
            fence: Fences the producers of the earlier tasks.
            record: Writes the record that they are fenced; may raise an exception. on_herder_thread: Calls a function
                on the herder's thread, and the callback with its error.
            ended: Called before the callbacks.
        """
        self._fence = fence
        self._record = record
        self._on_herder_thread = on_herder_thread
        self._ended = ended
        self._lock = threading.Lock()
        self._callbacks: list[Callback] = []
        self._done = False
        self._error: BaseException | None = None

    def start(self) -> None:
        """Start the fencing. Raises the errors of `fence`."""
        self._fence().add_done_callback(self._fenced)

    def _fenced(self, fenced: Future[None]) -> None:
        error = fenced.exception()
        if error is not None:
            self.finish(error)
        elif not self.is_done:
            self._on_herder_thread(self._write, lambda error, _: self.finish(error) if error is not None else None)

    def _write(self) -> None:
        if not self.is_done:
            self._record()
            self.finish(None)

    @property
    def is_done(self) -> bool:
        with self._lock:
            return self._done

    def finish(self, error: BaseException | None) -> None:
        with self._lock:
            if self._done:
                return
            self._done = True
            if error is not None and not isinstance(error, ConnectException):
                wrapped = ConnectException(f"Failed to perform zombie fencing: {error}")
                wrapped.__cause__ = error
                error = wrapped
            self._error = error
            callbacks, self._callbacks = self._callbacks, []
        self._ended()
        for callback in callbacks:
            callback(error, None)

    def add_callback(self, callback: Callback) -> None:
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self._error, None)
