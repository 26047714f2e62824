"""Common base of a stream's aggregations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.table import KTableProcessorSupplier, KTableValueGetterSupplier

Initializer = Callable[[], Any]
"""Returns the initial aggregate of a key."""

Aggregator = Callable[[Any, Any, Any], Any]
"""Takes key, value and aggregate; returns the new aggregate."""

Merger = Callable[[Any, Any, Any], Any]
"""Takes key and the aggregates of two sessions; returns the merged aggregate."""

Reducer = Callable[[Any, Any], Any]
"""Combines two values into one."""


class KStreamAggProcessorSupplier(KTableProcessorSupplier):
    """Supplies the processors of a stream's aggregation, whose table has a store.

    Attributes:
        store_name: Name of that store.
        send_old_values: Whether updates contain the replaced value.
    """

    def __init__(self, store_name: str) -> None:
        self.store_name = store_name
        self.send_old_values = False

    def enable_sending_old_values(self, force_materialization: bool = True) -> bool:
        self.send_old_values = True
        return True

    def view(self) -> KTableValueGetterSupplier:
        return KTableMaterializedValueGetterSupplier(self.store_name)
