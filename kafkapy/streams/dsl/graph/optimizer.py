"""The optimizations of `topology.optimization`: fewer repartition topics, and a single store for self-joins."""

from __future__ import annotations

from collections.abc import Iterable

from kafkapy.streams.dsl.graph.joins import StreamStreamJoinNode, WindowedStreamNode
from kafkapy.streams.dsl.graph.node import GraphNode
from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode
from kafkapy.streams.dsl.names import NameCounter
from kafkapy.streams.dsl.repartition_topics import repartition_topic
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.topology.topology_builder import TopologyBuilder

Repartitions = dict[GraphNode, dict[OptimizableRepartitionNode, None]]


def merge_repartition_topics(
    repartitions: Repartitions, merges: Iterable[GraphNode], names: NameCounter, topology: TopologyBuilder
) -> None:
    """Replace the repartition topics caused by one change of keys by a single topic right after the change.

    Args:
        repartitions: The topics by node that changes keys; merged ones are removed.
        merges: Nodes that merge streams.
        names: Generates names of the new nodes.
        topology: The builder, which has the copartitioned sources.

    Raises:
        StreamsException: There is no path from the change to a topic.
    """
    _attribute_to_merges(repartitions, merges)
    for changing, replaced in list(repartitions.items()):
        if not replaced:
            continue
        single = _single_repartition(replaced, names)
        single.priority = changing.priority
        for node in replaced:
            _replace(node, changing, single)
            topology.update_copartition_source_groups(node.name, single.name)
        changing.add_child(single)
        del repartitions[changing]


def _single_repartition(
    replaced: Iterable[OptimizableRepartitionNode], names: NameCounter
) -> OptimizableRepartitionNode:
    """Return the merged topic, with the first one's name, and the first known serdes."""
    topics = [node.topic for node in replaced]
    key_serde = next((topic.key_serde for topic in topics if topic.key_serde is not None), None)
    value_serde = next((topic.value_serde for topic in topics if topic.value_serde is not None), None)
    return OptimizableRepartitionNode(repartition_topic(names, topics[0].topic, key_serde, value_serde))


def _replace(node: OptimizableRepartitionNode, changing: GraphNode, single: OptimizableRepartitionNode) -> None:
    """Remove a repartition, and move the nodes between it and the change of keys after the new one."""
    child = node.find_upstream(lambda one: changing in one.parents)
    if child is None:
        raise StreamsException(f"Found a null keyChangingChild node for {node}")
    single.add_child(child)
    changing.remove_child(child)
    parents = list(node.parents)
    for after in list(node.children):
        for parent in parents:
            parent.add_child(after)
    for parent in parents:
        parent.remove_child(node)
    node.clear_children()


def _attribute_to_merges(repartitions: Repartitions, merges: Iterable[GraphNode]) -> None:
    """Attribute topics after a merge to the merge, if keys were changed before it."""
    attributed: dict[GraphNode, list[GraphNode]] = {}
    for merge in merges:
        attributed[merge] = [
            changing
            for changing, nodes in repartitions.items()
            if all(_is_after(node, merge) for node in nodes) and _is_after(merge, changing)
        ]
    for merge, changing_nodes in attributed.items():
        repartitions[merge] = {node: None for changing in changing_nodes for node in repartitions[changing]}
    for changing in {node: None for nodes in attributed.values() for node in nodes}:
        repartitions.pop(changing, None)


def _is_after(node: GraphNode, other: GraphNode) -> bool:
    return node.find_upstream(lambda one: other in one.parents) is not None


def rewrite_self_joins(root: GraphNode) -> None:
    """Use a single store for a stream that is joined with itself.

    Raises:
        RuntimeError: The two sides are not in the order of their declaration.
    """
    visited: set[GraphNode] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node in visited:
            continue
        visited.add(node)
        if isinstance(node, StreamStreamJoinNode) and len(node.parents) == 1:
            _rewrite_self_join(node)
        pending.extend(node.children)


def _rewrite_self_join(join: StreamStreamJoinNode) -> None:
    parent = next(iter(join.parents))
    windowed = {
        child.name: child
        for child in parent.children
        if isinstance(child, WindowedStreamNode) and child.priority < join.priority
    }
    left = windowed.get(join.this.parent)
    right = windowed.get(join.other.parent)
    if left is None or right is None or left.priority >= right.priority:
        raise RuntimeError(f"Expected the left node {left} to have smaller build priority than the right node {right}.")
    parent.remove_child(right)
    join.is_self_join = True
