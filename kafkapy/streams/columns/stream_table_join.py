"""`KStream.join` and `left_join` of a stream in columns with a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkapy.streams.columns.batch import ColumnBatch
from kafkapy.streams.columns.errors import NotInColumns
from kafkapy.streams.columns.groups import RowGroups
from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.kstream_ktable_join import KStreamKTableJoin, KStreamKTableJoinProcessor
from kafkapy.streams.records import Record

_PLAIN = ({str}, {bytes}, {int}, {float})


class KStreamKTableJoinInColumns(KStreamKTableJoin):
    """The join of a stream in columns."""

    def __call__(self) -> Processor:
        return KStreamKTableJoinInColumnsProcessor(
            self._value_getter_supplier(), None, self._joiner, self._left_join, self._store_name
        )


class KStreamKTableJoinInColumnsProcessor(KStreamKTableJoinProcessor):
    """Reads the table once for each key of a batch."""

    def process_batch(self, batch: ColumnBatch) -> None:
        if self._is_versioned or self._store_name is not None:
            raise NotInColumns("versions depend on the times of records")
        is_used = batch.value.is_valid()
        if not self._left_join:
            is_used = pc.and_(is_used, batch.key.is_valid())
        used = is_used.to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(used)
        taken = batch.take(rows)
        others = self._others(taken.key)
        values = taken.value.to_pylist()
        has_result = np.ones(len(rows), bool)
        if not self._left_join:
            has_result = np.array([other is not None for other in others], bool)
        numbers = np.flatnonzero(has_result)
        keys = taken.key.to_pylist()
        try:
            results = [self._joiner(keys[row], values[row], others[row]) for row in numbers.tolist()]
        except Exception as error:
            raise NotInColumns from error
        self._drop(batch, used)
        if len(numbers):
            self._forward(taken.take(numbers), results)

    def _others(self, key: pa.Array) -> list[Any]:
        """Return the table's value for each row; None: it has none."""
        has_key = key.is_valid().to_numpy(zero_copy_only=False)
        others: list[Any] = [None] * len(key)
        if not has_key.any():
            return others
        groups = RowGroups(key.drop_null())
        found = [self._value_getter.get(one) for one in groups.keys]
        values = [None if one is None else one.value for one in found]
        for row, code in zip(np.flatnonzero(has_key).tolist(), groups.codes.tolist(), strict=True):
            others[row] = values[code]
        return others

    def _drop(self, batch: ColumnBatch, used: Any) -> None:
        for row in np.flatnonzero(~used).tolist():
            self._context.record_context = batch.context_of(row)
            drop(self._context, "due to null join key or value")

    def _forward(self, batch: ColumnBatch, results: list[Any]) -> None:
        """Forward the results as a column if all have the same plain type, else as records."""
        context: Any = self._context
        value = None
        if set(map(type, results)) - {type(None)} in _PLAIN:
            try:
                value = pa.array(results)
            except (pa.ArrowException, OverflowError, UnicodeError):
                value = None
        if value is not None:
            context.forward_batch(replace(batch, value=value))
            return
        for row, (key, result) in enumerate(zip(batch.key.to_pylist(), results, strict=True)):
            origin = context.record_context = batch.context_of(row)
            context.forward(Record(key, result, origin.timestamp, origin.headers))
