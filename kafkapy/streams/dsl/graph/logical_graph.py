"""The graph of declared operators, which is written to a `TopologyBuilder`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafkapy.streams.config import optimizations
from kafkapy.streams.dsl.graph.node import GraphNode, RootNode
from kafkapy.streams.dsl.graph.optimizer import merge_repartition_topics, rewrite_self_joins
from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode, RepartitionNode
from kafkapy.streams.dsl.graph.sources_and_sinks import StreamSourceNode, TableSourceNode
from kafkapy.streams.dsl.graph.tables import TableSuppressNode
from kafkapy.streams.dsl.names import NameCounter
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.java_priority_queue import JavaPriorityQueue
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.topology.topology_builder import TopologyBuilder


class LogicalGraph:
    """The graph of a topology (Kafka's `InternalStreamsBuilder`).

    Invariants: all nodes are reached from `root`; a node has a higher priority than its parents, until topics are merged.

    Attributes:
        names: Generates names of nodes and stores.
        topology: The builder that the graph is written to.
        store_type: Type of stores whose options name none; None: the application's.
        root: Parent of all sources.
    """

    def __init__(self, topology: TopologyBuilder, store_type: StoreType | None = None) -> None:
        self.names = NameCounter()
        self.topology = topology
        self.store_type = store_type
        self.root = RootNode()
        self._next_priority = 0
        self._repartitions: dict[GraphNode, dict[OptimizableRepartitionNode, None]] = {}
        """By node that changes keys: the repartition topics that it causes."""
        self._merges: list[GraphNode] = []
        self._tables: list[TableSourceNode] = []
        self._versioned: dict[GraphNode, None] = {}
        """Nodes whose processors behave differently on versioned tables."""
        self._suppressions: dict[TableSuppressNode, None] = {}

    def add(self, node: GraphNode, *parents: GraphNode) -> None:
        """Add a node as child of others; an existing node gets more parents."""
        for parent in parents or (self.root,):
            parent.add_child(node)
            node.priority = self._next_priority
            self._next_priority += 1
            self._register(node)

    def write(self, config: Mapping[str, Any] | None) -> None:
        """Optimize the graph, and write it.

        Args:
            config: The application's configuration, of which `topology.optimization` is used.

        Raises:
            TopologyException: The topology is invalid.
        """
        self._merge_duplicate_sources()
        self._optimize(config)
        self._enable_versioned_semantics()
        queue: JavaPriorityQueue[GraphNode] = JavaPriorityQueue()
        queue.add(self.root)
        while (node := queue.poll()) is not None:
            if not node.is_written and all(parent.is_written for parent in node.parents):
                node.write(self.topology)
                node.is_written = True
            for child in node.children:
                queue.add(child)
        self.topology.validate_copartition()

    def _register(self, node: GraphNode) -> None:
        if node.changes_key:
            self._repartitions[node] = {}
        elif isinstance(node, OptimizableRepartitionNode):
            changing = _key_changing_parent(node)
            if changing is not None:
                self._repartitions[changing][node] = None
        elif node.merges:
            if node not in self._merges:
                self._merges.append(node)
        elif isinstance(node, TableSourceNode):
            self._tables.append(node)
        if hasattr(node, "enable_versioned_semantics"):
            self._versioned[node] = None
        if isinstance(node, TableSuppressNode):
            self._suppressions[node] = None

    def _merge_duplicate_sources(self) -> None:
        by_topic: dict[str | tuple[str, int], StreamSourceNode] = {}
        for node in list(self.root.children):
            if not isinstance(node, StreamSourceNode):
                continue
            is_pattern = isinstance(node.topics, re.Pattern)
            keys = [(node.topics.pattern, node.topics.flags)] if isinstance(node.topics, re.Pattern) else node.topics
            for key in keys:
                main = by_topic.setdefault(key, node)
                if main is node:
                    continue
                if not is_pattern and set(main.topics) != set(node.topics):  # type: ignore[arg-type]
                    raise TopologyException("Two source nodes are subscribed to overlapping but not equal input topics")
                main.merge(node)
                self.root.remove_child(node)

    def _optimize(self, config: Mapping[str, Any] | None) -> None:
        wanted = optimizations(str((config or {}).get("topology.optimization") or "none"))
        if "reuse.ktable.source.topics" in wanted:
            for table in self._tables:
                table.reuses_topic = True
        if "merge.repartition.topics" in wanted:
            merge_repartition_topics(self._repartitions, self._merges, self.names, self.topology)
        if "single.store.self.join" in wanted:
            rewrite_self_joins(self.root)
        _drop_null_keys(self.root)

    def _enable_versioned_semantics(self) -> None:
        for node in self._versioned:
            for parent in node.parents:
                if self._is_versioned(parent):
                    node.enable_versioned_semantics(parent.name)  # type: ignore[attr-defined]
        for suppression in self._suppressions:
            if self._is_versioned_upstream(suppression):
                raise TopologyException(
                    "suppress() is only supported for non-versioned KTables "
                    "(note that version semantics might be inherited from upstream)"
                )

    def _is_versioned(self, node: GraphNode) -> bool:
        """Return whether the node's table is versioned, or derived from versioned ones without its own store."""
        versioned = node.is_output_versioned
        return self._is_versioned_upstream(node) if versioned is None else versioned

    def _is_versioned_upstream(self, node: GraphNode) -> bool:
        return node is not self.root and all(self._is_versioned(parent) for parent in node.parents)


def _key_changing_parent(node: OptimizableRepartitionNode) -> GraphNode | None:
    """Return the node that makes a repartition topic necessary, if the nodes in between change neither keys nor
    values."""
    changing = node.find_upstream(lambda one: one.changes_key)
    first = node.find_upstream(lambda one: one.changes_key or one.changes_value)
    return changing if first is changing else None


def _drop_null_keys(root: GraphNode) -> None:
    """Drop records without a key before repartition topics, unless a later join gives results for them (KIP-962)."""
    visited: set[GraphNode] = set()
    keeping: set[GraphNode] = set()

    def visit(node: GraphNode) -> None:
        if node in visited:
            return
        for child in node.children:
            visit(child)
            if child.takes_null_keys or child in keeping:
                keeping.add(node)
        visited.add(node)

    visit(root)
    for node in visited - keeping:
        if isinstance(node, RepartitionNode):
            node.drops_null_keys = True
