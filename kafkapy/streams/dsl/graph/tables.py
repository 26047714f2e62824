"""Tables as nodes of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.streams.dsl.graph.node import ProcessorGraphNode, StatefulProcessorNode
from kafkapy.streams.processors.ktable_source import KTableSource
from kafkapy.streams.topology.topology_builder import TopologyBuilder


class TableProcessorNode(ProcessorGraphNode):
    """An operator on a table, with its own store, if it has one, and stores of other nodes by name.

    A table that is read from a topic or a stream has a store only if a later operator needs it.
    """

    def __init__(self, name: str, supplier: Callable[[], Any], store: Any, store_names: Sequence[str] = ()) -> None:
        super().__init__(name, supplier)
        self._store = store
        self._store_names = store_names

    def write(self, topology: TopologyBuilder) -> None:
        topology.add_processor(self.name, self.supplier, self.parent_names())
        if self._store_names:
            topology.connect_processor_and_state_stores(self.name, *self._store_names)
        is_needed = not isinstance(self.supplier, KTableSource) or self.supplier.materialized
        if self._store is not None and is_needed:
            topology.add_state_store(self._store, self.name)


class VersionedTableProcessorNode(TableProcessorNode):
    """A table operator whose processor behaves differently on a versioned table."""

    def enable_versioned_semantics(self, parent_name: str) -> None:
        self.supplier.use_versioned_semantics = True  # type: ignore[attr-defined]


class VersionedProcessorNode(StatefulProcessorNode):
    """The same with stores of other nodes: used to regroup a table, and for the sides of a foreign-key join."""

    def enable_versioned_semantics(self, parent_name: str) -> None:
        self.supplier.use_versioned_semantics = True  # type: ignore[attr-defined]


class TableSuppressNode(StatefulProcessorNode):
    """Suppresses updates of a table."""
