"""Writes that come while an instance joins its group wait until it knows the primary. Confluent's takes no request before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

T = TypeVar("T")


class FirstElection:
    """On the reactor's thread. It is over when the group has said who is the primary, or after `timeout_s`; what waits then goes
    on, and is answered by what is known."""

    def __init__(self, clock: Any, timeout_s: float) -> None:
        self._waiting: list[Deferred[None]] | None = []
        self._timer = clock.callLater(timeout_s, self.end)

    def then(self, go_on: Callable[[], Deferred[T]]) -> Deferred[T]:
        """What `go_on` gives: it is called when the election is over, at once if it is already."""
        if self._waiting is None:
            return go_on()
        turn: Deferred[None] = Deferred()
        self._waiting.append(turn)
        return turn.addCallback(lambda _: go_on())

    def end(self) -> None:
        """It is over, for good."""
        waiting, self._waiting = self._waiting or [], None
        if self._timer.active():
            self._timer.cancel()
        for turn in waiting:
            turn.callback(None)
