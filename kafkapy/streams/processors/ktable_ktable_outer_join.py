"""`KTable.outer_join`: a result where either table has a value."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.ktable_ktable_join import (
    KTableKTableAbstractJoin,
    KTableKTableAbstractJoinProcessor,
    KTableKTableJoinValueGetter,
)
from kafkapy.streams.processors.table import KTableValueGetter
from kafkapy.streams.processors.values import timestamped
from kafkapy.streams.records import Change, Record, ValueAndTimestamp


class KTableKTableOuterJoin(KTableKTableAbstractJoin):
    """Supplies the processors of both sides."""

    def __call__(self) -> Processor:
        return KTableKTableOuterJoinProcessor(self)

    def value_getter(self, getter1: KTableValueGetter, getter2: KTableValueGetter) -> KTableValueGetter:
        return KTableKTableOuterJoinValueGetter(self.joiner, getter1, getter2)


class KTableKTableOuterJoinProcessor(KTableKTableAbstractJoinProcessor):
    """Forwards the result of each update; if neither table has a value, the result is deleted."""

    def _join(self, record: Record[Any, Change], change: Change, other: ValueAndTimestamp | None) -> None:
        if other is None:
            if change.new_value is None and change.old_value is None:
                return
            other_value = None
            timestamp = record.timestamp
        else:
            other_value, timestamp = other
        new = old = None
        if other_value is not None or change.new_value is not None:
            new = self._joiner(change.new_value, other_value)
        if self._send_old_values and (other_value is not None or change.old_value is not None):
            old = self._joiner(change.old_value, other_value)
        self._forward(record, new, old, timestamp)


class KTableKTableOuterJoinValueGetter(KTableKTableJoinValueGetter):
    """Returns the joined value if either table has a value."""

    def get(self, key: Any) -> ValueAndTimestamp | None:
        one = self._getter1.get(key)
        two = self._getter2.get(key)
        if one is None:
            return None if two is None else timestamped(self._joiner(None, two.value), two.timestamp)
        if two is None:
            return timestamped(self._joiner(one.value, None), one.timestamp)
        return timestamped(self._joiner(one.value, two.value), max(one.timestamp, two.timestamp))
