"""Long work of the reactor thread, cut up so that nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.common.scheduler import Scheduler


def in_turns(scheduler: Scheduler, name: str, turns: Iterator[object]) -> None:
    """Go on to the next `yield` of `turns` now, and to each further one in a turn of the reactor of its own."""
    for _ in turns:
        scheduler.schedule_once(name, lambda: in_turns(scheduler, name, turns), 0)
        return
