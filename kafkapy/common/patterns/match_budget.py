"""A common time limit for many matches, when a peer supplies both patterns and texts."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafkapy.common.patterns import PatternTimeoutError, TranslatedPattern


class MatchBudget:
    """Matches until the total time is used up.

    Args:
        seconds: For all matches together.
        clock: Seconds that only rise.
    """

    def __init__(self, seconds: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._left = seconds
        self._clock = clock

    def search(self, pattern: TranslatedPattern, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text. Raises PatternTimeoutError."""
        if self._left <= 0:
            raise PatternTimeoutError(f"Matching patterns took longer than {self._seconds:g} s")
        start = self._clock()
        try:
            return pattern.search(text, self._left)
        finally:
            self._left -= self._clock() - start
