"""Waiting in tests: for as long as it takes. The limit only ends what hangs, also on a machine with much other work."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_SECONDS = 300
"""What has not come by then never comes."""


def wait_until(condition: Callable[[], object], told: Callable[[], object] = lambda: "") -> None:
    """Wait until `condition` is true, which is asked every 10 ms.

    Args:
        condition: What is waited for.
        told: What the failure shows of the state, if it never becomes true.
    """
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"this never became true; {told()}"
        time.sleep(0.01)
