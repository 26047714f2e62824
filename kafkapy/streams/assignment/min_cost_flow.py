"""Computes a minimum-cost flow through a graph (Kafka's `Graph`), which assigns tasks to instances."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

_UNLIMITED = 2**31 - 1


@dataclass(slots=True)
class Edge:
    """An edge from one node to another.

    Attributes:
        destination: The node at its end.
        capacity: Largest flow.
        cost: Cost of each unit.
        flow: Present flow.
    """

    destination: int
    capacity: int
    cost: int
    flow: int


@dataclass(slots=True)
class _Residual:
    """An edge of the residual graph.

    Attributes:
        left: Residual capacity.
        flow: Present flow; 0 for a backward edge.
        counter: The edge in the other direction.
    """

    destination: int
    cost: int
    left: int
    flow: int
    is_forward: bool
    counter: _Residual | None = field(default=None, repr=False)

    def push(self, amount: int) -> None:
        counter = self.counter
        assert counter is not None
        self.left -= amount
        if self.is_forward:
            self.flow += amount
        counter.left += amount
        if counter.is_forward and counter.flow >= amount:
            counter.flow -= amount


_Residuals = dict[int, dict[int, _Residual]]


class FlowGraph:
    """A directed graph with capacities and costs.

    Invariant: between two nodes there is at most one edge, in one direction. Nodes and edges are visited by ascending number,
    as in Java, because the order determines the choice among solutions of the same cost.

    Args:
        source: The node where all flow begins.
        sink: The node where it ends.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._edges: dict[int, dict[int, Edge]] = {}
        self._nodes: set[int] = set()

    def add(self, start: int, end: int, capacity: int, cost: int, flow: int) -> None:
        """Add an edge.

        Raises:
            ValueError: There is an edge in the other direction, or the flow exceeds the capacity.
        """
        if flow > capacity:
            raise ValueError(f"Edge flow {flow} cannot exceed capacity {capacity}")
        if start in self._edges.get(end, ()):
            raise ValueError(f"There is already an edge from {end} to {start}")
        self._edges.setdefault(start, {})[end] = Edge(end, capacity, cost, flow)
        self._nodes |= {start, end}

    def edges(self, node: int) -> list[Edge]:
        """Return the edges that begin at a node."""
        found = self._edges.get(node, {})
        return [found[end] for end in sorted(found)]

    def total_cost(self) -> int:
        """Return the cost of the present flow."""
        return sum(edge.cost * edge.flow for edges in self._edges.values() for edge in edges.values())

    def find_greatest_flow(self) -> int:
        """Maximize the flow (Ford-Fulkerson), regardless of cost; return its amount."""
        residuals = self._residuals()
        while path := self._path(residuals):
            amount = min(edge.left for edge in path)
            for edge in path:
                edge.push(amount)
        self._take(residuals)
        return sum(edge.flow for edge in self.edges(self._source))

    def find_least_cost(self) -> None:
        """Minimize the cost of the present amount of flow, by cancelling cycles of negative cost."""
        residuals = self._residuals()
        while cycle := self._negative_cycle(residuals):
            amount = min(edge.left for edge in cycle)
            for edge in cycle:
                edge.push(amount)
        self._take(residuals)

    # --- within -----------------------------------------------------------------------------------------------------------

    def _residuals(self) -> _Residuals:
        found: _Residuals = {}
        for start, edges in self._edges.items():
            for end, edge in edges.items():
                there = _Residual(end, edge.cost, edge.capacity - edge.flow, edge.flow, True)
                back = _Residual(start, -edge.cost, edge.flow, 0, False, there)
                there.counter = back
                found.setdefault(start, {})[end] = there
                found.setdefault(end, {})[start] = back
        return {start: dict(sorted(found[start].items())) for start in sorted(found)}

    def _take(self, residuals: _Residuals) -> None:
        for start, edges in self._edges.items():
            for end, edge in edges.items():
                edge.flow = residuals[start][end].flow

    def _path(self, residuals: _Residuals) -> list[_Residual]:
        """Return the edges of a shortest path from source to sink, the last one first; empty if there is none."""
        came_by: dict[int, tuple[int, _Residual]] = {}
        queue = deque([self._source])
        while queue and self._sink not in came_by:
            node = queue.popleft()
            for end, edge in residuals[node].items():
                if edge.left > 0 and end not in came_by and end != self._source:
                    came_by[end] = node, edge
                    queue.append(end)
        path: list[_Residual] = []
        node = self._sink
        while node in came_by:
            node, edge = came_by[node]
            path.append(edge)
        return path

    def _negative_cycle(self, residuals: _Residuals) -> list[_Residual]:
        """Return the edges of a cycle of negative cost (Bellman-Ford); empty if there is none."""
        distances = dict.fromkeys(self._nodes, 0)
        came_by: dict[int, tuple[int, _Residual]] = {}
        found: int | None = None
        for turn in range(len(self._nodes) + 1):
            found = self._relax(residuals, distances, came_by, stop_at_first=turn == len(self._nodes))
        if found is None:
            return []
        seen: set[int] = set()
        node = found
        while node not in seen:
            seen.add(node)
            node = came_by[node][0]
        cycle: list[_Residual] = []
        start = node
        while not cycle or node != start:
            node, edge = came_by[node]
            cycle.append(edge)
        return cycle

    def _relax(
        self,
        residuals: _Residuals,
        distances: dict[int, int],
        came_by: dict[int, tuple[int, _Residual]],
        *,
        stop_at_first: bool,
    ) -> int | None:
        """Shorten distances along all edges; return the first node whose distance was shortened, if requested."""
        for start, edges in residuals.items():
            for end, edge in edges.items():
                if edge.left and distances[end] > distances[start] + edge.cost:
                    distances[end] = distances[start] + edge.cost
                    came_by[end] = start, edge
                    if stop_at_first:
                        return end
        return None
