"""Lines that tell how long a child process has been at work, so that minutes of it are not silent."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

INTERVAL_SECONDS = 10.0


def wait_with_progress(process: subprocess.Popen[bytes], state: Callable[[], str]) -> int:
    """The exit status of `process`. Every `INTERVAL_SECONDS` until then a line on stderr says what `state` says, and since when
    the process has run."""
    began = time.monotonic()
    while True:
        try:
            return process.wait(INTERVAL_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"  {state()}: {time.monotonic() - began:.0f} s so far", file=sys.stderr, flush=True)
