"""What the aggregations of a stream have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.table import KTableProcessorSupplier, KTableValueGetterSupplier

Initializer = Callable[[], Any]
"""Makes the aggregate that the first value of a key is added to."""

Aggregator = Callable[[Any, Any, Any], Any]
"""Of key, value and aggregate, the new aggregate."""

Merger = Callable[[Any, Any, Any], Any]
"""Of key and the aggregates of two sessions, that of both."""

Reducer = Callable[[Any, Any], Any]
"""Of two values, one."""


class KStreamAggProcessorSupplier(KTableProcessorSupplier):
    """Makes the processors of an aggregation of a stream; the table has a store.

    Attributes:
        store_name: Of that store.
        send_old_values: Whether updates carry the value that they replace.
    """

    def __init__(self, store_name: str) -> None:
        self.store_name = store_name
        self.send_old_values = False

    def enable_sending_old_values(self, force_materialization: bool = True) -> bool:
        self.send_old_values = True
        return True

    def view(self) -> KTableValueGetterSupplier:
        return KTableMaterializedValueGetterSupplier(self.store_name)
