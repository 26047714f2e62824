"""Waiting for what another process does, without a moment lost."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafkapy.testing.server_process import ClusterError


def wait_until(condition: Callable[[], object], seconds: float, what: Callable[[], str]) -> None:
    """Asks again and again, at first every millisecond. `ClusterError` tells `what` has not come true."""
    deadline, pause = time.monotonic() + seconds, 0.001
    while not condition():
        if time.monotonic() > deadline:
            raise ClusterError(f"after {seconds:g} s still not: {what()}")
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
