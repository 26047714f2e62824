"""Scalars without a Python type: integers and floats of a fixed width, `BigInteger`, and `java.util.Date`.

Other data of Connect have Python's types: without a schema `int` is INT64 and `float` is FLOAT64, and a plain `int`
fits each integer schema.
"""

from __future__ import annotations

import datetime as dt
from typing import Self

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND = dt.timedelta(milliseconds=1)


class Int8(int):
    """An integer of type INT8.

    Example:
        >>> Int8(5) + 1
        6
    """

    __slots__ = ()


class Int16(int):
    """An integer of type INT16.

    Example:
        >>> Int16(5) + 1
        6
    """

    __slots__ = ()


class Int32(int):
    """An integer of type INT32.

    Example:
        >>> Int32(5) + 1
        6
    """

    __slots__ = ()


class Int64(int):
    """An integer of type INT64 that, unlike a plain `int`, fits no other type.

    Example:
        >>> Int64(5) + 1
        6
    """

    __slots__ = ()


class BigInt(int):
    """An integer of any size (`java.math.BigInteger`); no schema has it.

    Example:
        >>> BigInt(2**70) > 2**64
        True
    """

    __slots__ = ()


class Float32(float):
    """A float of type FLOAT32; its value is one that 32 bits can hold.

    Example:
        >>> Float32(0.5) + 1
        1.5
    """

    __slots__ = ()


class Instant:
    """A point in time in milliseconds (`java.util.Date`): what the logical types Date, Time and Timestamp hold.

    Args:
        ms: Since 1970 in UTC; may be beyond the years that `datetime` can hold.

    Attributes:
        ms: As given.

    Example:
        >>> Instant(1709210096789).datetime().isoformat()
        '2024-02-29T12:34:56.789000+00:00'
    """

    __slots__ = ("_ms",)

    def __init__(self, ms: int) -> None:
        self._ms = ms

    @property
    def ms(self) -> int:
        return self._ms

    @classmethod
    def of(cls, moment: dt.date | dt.time) -> Self:
        """Convert a `datetime`, a `date` (midnight in UTC) or a `time` (on 1970-01-01).

        Args:
            moment: Without a zone it is in UTC. Fractions of milliseconds are cut off.

        Example:
            >>> import datetime
            >>> Instant.of(datetime.date(1970, 1, 2))
            Instant(86400000)
        """
        if isinstance(moment, dt.time):
            moment = dt.datetime.combine(_EPOCH.date(), moment)
        elif not isinstance(moment, dt.datetime):
            moment = dt.datetime.combine(moment, dt.time())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return cls((moment - _EPOCH) // _MILLISECOND)

    def datetime(self) -> dt.datetime:
        """Return the time in UTC. Raises OverflowError outside of the years 1 to 9999."""
        return _EPOCH + self._ms * _MILLISECOND

    def date(self) -> dt.date:
        """Return the day in UTC. Raises OverflowError outside of the years 1 to 9999."""
        return self.datetime().date()

    def time(self) -> dt.time:
        """Return the time of day in UTC. Raises OverflowError outside of the years 1 to 9999."""
        return self.datetime().time()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and other._ms == self._ms

    def __hash__(self) -> int:
        return hash(self._ms)

    def __repr__(self) -> str:
        return f"Instant({self._ms})"
