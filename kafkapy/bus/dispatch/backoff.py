"""The retries of an event: their number and their pauses."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Retries:
    """`attempts` in all. The pauses between them: `first_s` seconds, then twice as long each time, at most
    `longest_s`, with 20 % jitter.

    Args:
        chance: Source of the jitter. Default: `random.Random()`.

    Example:
        >>> 0.15 < Retries(first_s=0.1).pause_s(2) < 0.25
        True
    """

    attempts: int = 5
    first_s: float = 0.1
    longest_s: float = 30.0
    chance: random.Random = field(default_factory=random.Random, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_s < 0 or self.longest_s < self.first_s:
            raise ValueError(f"Retries need attempts >= 1 and 0 <= first_s <= longest_s; these are {self}")

    def pause_s(self, attempt: int) -> float:
        """The pause in seconds after the attempt with this number (from 1 on).

        Args:
            attempt: Number of the attempt, from 1.
        """
        whole = min(self.longest_s, self.first_s * 2.0 ** min(attempt - 1, 60))
        return whole * self.chance.uniform(0.8, 1.2)
