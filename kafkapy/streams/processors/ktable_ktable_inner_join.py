"""`KTable.join`: a result where both tables have a value."""

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


class KTableKTableInnerJoin(KTableKTableAbstractJoin):
    """Supplies the processors of both sides."""

    def __call__(self) -> Processor:
        return KTableKTableInnerJoinProcessor(self)

    def value_getter(self, getter1: KTableValueGetter, getter2: KTableValueGetter) -> KTableValueGetter:
        return KTableKTableInnerJoinValueGetter(self.joiner, getter1, getter2)


class KTableKTableInnerJoinProcessor(KTableKTableAbstractJoinProcessor):
    """Forwards the result of an update if the other table has a value; a deletion deletes the result."""

    def _join(self, record: Record[Any, Change], change: Change, other: ValueAndTimestamp | None) -> None:
        if other is None:
            return
        new = old = None
        if change.new_value is not None:
            new = self._joiner(change.new_value, other.value)
        if self._send_old_values and change.old_value is not None:
            old = self._joiner(change.old_value, other.value)
        self._forward(record, new, old, other.timestamp)


class KTableKTableInnerJoinValueGetter(KTableKTableJoinValueGetter):
    """Returns the joined value if both tables have a value."""

    def get(self, key: Any) -> ValueAndTimestamp | None:
        one = self._getter1.get(key)
        if one is None:
            return None
        two = self._getter2.get(key)
        if two is None:
            return None
        return timestamped(self._joiner(one.value, two.value), max(one.timestamp, two.timestamp))
