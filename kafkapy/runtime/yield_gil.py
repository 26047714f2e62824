"""Yields the interpreter lock, for threads whose compiled code or system calls hold it."""

from __future__ import annotations

import time
from typing import Final

_SECONDS: Final = 1e-5
"""Sleep long enough for a waiting thread to take the interpreter lock. Linux's default timer slack adds 50 µs."""


def yield_gil() -> None:
    """Let another thread take the interpreter lock."""
    time.sleep(_SECONDS)
