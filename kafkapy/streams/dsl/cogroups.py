"""Aggregates several grouped streams into one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.dsl.aggregations import GroupedHandle, Windowing
from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import GraphNode, ProcessorGraphNode, StatefulProcessorNode
from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode
from kafkapy.streams.dsl.handles import TableHandle, copartitioned
from kafkapy.streams.dsl.materialization import materialize
from kafkapy.streams.dsl.names import OperatorName
from kafkapy.streams.dsl.repartition_topics import repartition_topic
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.processors.aggregations import KStreamAggProcessorSupplier
from kafkapy.streams.processors.ktable_pass_through import KTablePassThrough

_AGGREGATE, _MERGE = "COGROUPKSTREAM-AGGREGATE-", "COGROUPKSTREAM-MERGE-"


class Cogroup:
    """Grouped streams with an aggregator for each.

    Invariant: each stream has at most one parent node, which aggregations of the cogroup share.
    """

    def __init__(self, graph: LogicalGraph) -> None:
        self._graph = graph
        self._aggregators: dict[GroupedHandle, Callable[[Any, Any, Any], Any]] = {}
        self._parents: dict[GroupedHandle, GraphNode] = {}

    def add(self, group: GroupedHandle, aggregator: Callable[[Any, Any, Any], Any]) -> None:
        """Add a stream."""
        self._aggregators[group] = aggregator

    def aggregate(
        self,
        windowing: Windowing,
        initializer: Callable[[], Any],
        merger: Callable[[Any, Any, Any], Any] | None,
        named: Named | None,
        materialized: Materialized[Any, Any] | None,
    ) -> TableHandle:
        """Return the table: each stream has a processor, all share the store."""
        names = self._graph.names
        facts = materialize(materialized or Materialized.with_(), self._graph, _AGGREGATE)
        name = OperatorName.of(named)
        store = windowing.store(facts)
        self._repartition(facts.store_name)
        suppliers: list[KStreamAggProcessorSupplier] = []
        nodes: list[GraphNode] = []
        for number, (group, aggregator) in enumerate(self._aggregators.items()):
            supplier = windowing.supplier(facts.store_name, initializer, aggregator, merger)
            node = StatefulProcessorNode(
                name.with_suffix(f"-cogroup-agg-{number}", names, _AGGREGATE),
                supplier,
                store=None if nodes else store,
                store_names=[facts.store_name] if nodes else (),
                window_close_ms=windowing.close_ms,
            )
            if windowing.windows is None:
                node.is_output_versioned = facts.is_versioned
            suppliers.append(supplier)
            nodes.append(node)
            self._graph.add(node, self._parents[group])
        merge_name = name.with_suffix("-cogroup-merge", names, _MERGE)
        table = KTablePassThrough(suppliers, facts.store_name)
        merge = ProcessorGraphNode(merge_name, table)
        self._graph.add(merge, *nodes)
        key_serde = windowing.key_serde(facts.key_serde)
        return TableHandle(
            merge_name,
            key_serde,
            facts.value_serde,
            (merge_name,),
            facts.queryable_name,
            table,
            merge,
            self._graph,
        )

    def _repartition(self, store_name: str) -> None:
        """Repartition the streams so that all are copartitioned by key."""
        for group in self._aggregators:
            stream = group.stream
            if not stream.needs_repartition:
                self._parents[group] = stream.node
                continue
            name = group.topic_name if group.topic_name is not None else store_name
            topic = repartition_topic(self._graph.names, name, stream.key_serde, stream.value_serde)
            if group not in self._parents:
                node = OptimizableRepartitionNode(topic)
                self._graph.add(node, stream.node)
                self._parents[group] = node
        first, *others = [group.stream for group in self._parents]
        copartitioned(first, others)
