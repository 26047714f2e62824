"""The clock, as a thing that is passed in: nothing below server/ reads the machine's clock by itself."""

from __future__ import annotations

import time as _time
from typing import Protocol


class Time(Protocol):
    """Source of time (Kafka's `Time`)."""

    def milliseconds(self) -> int:
        """Wall clock, ms since the epoch: what is written into records, files and ZooKeeper."""
        ...

    def monotonic_ms(self) -> int:
        """A clock that never goes back, ms: for timeouts and intervals."""
        ...

    def sleep(self, seconds: float) -> None:
        """Only for threads of their own (controller, cleaner), never on the reactor."""
        ...


class SystemTime:
    """The machine's clocks."""

    def milliseconds(self) -> int:
        return _time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return _time.monotonic_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        _time.sleep(seconds)


class MockTime:
    """A clock that a test moves by hand; `sleep` advances it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms
        self._monotonic = 0

    def milliseconds(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        self.advance(int(seconds * 1000))

    def advance(self, ms: int) -> None:
        self.now_ms += ms
        self._monotonic += ms
