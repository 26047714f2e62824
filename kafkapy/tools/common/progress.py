"""Prints how long a child process has been running, so that a build of minutes is not silent."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

INTERVAL_SECONDS = 10.0


def wait_with_progress(process: subprocess.Popen[bytes], state: Callable[[], str]) -> int:
    """Wait for `process` and return its exit status. Every `INTERVAL_SECONDS` a line on stderr has the text of
    `state` and the time since the start."""
    began = time.monotonic()
    while True:
        try:
            return process.wait(INTERVAL_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"  {state()}: {time.monotonic() - began:.0f} s so far", file=sys.stderr, flush=True)
