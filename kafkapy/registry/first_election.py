"""Delays writes while an instance joins its group, until the primary is known. (Confluent's accepts no request
before.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

T = TypeVar("T")


class FirstElection:
    """The wait for the first election, on the reactor's thread.

    It ends when the primary is known, or after `timeout_s`; then the delayed writes are processed.
    """

    def __init__(self, clock: Any, timeout_s: float) -> None:
        self._waiting: list[Deferred[None]] | None = []
        self._timer = clock.callLater(timeout_s, self.end)

    def then(self, go_on: Callable[[], Deferred[T]]) -> Deferred[T]:
        """Call `go_on` when the wait has ended, immediately if it has; return its result."""
        if self._waiting is None:
            return go_on()
        turn: Deferred[None] = Deferred()
        self._waiting.append(turn)
        return turn.addCallback(lambda _: go_on())

    def end(self) -> None:
        """End the wait permanently."""
        waiting, self._waiting = self._waiting or [], None
        if self._timer.active():
            self._timer.cancel()
        for turn in waiting:
            turn.callback(None)
