"""The interface of clocks: nothing below server/ reads the machine's clock itself, so tests can set the time."""

from __future__ import annotations

import time as _time
from typing import Protocol


class Time(Protocol):
    """Source of time (Kafka's `Time`)."""

    def milliseconds(self) -> int:
        """Return the wall clock in ms since the epoch, for records, files and ZooKeeper."""
        ...

    def monotonic_ms(self) -> int:
        """Return a monotonic clock in ms, for timeouts and intervals."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep. Only for threads of their own (controller, cleaner), never on the reactor."""
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
    """A clock that tests move; `sleep` advances it."""

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
