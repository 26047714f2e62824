"""The result of `commit_async`: kafka-python's `Future`, thread-safe."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Self

from kafkapy.runtime.completion import Completion


class CommitFuture:
    """The future of a commit. Callbacks run on the client's thread, or immediately if it is done."""

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        return self.is_done and self.exception is not None

    def retriable(self) -> bool:
        return bool(getattr(self.exception, "retriable", False))

    def add_callback(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Self:
        """Call `f(*args, value, **kwargs)` when it has succeeded."""
        return self._when_done(lambda: f(*args, self.value, **kwargs) if self.exception is None else None)

    def add_errback(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Self:
        """Call `f(*args, error, **kwargs)` when it has failed."""
        return self._when_done(lambda: f(*args, self.exception, **kwargs) if self.exception is not None else None)

    def add_both(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Self:
        self.add_callback(f, *args, **kwargs)
        return self.add_errback(f, *args, **kwargs)

    def follow(self, completion: Completion[Any]) -> None:
        """Complete with the completion's outcome. Runs on the driver's thread."""
        completion.add_callback(self._finish)

    def _finish(self, done: Completion[Any]) -> None:
        error = done.exception()
        with self._lock:
            self.exception = error
            self.value = None if error is not None else done.result()
            self.is_done = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def _when_done(self, callback: Callable[[], object]) -> Self:
        with self._lock:
            if not self.is_done:
                self._callbacks.append(callback)
                return self
        callback()
        return self
