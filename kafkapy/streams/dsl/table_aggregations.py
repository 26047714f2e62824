"""Aggregations of regrouped tables: each update subtracts the old value and adds the new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import GraphNode, StatefulProcessorNode
from kafkapy.streams.dsl.graph.repartitions import GroupedTableRepartitionNode, RepartitionTopic
from kafkapy.streams.dsl.graph.tables import VersionedProcessorNode
from kafkapy.streams.dsl.handles import TableHandle
from kafkapy.streams.dsl.materialization import materialize
from kafkapy.streams.dsl.names import REPARTITION_SUFFIX, SINK, SOURCE, OperatorName
from kafkapy.streams.dsl.store_factories import KeyValueStoreFactory
from kafkapy.streams.dsl.store_facts import StoreFacts
from kafkapy.streams.options.grouped import Grouped
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.processors.ktable_aggregate import KTableAggregate
from kafkapy.streams.processors.ktable_reduce import KTableReduce
from kafkapy.streams.processors.ktable_repartition_map import KTableRepartitionMap
from kafkapy.streams.serdes import Serdes

_AGGREGATE, _REDUCE = "KTABLE-AGGREGATE-", "KTABLE-REDUCE-"


@dataclass(slots=True, eq=False)
class GroupedTableHandle:
    """A regrouped table.

    Attributes:
        options: Serdes of new keys and values, and the name of the repartition topic.
        node: The operator that regroups.
        graph: The topology's graph.
        repartition_node: The repartition node of an earlier aggregation; later ones share it if the topic has a given
            name.
    """

    options: Grouped[Any, Any]
    node: GraphNode
    graph: LogicalGraph
    repartition_node: GroupedTableRepartitionNode | None = None


def grouped_table(
    table: TableHandle, selector: Callable[[Any, Any], tuple[Any, Any]], options: Grouped[Any, Any]
) -> GroupedTableHandle:
    """Return the table with new keys and values; several rows may have the same key."""
    name = OperatorName(options.name).or_generated(table.graph.names, "KTABLE-SELECT-")
    node = VersionedProcessorNode(name, KTableRepartitionMap(table, selector))
    table.graph.add(node, table.node)
    table.enable_sending_old_values(True)
    return GroupedTableHandle(options, node, table.graph)


def count_table(
    group: GroupedTableHandle, named: Named | None, materialized: Materialized[Any, Any] | None
) -> TableHandle:
    """Count rows."""
    facts = materialize(materialized or Materialized.with_(), group.graph, _AGGREGATE)
    facts.default_key_serde(group.options.key_serde)
    facts.default_value_serde(Serdes.long())
    supplier = KTableAggregate(facts.store_name, _zero, _increment, _decrement)
    return _table(group, supplier, named, _AGGREGATE, facts)


def reduce_table(
    group: GroupedTableHandle,
    adder: Callable[[Any, Any], Any],
    subtractor: Callable[[Any, Any], Any],
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
) -> TableHandle:
    """Combine the values of a key into one with a reducer. The store is named like that of an aggregation, as in
    Kafka."""
    facts = materialize(materialized or Materialized.with_(), group.graph, _AGGREGATE)
    facts.default_key_serde(group.options.key_serde)
    facts.default_value_serde(group.options.value_serde)
    return _table(group, KTableReduce(facts.store_name, adder, subtractor), named, _REDUCE, facts)


def aggregate_table(
    group: GroupedTableHandle,
    initializer: Callable[[], Any],
    adder: Callable[[Any, Any, Any], Any],
    subtractor: Callable[[Any, Any, Any], Any],
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
) -> TableHandle:
    """Add the values of a key to an aggregate."""
    facts = materialize(materialized or Materialized.with_(), group.graph, _AGGREGATE)
    facts.default_key_serde(group.options.key_serde)
    supplier = KTableAggregate(facts.store_name, initializer, adder, subtractor)
    return _table(group, supplier, named, _AGGREGATE, facts)


def _table(
    group: GroupedTableHandle, supplier: Any, named: Named | None, prefix: str, facts: StoreFacts
) -> TableHandle:
    graph = group.graph
    name = OperatorName.of(named)
    sink_name = name.with_suffix("-sink", graph.names, SINK)
    source_name = name.with_suffix("-source", graph.names, SOURCE)
    function_name = name.or_generated(graph.names, prefix)
    if group.repartition_node is None or group.options.name is None:
        group.repartition_node = _repartition_node(group, facts.store_name, sink_name, source_name)
    graph.add(group.repartition_node, group.node)
    node = StatefulProcessorNode(function_name, supplier, store=KeyValueStoreFactory(facts))
    node.is_output_versioned = facts.is_versioned
    graph.add(node, group.repartition_node)
    return TableHandle(
        function_name,
        facts.key_serde,
        facts.value_serde,
        (source_name,),
        facts.queryable_name,
        supplier,
        node,
        graph,
    )


def _repartition_node(
    group: GroupedTableHandle, store_name: str, sink_name: str, source_name: str
) -> GroupedTableRepartitionNode:
    options = group.options
    topic = (options.name if options.name is not None else store_name) + REPARTITION_SUFFIX
    return GroupedTableRepartitionNode(
        RepartitionTopic(topic, sink_name, source_name, None, options.key_serde, options.value_serde)
    )


def _zero() -> int:
    return 0


def _increment(key: Any, value: Any, aggregate: int) -> int:
    return aggregate + 1


def _decrement(key: Any, value: Any, aggregate: int) -> int:
    return aggregate - 1
