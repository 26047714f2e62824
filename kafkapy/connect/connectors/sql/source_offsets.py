"""Source partitions and offsets, in the form of Confluent's connector."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafkapy.connect.connectors.sql.names import TableName
from kafkapy.connect.errors import ConnectException

INCREMENTING: Final = "incrementing"
TIMESTAMP: Final = "timestamp"
NANOS: Final = "timestamp_nanos"
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PER_SECOND: Final = 1_000_000


class RowPosition(NamedTuple):
    """How far a table has been read.

    Attributes:
        number: The last value of the incrementing column; None: none yet.
        moment: The last timestamp, in UTC; None: none yet.

    Example:
        >>> RowPosition(5).as_offset(), RowPosition.of({"incrementing": 5}).number
        ({'incrementing': 5}, 5)
    """

    number: int | None = None
    moment: dt.datetime | None = None

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> RowPosition:
        """Read a stored offset. Raises ConnectException if it is none of this connector's."""
        if not offset:
            return cls()
        number, ms, nanos = (offset.get(name) for name in (INCREMENTING, TIMESTAMP, NANOS))
        for name, value in ((INCREMENTING, number), (TIMESTAMP, ms), (NANOS, nanos)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise ConnectException(f"The value for the '{name}' key in the offset must be an integer")
        if ms is None:
            return cls(number)
        micros = ms * 1000 if nanos is None else ms // 1000 * _PER_SECOND + nanos // 1000
        return cls(number, _EPOCH + dt.timedelta(microseconds=micros))

    def as_offset(self) -> dict[str, int]:
        """Return the offset to be stored."""
        offset: dict[str, int] = {}
        if self.number is not None:
            offset[INCREMENTING] = self.number
        if self.moment is not None:
            micros = (self.moment - _EPOCH) // dt.timedelta(microseconds=1)
            offset[TIMESTAMP] = micros // 1000
            offset[NANOS] = micros % _PER_SECOND * 1000
        return offset


def partition_of(table: TableName | None) -> dict[str, str]:
    """Return the source partition of a table; None: of the query."""
    return {"query": "query"} if table is None else {"protocol": "1", "table": table.text}


def partitions_of(table: TableName | None) -> list[dict[str, str]]:
    """Return all source partitions that may have a table's offset, the own one first; Java's drivers differ in names."""
    if table is None:
        return [partition_of(None)]
    known = [{"protocol": "1", "table": spelling} for spelling in table.spellings]
    return [*known, {"table": table.table}]
