"""Applies filters that Spark pushes down to the offsets to be read.

Filters on topic, partition or offset are applied completely. A lower bound of the timestamp moves the start (the
broker returns the first record that is young enough), but Spark applies it again, because later records may be older.
An upper bound has no effect on offsets.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_ranges import OffsetRange

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")

_COMPARISONS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    In: lambda value, among: value in among,
}


@dataclass
class PushedFilters:
    """The combination of the filters. Invariant: every record that passes all of them is within it."""

    first_offset: int = 0
    until_offset: int = MAX_LONG
    first_timestamp_ms: int | None = None
    _tests: list[tuple[str, type[Filter], Any, bool]] = field(default_factory=list)
    """Of topic and partition: column, comparison, value, whether it is negated."""

    def add(self, pushed: Filter) -> bool:
        """Add a filter; return True if Spark need not apply it."""
        negated = isinstance(pushed, Not)
        inner = pushed.child if isinstance(pushed, Not) else pushed
        path: tuple[str, ...] = getattr(inner, "attribute", ())
        column = path[0] if len(path) == 1 else None
        if isinstance(inner, IsNotNull):
            return column in _NEVER_NULL and not negated
        comparison, value = type(inner), getattr(inner, "value", None)
        if comparison not in _COMPARISONS:
            return False
        values: tuple[Any, ...] = value if comparison is In and value is not None else (value,)
        if column in ("topic", "partition"):
            if not all(isinstance(v, str if column == "topic" else int) for v in values):
                return False  # a null among them makes "not in" null
            self._tests.append((column, comparison, value, negated))
            return True
        if negated:
            return False
        if column == "offset":
            return self._add_offset(comparison, value)
        if column == "timestamp" and isinstance(value, datetime):
            self._add_timestamp(comparison, value)
        return False

    def keeps(self, partition: TopicPartition) -> bool:
        values = {"topic": partition.topic, "partition": partition.partition}
        return all(_COMPARISONS[test](values[column], value) != negated for column, test, value, negated in self._tests)

    def narrow(self, wanted: OffsetRange, by_timestamp: Mapping[TopicPartition, int]) -> OffsetRange:
        """Return the rest of a range. `by_timestamp`: first offsets with `first_timestamp_ms`, -1 for none."""
        start, until = max(wanted.start, self.first_offset), min(wanted.until, self.until_offset)
        first = by_timestamp.get(wanted.partition)
        if first is not None:
            start = until if first < 0 else max(start, first)
        return OffsetRange(wanted.partition, min(start, until), until)

    def _add_offset(self, comparison: type[Filter], value: Any) -> bool:
        values = list(value) if comparison is In else [value]
        if not values or not all(isinstance(v, int) for v in values):
            return False
        if comparison in (EqualTo, EqualNullSafe, In, GreaterThanOrEqual):
            self.first_offset = max(self.first_offset, min(values))
        elif comparison is GreaterThan:
            self.first_offset = max(self.first_offset, value + 1)
        if comparison in (EqualTo, EqualNullSafe, In, LessThanOrEqual):
            self.until_offset = min(self.until_offset, max(values) + 1)
        elif comparison is LessThan:
            self.until_offset = min(self.until_offset, value)
        is_exact: bool = max(values) - min(values) < len(set(values))
        return is_exact

    def _add_timestamp(self, comparison: type[Filter], value: datetime) -> None:
        if comparison not in (EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual):
            return
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        micros = (moment - _EPOCH) // timedelta(microseconds=1)
        # Records have whole milliseconds.
        first = micros // 1000 + 1 if comparison is GreaterThan else -(-micros // 1000)
        if first >= 0:  # -1 and below are not timestamps to a broker
            self.first_timestamp_ms = max(self.first_timestamp_ms or 0, first)
