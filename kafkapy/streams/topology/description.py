"""Describes a topology as text, in the format of Java's `Topology#describe`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.streams.topology.node_specs import NodeSpec, ProcessorSpec, SinkSpec, SourceSpec


@dataclass(slots=True, eq=False)
class DescribedNode:
    """A node with its neighbours; nodes are ordered by `size`, the number of paths that start at the node."""

    spec: NodeSpec
    size: int = 1
    predecessors: list[DescribedNode] = field(default_factory=list)
    successors: list[DescribedNode] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.spec.name

    def grow(self, delta: int) -> None:
        """Increase the size of this node and its ancestors."""
        self.size += delta
        for predecessor in self.predecessors:
            predecessor.grow(delta)

    def __str__(self) -> str:
        spec = self.spec
        if isinstance(spec, SourceSpec):
            return f"Source: {spec.name} (topics: {_topics(spec)})\n      --> {_names(self.successors)}"
        before = f"\n      <-- {_names(self.predecessors)}"
        if isinstance(spec, SinkSpec):
            where = f"topic: {spec.topic}" if isinstance(spec.topic, str) else f"extractor class: {spec.topic!r}"
            return f"Sink: {spec.name} ({where}){before}"
        assert isinstance(spec, ProcessorSpec)
        stores = ", ".join(hash_map_order(spec.stores))
        return f"Processor: {spec.name} (stores: [{stores}])\n      --> {_names(self.successors)}{before}"


class Subtopology(NamedTuple):
    """Nodes that are connected by records or stores: a task runs one partition of them.

    Attributes:
        id: The first part of a task's id.
        nodes: In the order of the description.
        is_global: Whether it maintains a global table and so has no tasks.
    """

    id: int
    nodes: list[DescribedNode]
    is_global: bool = False

    def __str__(self) -> str:
        text = "".join(f"    {node}\n" for node in self.nodes)
        if self.is_global:
            return f"Sub-topology: {self.id} for global store (will not generate tasks)\n{text}"
        return f"Sub-topology: {self.id}\n{text}\n"


class TopologyDescription:
    """All sub-topologies; `str()` gives Java's format.

    Attributes:
        subtopologies: In the order of their ids.

    Example:
        >>> from kafkapy.streams import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> builder.stream("lines").to("copies")
        >>> len(builder.build().describe().subtopologies)
        1
    """

    def __init__(self, subtopologies: list[Subtopology]) -> None:
        self.subtopologies = subtopologies

    def __str__(self) -> str:
        return "Topologies:\n " + "".join(f"  {one}" for one in self.subtopologies)

    def __repr__(self) -> str:
        return f"<TopologyDescription of {len(self.subtopologies)} sub-topologies>"


def describe(groups: Mapping[int, Iterable[NodeSpec]], global_groups: set[int]) -> TopologyDescription:
    """Describe groups of nodes; `global_groups` are those of global tables."""
    return TopologyDescription(
        [Subtopology(id, _connected(specs), id in global_groups) for id, specs in sorted(groups.items())]
    )


def _connected(specs: Iterable[NodeSpec]) -> list[DescribedNode]:
    nodes = {spec.name: DescribedNode(spec) for spec in specs}
    for node in nodes.values():
        for name in node.spec.predecessors:
            predecessor = nodes[name]
            node.predecessors.append(predecessor)
            predecessor.successors.append(node)
            predecessor.grow(node.size)
    return _ordered(nodes.values())


def _ordered(nodes: Iterable[DescribedNode]) -> list[DescribedNode]:
    return sorted(nodes, key=lambda node: (-node.size, node.name))


def _names(nodes: list[DescribedNode]) -> str:
    return ", ".join(node.name for node in _ordered(nodes)) or "none"


def _topics(spec: SourceSpec) -> str:
    pattern: re.Pattern[str] | None = spec.pattern
    return pattern.pattern if pattern is not None else f"[{', '.join(hash_map_order(spec.topics))}]"
