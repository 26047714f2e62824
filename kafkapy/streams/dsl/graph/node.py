"""The operators of a topology as a graph, before they are written to a `TopologyBuilder`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kafkapy.streams.topology.topology_builder import TopologyBuilder


class GraphNode(ABC):
    """An operator with those before and after it (Kafka's `GraphNode`).

    Invariant: a node is among the children of its parents and among the parents of its children.

    Attributes:
        name: Of its node in the topology, or of the first of several.
        parents: In the order in which they were connected.
        children: In the order in which they were connected.
        changes_key: Records may need repartitioning after it.
        changes_value: A repartition topic cannot be moved before it.
        merges: It merges streams.
        priority: Nodes are written in this order.
        is_written: It is in the topology.
        is_output_versioned: Whether its table is kept in a versioned store; None: as the table that it is derived from.
        takes_null_keys: It is a join that gives results for records without a key, so these stay in repartition topics before it.
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
        """The priority, as the queue wants it."""
        return self.priority

    @abstractmethod
    def write(self, topology: TopologyBuilder) -> None:
        """Add it to the topology; its parents are there already."""

    def parent_names(self) -> list[str]:
        return [parent.name for parent in self.parents]

    def add_child(self, child: GraphNode) -> None:
        self.children[child] = None
        child.parents[self] = None

    def remove_child(self, child: GraphNode) -> None:
        """Disconnect a child, if it is one."""
        if child in self.children:
            del self.children[child]
            child.parents.pop(self, None)

    def clear_children(self) -> None:
        for child in list(self.children):
            self.remove_child(child)

    def find_upstream(self, matches: Callable[[GraphNode], bool]) -> GraphNode | None:
        """This node or the next before it that matches; among several branches Kafka looks at the last one's result."""
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
    """What all sources are children of."""

    def __init__(self) -> None:
        super().__init__("root")

    def write(self, topology: TopologyBuilder) -> None:
        """It is no node of the topology."""


class VersionedSemantics(Protocol):
    """A node whose processors work differently on a versioned table."""

    def enable_versioned_semantics(self, parent_name: str) -> None:
        """The table of this parent is versioned."""


class ProcessorGraphNode(GraphNode):
    """A node with one processor.

    Attributes:
        supplier: Makes the processor.
    """

    def __init__(self, name: str, supplier: Callable[[], Any]) -> None:
        super().__init__(name)
        self.supplier = supplier

    def write(self, topology: TopologyBuilder) -> None:
        add_processor(topology, self.name, self.supplier, self.parent_names())


class StatefulProcessorNode(ProcessorGraphNode):
    """A processor with stores: its own, or those of others by their names.

    Attributes:
        window_close_ms: If it aggregates in windows, how long after its end a window is closed, ms.
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
    """A store that processors are connected to by its name."""

    def __init__(self, store: Any) -> None:
        super().__init__(store.name)
        self._store = store

    def write(self, topology: TopologyBuilder) -> None:
        topology.add_state_store(self._store)


def add_processor(topology: TopologyBuilder, name: str, supplier: Callable[[], Any], parents: Sequence[str]) -> None:
    """Add a processor, and the stores that its supplier brings along in a method `stores`."""
    topology.add_processor(name, supplier, parents)
    stores = None if isinstance(supplier, type) else getattr(supplier, "stores", None)
    if callable(stores):
        for store in stores() or ():
            topology.add_state_store(store, name)
