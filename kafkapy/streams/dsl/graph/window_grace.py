"""Finds the time at which windows of a table are closed."""

from __future__ import annotations

from kafkapy.streams.dsl.graph.node import GraphNode, StatefulProcessorNode
from kafkapy.streams.errors import TopologyException


def find_window_close(node: GraphNode, chain: str = "") -> int:
    """Return the time after which windows of a table are closed, ms, from the aggregations that it is derived from.

    Raises:
        TopologyException: The table is not derived from a windowed aggregation.
    """
    if isinstance(node, StatefulProcessorNode) and node.window_close_ms is not None:
        return node.window_close_ms
    chain = f"{node.name}->{chain}" if chain else node.name
    if not node.parents:
        raise TopologyException(f"Window close time is only defined for windowed computations. Got [{chain}].")
    return max(find_window_close(parent, chain) for parent in node.parents)
