"""Asynchronous results (Kafka's `Callback` and `FutureCallback`), and stages of work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Callback = Callable[[BaseException | None, Any], None]
"""Called once with (error, result); the error is None after success."""


class FutureCallback(Generic[T]):
    """A callback whose outcome a thread can wait for.

    Example:
        >>> callback: FutureCallback[int] = FutureCallback()
        >>> callback(None, 7)
        >>> callback.result(timeout_s=1)
        7
    """

    def __init__(self) -> None:
        self.future: Future[T] = Future()

    def __call__(self, error: BaseException | None, result: Any) -> None:
        try:
            if error is not None:
                self.future.set_exception(error)
            else:
                self.future.set_result(result)
        except InvalidStateError:
            pass  # only the first outcome is kept

    def result(self, timeout_s: float | None = None) -> T:
        """Wait for the result. Raises the callback's error, TimeoutError."""
        return self.future.result(timeout_s)

    @property
    def done(self) -> bool:
        return self.future.done()


@dataclass(frozen=True)
class WorkStage:
    """A stage of the worker's work, named in messages of time-outs (KIP-1009). Times in ms."""

    description: str
    started_ms: int
    completed_ms: int | None = None

    def completed(self, now_ms: int) -> WorkStage:
        return replace(self, completed_ms=now_ms)

    def summarize(self) -> str:
        """Describe the stage in a sentence.

        Example:
            >>> WorkStage("polling", 0).summarize()
            'The worker is currently polling, which began at 1970-01-01T00:00:00Z'
        """
        if self.completed_ms is None:
            return f"The worker is currently {self.description}, which began at {_instant(self.started_ms)}"
        return (
            f"The last operation the worker completed was {self.description}, which began at "
            f"{_instant(self.started_ms)} and completed at {_instant(self.completed_ms)}"
        )


def _instant(ms: int) -> str:
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{ms % 1000:03d}" if ms % 1000 else "") + "Z"
