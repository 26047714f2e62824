"""Waits for a condition in another process by polling."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafkapy.testing.server_process import ClusterError


def wait_until(condition: Callable[[], object], seconds: float, what: Callable[[], str]) -> None:
    """Poll the condition until it is true, at first every millisecond. Raises ClusterError with `what` on a
    timeout."""
    deadline, pause = time.monotonic() + seconds, 0.001
    while not condition():
        if time.monotonic() > deadline:
            raise ClusterError(f"after {seconds:g} s still not: {what()}")
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
