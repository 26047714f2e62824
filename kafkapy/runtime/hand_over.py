"""For threads whose machine code, or system calls, keep the interpreter."""

from __future__ import annotations

import time
from typing import Final

_SECONDS: Final = 1e-5
"""A sleep that is short, but lets a waiting thread take the interpreter. Linux's default timer slack adds 50 µs to it."""


def hand_over() -> None:
    """Let another thread have the interpreter."""
    time.sleep(_SECONDS)
