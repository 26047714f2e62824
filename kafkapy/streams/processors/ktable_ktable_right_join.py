"""`KTable.left_join`, the right side: its updates have a result where the left table has a value."""

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


class KTableKTableRightJoin(KTableKTableAbstractJoin):
    """Supplies the processors of the right side; its `table1` is the right table."""

    def __call__(self) -> Processor:
        return KTableKTableRightJoinProcessor(self)

    def value_getter(self, getter1: KTableValueGetter, getter2: KTableValueGetter) -> KTableValueGetter:
        return KTableKTableRightJoinValueGetter(self.joiner, getter1, getter2)


class KTableKTableRightJoinProcessor(KTableKTableAbstractJoinProcessor):
    """Forwards the result of each update if the left table has a value; for a deletion the right value is None."""

    def _join(self, record: Record[Any, Change], change: Change, other: ValueAndTimestamp | None) -> None:
        if other is not None:
            new = self._joiner(change.new_value, other.value)
            old = self._joiner(change.old_value, other.value) if self._send_old_values else None
            self._forward(record, new, old, other.timestamp)


class KTableKTableRightJoinValueGetter(KTableKTableJoinValueGetter):
    """Returns the joined value if the left table has a value."""

    def get(self, key: Any) -> ValueAndTimestamp | None:
        two = self._getter2.get(key)
        if two is None:
            return None
        one = self._getter1.get(key)
        if one is None:
            return timestamped(self._joiner(None, two.value), two.timestamp)
        return timestamped(self._joiner(one.value, two.value), max(one.timestamp, two.timestamp))
