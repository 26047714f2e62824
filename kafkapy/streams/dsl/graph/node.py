"""Nodes of the graph of operators, before it is written to a `TopologyBuilder`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kafkapy.streams.topology.topology_builder import TopologyBuilder


class GraphNode(ABC):
    """An operator with its parents and children (Kafka's `GraphNode`).

    Invariant: a node is among the children of its parents and among the parents of its children.

    Attributes:
        name: Name of its node in the topology, or of the first of several.
        parents: In the order in which they were connected.
        children: In the order in which they were connected.
        changes_key: Whether records may need repartitioning after it.
        changes_value: Whether it changes values, so that a repartition topic cannot be moved before it.
        merges: Whether it merges streams.
        priority: Nodes are written in this order.
        is_written: Whether it is in the topology.
        is_output_versioned: Whether its table is in a versioned store; None: like the table that it is derived from.
        takes_null_keys: Whether it is a join that gives results for records without a key; repartition topics before
            it keep them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.parents: dict[GraphNode, None] = {}
        self.children: dict[GraphNode, None] = {}
        self.changes_key = False
        self.changes_value = False
        self.merges = False
        self.priority = 0
        self.is_written = False
        self.is_output_versioned: bool | None = None
        self.takes_null_keys = False

    @property
    def rank(self) -> int:
        """Return the priority in the form that the queue compares."""
        return self.priority

    @abstractmethod
    def write(self, topology: TopologyBuilder) -> None:
        """Add the node to the topology, which already has its parents."""

    def parent_names(self) -> list[str]:
        return [parent.name for parent in self.parents]

    def add_child(self, child: GraphNode) -> None:
        self.children[child] = None
        child.parents[self] = None

    def remove_child(self, child: GraphNode) -> None:
        """Disconnect a child, if it is connected."""
        if child in self.children:
            del self.children[child]
            child.parents.pop(self, None)

    def clear_children(self) -> None:
        for child in list(self.children):
            self.remove_child(child)

    def find_upstream(self, matches: Callable[[GraphNode], bool]) -> GraphNode | None:
        """Return this node or its nearest ancestor that matches; of several branches the last one's result is used, as
        in Kafka."""
        if matches(self):
            return self
        found: GraphNode | None = None
        for parent in self.parents:
            if matches(parent):
                return parent
            found = parent.find_upstream(matches)
        return found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class RootNode(GraphNode):
    """Parent of all sources."""

    def __init__(self) -> None:
        super().__init__("root")

    def write(self, topology: TopologyBuilder) -> None:
        """Do nothing: the root is not part of the topology."""


class VersionedSemantics(Protocol):
    """A node whose processors behave differently on a versioned table."""

    def enable_versioned_semantics(self, parent_name: str) -> None:
        """Record that this parent's table is versioned."""


class ProcessorGraphNode(GraphNode):
    """A node with one processor.

    Attributes:
        supplier: Supplier of the processor.
    """

    def __init__(self, name: str, supplier: Callable[[], Any]) -> None:
        super().__init__(name)
        self.supplier = supplier

    def write(self, topology: TopologyBuilder) -> None:
        add_processor(topology, self.name, self.supplier, self.parent_names())


class StatefulProcessorNode(ProcessorGraphNode):
    """A processor with stores: its own, or those of other nodes by name.

    Attributes:
        window_close_ms: The time after which a window is closed, ms; None if it does not aggregate in windows.
    """

    def __init__(
        self,
        name: str,
        supplier: Callable[[], Any],
        *,
        store: Any = None,
        store_names: Sequence[str] = (),
        window_close_ms: int | None = None,
    ) -> None:
        super().__init__(name, supplier)
        self._store = store
        self._store_names = store_names
        self.window_close_ms = window_close_ms

    def write(self, topology: TopologyBuilder) -> None:
        super().write(topology)
        if self._store_names:
            topology.connect_processor_and_state_stores(self.name, *self._store_names)
        if self._store is not None:
            topology.add_state_store(self._store, self.name)


class StateStoreNode(GraphNode):
    """A store to which processors are connected by its name."""

    def __init__(self, store: Any) -> None:
        super().__init__(store.name)
        self._store = store

    def write(self, topology: TopologyBuilder) -> None:
        topology.add_state_store(self._store)


def add_processor(topology: TopologyBuilder, name: str, supplier: Callable[[], Any], parents: Sequence[str]) -> None:
    """Add a processor, and the stores that its supplier's method `stores` returns."""
    topology.add_processor(name, supplier, parents)
    stores = None if isinstance(supplier, type) else getattr(supplier, "stores", None)
    if callable(stores):
        for store in stores() or ():
            topology.add_state_store(store, name)
