"""Definitions of windows for aggregations of streams and stream-stream joins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from kafkapy.streams.options.checks import required
from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.records import TimeWindow, UnlimitedWindow, Window

NO_GRACE_MS: Final = 0
MAX_TIMESTAMP: Final = 2**63 - 1


class Windows(ABC):
    """Windows whose bounds are the same for all keys."""

    @property
    @abstractmethod
    def size_ms(self) -> int:
        """Return the size of each window, ms."""

    @property
    @abstractmethod
    def grace_period_ms(self) -> int:
        """Return how long after its end a window accepts late records, ms."""

    @property
    def have_an_end(self) -> bool:
        """Return whether windows have an end, and so are closed."""
        return True

    @abstractmethod
    def windows_for(self, timestamp: int) -> Mapping[int, Window]:
        """Return the windows that contain a timestamp, by start, in order."""


@dataclass(frozen=True, slots=True)
class TimeWindows(Windows):
    """Windows of one size, one after another (tumbling), or with a shorter step, so that they overlap (hopping). A value.

    Attributes:
        size: Of each window, ms.
        advance: From the start of a window to that of the next, ms.
        grace: How long after its end a window takes late records, ms.

    Raises:
        ValueError: The size is not positive, the step not between 1 and the size, or the grace negative.

    Example:
        >>> list(TimeWindows.of_size_with_no_grace(10).advance_by(5).windows_for(12))
        [5, 10]
    """

    size: int
    advance: int
    grace: int

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise ValueError("Window size (sizeMs) must be larger than zero.")
        if self.advance <= 0 or self.advance > self.size:
            raise ValueError(
                "Window advancement interval should be more than zero and less than window duration which is "
                f"{self.size} ms, but given advancement interval is: {self.advance} ms"
            )
        if self.grace < 0:
            raise ValueError("Grace period must not be negative.")

    @staticmethod
    def of_size_and_grace(size: Duration, after_window_end: Duration) -> TimeWindows:
        """Tumbling windows with a grace period for late records.

        Args:
            size: ms or a timedelta.
            after_window_end: The grace, ms or a timedelta.

        Raises:
            ValueError: See the class.
        """
        size_ms = milliseconds(size, "size")
        return TimeWindows(size_ms, size_ms, milliseconds(after_window_end, "afterWindowEnd"))

    @staticmethod
    def of_size_with_no_grace(size: Duration) -> TimeWindows:
        """Tumbling windows that drop late records; see `of_size_and_grace`.

        Args:
            size: Size of the windows, ms or a timedelta.
        """
        return TimeWindows.of_size_and_grace(size, NO_GRACE_MS)

    def advance_by(self, advance: Duration) -> TimeWindows:
        """Hopping windows of the same size.

        Args:
            advance: From the start of a window to that of the next, ms or a timedelta, at most the size.

        Raises:
            ValueError: See the class.
        """
        return replace(self, advance=milliseconds(advance, "advance"))

    @property
    def size_ms(self) -> int:
        return self.size

    @property
    def advance_ms(self) -> int:
        """From the start of a window to that of the next, ms."""
        return self.advance

    @property
    def grace_period_ms(self) -> int:
        return self.grace

    def windows_for(self, timestamp: int) -> Mapping[int, Window]:
        """Return the windows of a timestamp, by their start.

        Args:
            timestamp: ms since the epoch.
        """
        start = max(0, timestamp - self.size + self.advance) // self.advance * self.advance
        starts = range(start, timestamp + 1, self.advance)
        return {start: TimeWindow(start, start + self.size) for start in starts}


@dataclass(frozen=True, slots=True)
class UnlimitedWindows(Windows):
    """One window from a point in time on without an end. A value.

    Attributes:
        start: ms since the epoch.

    Raises:
        ValueError: The start is negative.

    Example:
        >>> list(UnlimitedWindows.of().start_on(100).windows_for(99))
        []
    """

    start: int = 0

    def __post_init__(self) -> None:
        if self.start < 0:
            raise ValueError("Window start time (startMs) cannot be negative.")

    @staticmethod
    def of() -> UnlimitedWindows:
        """A window from the epoch on."""
        return UnlimitedWindows()

    def start_on(self, start: int | datetime) -> UnlimitedWindows:
        """A window that begins later; records before it are dropped.

        Args:
            start: ms since the epoch, or a datetime.

        Raises:
            ValueError: It is before the epoch.
        """
        if isinstance(start, datetime):
            aware = start if start.tzinfo is not None else start.astimezone()
            start = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        return UnlimitedWindows(required(start, "start"))

    @property
    def size_ms(self) -> int:
        return MAX_TIMESTAMP

    @property
    def have_an_end(self) -> bool:
        return False

    @property
    def grace_period_ms(self) -> int:
        return 0

    def windows_for(self, timestamp: int) -> Mapping[int, Window]:
        """Return the windows of a timestamp, by their start.

        Args:
            timestamp: ms since the epoch.
        """
        return {self.start: UnlimitedWindow(self.start)} if timestamp >= self.start else {}


@dataclass(frozen=True, slots=True)
class JoinWindows(Windows):
    """The largest time differences between joined records of two streams. Immutable.

    Attributes:
        before_ms: How much earlier than this stream's record the other's may be, ms; negative: it must be later.
        after_ms: How much later it may be, ms; negative: it must be earlier.
        grace_ms: How long late records are accepted, ms.

    Raises:
        ValueError: The interval or the grace is negative.

    Example:
        >>> JoinWindows.of_time_difference_with_no_grace(1000).before(0).size_ms
        1000
    """

    before_ms: int
    after_ms: int
    grace_ms: int

    def __post_init__(self) -> None:
        if self.before_ms + self.after_ms < 0:
            raise ValueError("Window interval (ie, beforeMs+afterMs) must not be negative.")
        if self.grace_ms < 0:
            raise ValueError("Grace period must not be negative.")

    @staticmethod
    def of_time_difference_and_grace(time_difference: Duration, after_window_end: Duration) -> JoinWindows:
        """Join records whose timestamps differ at most by `time_difference`, in either direction.

        Args:
            time_difference: ms or a timedelta.
            after_window_end: The grace, ms or a timedelta.

        Raises:
            ValueError: See the class.
        """
        difference_ms = milliseconds(time_difference, "timeDifference")
        return JoinWindows(difference_ms, difference_ms, milliseconds(after_window_end, "afterWindowEnd"))

    @staticmethod
    def of_time_difference_with_no_grace(time_difference: Duration) -> JoinWindows:
        """The same without late records; see `of_time_difference_and_grace`.

        Args:
            time_difference: The longest difference between timestamps, a `timedelta` or ms.
        """
        return JoinWindows.of_time_difference_and_grace(time_difference, NO_GRACE_MS)

    def before(self, time_difference: Duration) -> JoinWindows:
        """Return a copy with another limit for earlier records of the other stream.

        Args:
            time_difference: ms or a timedelta.
        """
        return replace(self, before_ms=milliseconds(time_difference, "timeDifference"))

    def after(self, time_difference: Duration) -> JoinWindows:
        """Return a copy with another limit for later records of the other stream; see `before`.

        Args:
            time_difference: The longest difference between timestamps, a `timedelta` or ms.
        """
        return replace(self, after_ms=milliseconds(time_difference, "timeDifference"))

    @property
    def size_ms(self) -> int:
        return self.before_ms + self.after_ms

    @property
    def grace_period_ms(self) -> int:
        return self.grace_ms

    def windows_for(self, timestamp: int) -> Mapping[int, Window]:
        """Return the windows of a timestamp, by their start.

        Args:
            timestamp: ms since the epoch.
        """
        raise NotImplementedError("windowsFor() is not supported by JoinWindows.")


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """A window for each set of records of a key within a time difference. Immutable.

    Attributes:
        time_difference_ms: Largest difference of timestamps in a window, ms; both ends are inclusive.
        grace_period_ms: How long after its end a window takes late records, ms.

    Raises:
        ValueError: One of them is negative.

    Example:
        >>> SlidingWindows.of_time_difference_with_no_grace(500).time_difference_ms
        500
    """

    time_difference_ms: int
    grace_period_ms: int

    def __post_init__(self) -> None:
        if self.time_difference_ms < 0:
            raise ValueError("Window time difference must not be negative.")
        if self.grace_period_ms < 0:
            raise ValueError("Window grace period must not be negative.")

    @staticmethod
    def of_time_difference_and_grace(time_difference: Duration, after_window_end: Duration) -> SlidingWindows:
        """Sliding windows with a grace period for late records.

        Args:
            time_difference: ms or a timedelta.
            after_window_end: The grace, ms or a timedelta.

        Raises:
            ValueError: See the class.
        """
        return SlidingWindows(
            milliseconds(time_difference, "timeDifference"), milliseconds(after_window_end, "afterWindowEnd")
        )

    @staticmethod
    def of_time_difference_with_no_grace(time_difference: Duration) -> SlidingWindows:
        """Windows that drop late records; see `of_time_difference_and_grace`.

        Args:
            time_difference: The longest difference between timestamps, a `timedelta` or ms.
        """
        return SlidingWindows.of_time_difference_and_grace(time_difference, NO_GRACE_MS)


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Sessions of a key, which end after a time without records. Immutable.

    Attributes:
        inactivity_gap_ms: That time, ms.
        grace_period_ms: How long after its end a session accepts late records, ms.

    Raises:
        ValueError: The gap is not positive, or the grace negative.

    Example:
        >>> SessionWindows.of_inactivity_gap_with_no_grace(60_000).inactivity_gap_ms
        60000
    """

    inactivity_gap_ms: int
    grace_period_ms: int

    def __post_init__(self) -> None:
        if self.inactivity_gap_ms <= 0:
            raise ValueError("Gap time cannot be zero or negative.")
        if self.grace_period_ms < 0:
            raise ValueError("Grace period must not be negative.")

    @staticmethod
    def of_inactivity_gap_and_grace(inactivity_gap: Duration, after_window_end: Duration) -> SessionWindows:
        """Sessions with a grace period for late records.

        Args:
            inactivity_gap: ms or a timedelta.
            after_window_end: The grace, ms or a timedelta.

        Raises:
            ValueError: See the class.
        """
        return SessionWindows(
            milliseconds(inactivity_gap, "inactivityGap"), milliseconds(after_window_end, "afterWindowEnd")
        )

    @staticmethod
    def of_inactivity_gap_with_no_grace(inactivity_gap: Duration) -> SessionWindows:
        """Sessions that drop late records; see `of_inactivity_gap_and_grace`.

        Args:
            inactivity_gap: The longest pause inside of a session, a `timedelta` or ms.
        """
        return SessionWindows.of_inactivity_gap_and_grace(inactivity_gap, NO_GRACE_MS)
