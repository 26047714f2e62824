"""When the windows of a table are closed."""

from __future__ import annotations

from kafkapy.streams.dsl.graph.node import GraphNode, StatefulProcessorNode
from kafkapy.streams.errors import TopologyException


def find_window_close(node: GraphNode, chain: str = "") -> int:
    """How long after their ends the windows of a table are closed, ms: as the aggregations say that it is derived from.

    Raises:
        TopologyException: It is derived from something that is not aggregated in windows.
    """
    if isinstance(node, StatefulProcessorNode) and node.window_close_ms is not None:
        return node.window_close_ms
    chain = f"{node.name}->{chain}" if chain else node.name
    if not node.parents:
        raise TopologyException(f"Window close time is only defined for windowed computations. Got [{chain}].")
    return max(find_window_close(parent, chain) for parent in node.parents)
