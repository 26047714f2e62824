"""A clock whose time slices are all used up."""

from __future__ import annotations

from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.completion import Completion


class HeldTurns(MockClock):
    """What comes to a checkpoint waits there until the test lets it go on."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Completion[None]] = []

    def should_yield(self, extra_seconds: float = 0.0) -> bool:
        return True

    async def yield_now(self) -> None:
        self.yields += 1
        turn: Completion[None] = Completion()
        self.waiting.append(turn)
        await turn

    def go_on(self) -> None:
        """To the next checkpoint."""
        waiting, self.waiting = self.waiting, []
        for turn in waiting:
            turn.set_result(None)
