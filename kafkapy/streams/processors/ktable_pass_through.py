"""The last processor of a cogroup: the table of all its streams."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import KStreamAggProcessorSupplier
from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.table import KTableProcessorSupplier, KTableValueGetterSupplier
from kafkapy.streams.records import Change, Record


class KTablePassThrough(KTableProcessorSupplier):
    """The table of a cogroup's aggregations, which share a store.

    Args:
        parents: The aggregation of each stream.
        store_name: Name of their store.
    """

    def __init__(self, parents: Collection[KStreamAggProcessorSupplier], store_name: str) -> None:
        self._parents = parents
        self._store_name = store_name

    def __call__(self) -> Processor:
        return KTablePassThroughProcessor()

    def enable_sending_old_values(self, force_materialization: bool = True) -> bool:
        for parent in self._parents:
            parent.enable_sending_old_values()
        return True

    def view(self) -> KTableValueGetterSupplier:
        return KTableMaterializedValueGetterSupplier(self._store_name)


class KTablePassThroughProcessor(Processor):
    """Forwards updates unchanged."""

    def process(self, record: Record[Any, Change]) -> None:
        self.context.forward(record)
