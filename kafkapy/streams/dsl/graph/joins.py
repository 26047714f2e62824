"""Joins as nodes of the graph; each consists of several processors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.dsl.graph.node import GraphNode, ProcessorGraphNode
from kafkapy.streams.processors.ktable_ktable_join_merger import KTableKTableJoinMerger
from kafkapy.streams.topology.topology_builder import TopologyBuilder


class WindowedStreamNode(ProcessorGraphNode):
    """Stores one stream's records for a stream-stream join."""


@dataclass(frozen=True, slots=True)
class JoinSide:
    """A processor of one side of a join.

    Attributes:
        name: Name of the processor.
        supplier: Supplier of the processor.
        parent: Name of the node that forwards to it.
        store: Factory of the store that this side fills; for tables the names of the stores with its values.
    """

    name: str
    supplier: Any
    parent: str
    store: Any


class StreamStreamJoinNode(GraphNode):
    """A join of two streams: a processor for each, which reads the other's store, and one that merges their results.

    Attributes:
        this: The left side; its parent is the node that stores the left records.
        other: The right side.
        is_self_join: Whether both are the same stream, which needs only one store.
    """

    def __init__(
        self,
        name: str,
        this: JoinSide,
        other: JoinSide,
        merger: Callable[[], Any],
        self_join: Callable[[], Any],
        outer: Any,
    ) -> None:
        super().__init__(name)
        self.this = this
        self.other = other
        self._merger = merger
        self._self_join = self_join
        self._outer_store = outer
        self.is_self_join = False

    def write(self, topology: TopologyBuilder) -> None:
        this = self.this
        other = self.other
        if self.is_self_join:
            topology.add_processor(self.name, self._self_join, [this.parent])
            topology.add_state_store(this.store, this.parent, self.name)
            return
        topology.add_processor(this.name, this.supplier, [this.parent])
        topology.add_processor(other.name, other.supplier, [other.parent])
        topology.add_processor(self.name, self._merger, [this.name, other.name])
        topology.add_state_store(this.store, this.parent, other.name)
        topology.add_state_store(other.store, other.parent, this.name)
        if self._outer_store is not None:
            topology.add_state_store(self._outer_store, this.name, other.name)


class StreamTableJoinNode(ProcessorGraphNode):
    """A join of a stream with a table.

    Args:
        store_names: Names of the stores with the table's values.
        grace_ms: How long the stream's records are buffered, ms; None: they are not.
        buffer_name: Name of the buffer's store.
    """

    def __init__(
        self,
        name: str,
        supplier: Callable[[], Any],
        store_names: Sequence[str],
        grace_ms: int | None,
        buffer_name: str | None,
    ) -> None:
        super().__init__(name, supplier)
        self._store_names = store_names
        self._grace_ms = grace_ms
        self._buffer_name = buffer_name

    def write(self, topology: TopologyBuilder) -> None:
        topology.add_processor(self.name, self.supplier, self.parent_names())
        topology.connect_processor_and_state_stores(self.name, *self._store_names)
        if self._buffer_name is not None:
            topology.connect_processor_and_state_stores(self.name, self._buffer_name)
        if self._grace_ms is not None:
            self._check_history(topology, self._grace_ms)

    def _check_history(self, topology: TopologyBuilder, grace_ms: int) -> None:
        for store in self._store_names:
            if not topology.is_store_versioned(store):
                raise ValueError("KTable must be versioned to use a grace period in a stream table join.")
            if grace_ms > topology.history_retention(store):
                raise ValueError("History retention must be at least grace period.")


class TableTableJoinNode(GraphNode):
    """A join of two tables by their keys: a processor for each, and one that merges their results.

    Attributes:
        merger: Supplier of the merging processor.
    """

    def __init__(self, name: str, this: JoinSide, other: JoinSide, merger: KTableKTableJoinMerger, store: Any) -> None:
        super().__init__(name)
        self._this = this
        self._other = other
        self.merger = merger
        self._store = store

    def enable_versioned_semantics(self, parent_name: str) -> None:
        for side in (self._this, self._other):
            if side.parent == parent_name:
                side.supplier.use_versioned_semantics = True

    def write(self, topology: TopologyBuilder) -> None:
        this = self._this
        other = self._other
        topology.add_processor(this.name, this.supplier, [this.parent])
        topology.add_processor(other.name, other.supplier, [other.parent])
        topology.add_processor(self.name, self.merger, [this.name, other.name])
        topology.connect_processor_and_state_stores(this.name, *other.store)
        topology.connect_processor_and_state_stores(other.name, *this.store)
        if self._store is not None:
            topology.add_state_store(self._store, self.name)
