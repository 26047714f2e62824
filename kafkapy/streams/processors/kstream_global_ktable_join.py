"""`KStream.join` and `left_join` with a global table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.kstream_kstream_join import ValueJoinerWithKey
from kafkapy.streams.processors.kstream_ktable_join import KStreamKTableJoinProcessor
from kafkapy.streams.processors.table import KTableValueGetterSupplier


class KStreamGlobalKTableJoin:
    """Supplies the processors of a join of a stream with a global table.

    Args:
        value_getter_supplier: Supplies the getter of the table.
        joiner: Takes the stream's key and value and the table's value; returns the result.
        mapper: Takes the stream's key and value; returns the table's key.
        left_join: Whether records without a value in the table have a result.
    """

    def __init__(
        self,
        value_getter_supplier: KTableValueGetterSupplier,
        joiner: ValueJoinerWithKey,
        mapper: Callable[[Any, Any], Any],
        left_join: bool,
    ) -> None:
        self._value_getter_supplier = value_getter_supplier
        self._joiner = joiner
        self._mapper = mapper
        self._left_join = left_join

    def __call__(self) -> Processor:
        return KStreamKTableJoinProcessor(
            self._value_getter_supplier(), self._mapper, self._joiner, self._left_join, None
        )
