"""Operators on one table, and sources of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import ProcessorGraphNode
from kafkapy.streams.dsl.graph.sources_and_sinks import GlobalStoreNode, TableSourceNode
from kafkapy.streams.dsl.graph.tables import TableProcessorNode, VersionedTableProcessorNode
from kafkapy.streams.dsl.handles import StreamHandle, TableHandle
from kafkapy.streams.dsl.materialization import materialize
from kafkapy.streams.dsl.names import SOURCE, SOURCE_SUFFIX, TABLE_SOURCE, OperatorName
from kafkapy.streams.dsl.store_factories import KeyValueStoreFactory
from kafkapy.streams.dsl.store_facts import StoreFacts
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.options.checks import required
from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.processor import ValueTransformerWithKey
from kafkapy.streams.processors.ktable_filter import KTableFilter
from kafkapy.streams.processors.ktable_map_values import KTableMapValues
from kafkapy.streams.processors.ktable_source import KTableSource
from kafkapy.streams.processors.ktable_to_stream import KTableToStream
from kafkapy.streams.processors.ktable_transform_values import KTableTransformValues
from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.table import KTableProcessorSupplier, KTableValueGetterSupplier

_FILTER, _MAP_VALUES = "KTABLE-FILTER-", "KTABLE-MAPVALUES-"
_TRANSFORM_VALUES, _TO_STREAM = "KTABLE-TRANSFORMVALUES-", "KTABLE-TOSTREAM-"


def table_source(
    graph: LogicalGraph, topic: str, consumed: Consumed[Any, Any], materialized: Materialized[Any, Any] | None
) -> TableHandle:
    """Return the table of a topic; its store has the serdes of the source."""
    facts = _source_facts(graph, topic, consumed, materialized)
    source_name, name = _source_names(graph, consumed)
    table = KTableSource(facts.store_name, facts.queryable_name)
    node = TableSourceNode(name, source_name, topic, consumed, KeyValueStoreFactory(facts), table)
    node.is_output_versioned = facts.is_versioned
    graph.add(node)
    return TableHandle(
        name, consumed.key_serde, consumed.value_serde, (source_name,), facts.queryable_name, table, node, graph
    )


def global_table_source(
    graph: LogicalGraph, topic: str, consumed: Consumed[Any, Any], materialized: Materialized[Any, Any] | None
) -> tuple[KTableValueGetterSupplier, str | None]:
    """Add a global table of a topic.

    Returns:
        The supplier of the getter of values, and the name by which the store can be queried.

    Raises:
        TopologyException: The store is versioned.
    """
    facts = _source_facts(graph, topic, consumed, materialized)
    if facts.is_versioned:
        raise TopologyException("GlobalTables cannot be versioned.")
    store = KeyValueStoreFactory(facts)
    store.disable_logging()
    source_name, name = _source_names(graph, consumed)
    table = KTableSource(facts.store_name, facts.store_name)
    graph.add(GlobalStoreNode(name, source_name, topic, consumed, store, table))
    return KTableMaterializedValueGetterSupplier(facts.store_name), facts.queryable_name


def global_store(
    graph: LogicalGraph, store: Any, topic: str, consumed: Consumed[Any, Any], supplier: Callable[[], Any]
) -> None:
    """Add a store that the application's processor fills from all partitions of a topic."""
    source_name, name = _source_names(graph, consumed)
    graph.add(GlobalStoreNode(name, source_name, topic, consumed, store, supplier))


def table_filtered(
    table: TableHandle,
    predicate: Callable[[Any, Any], Any],
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
    filter_not: bool,
) -> TableHandle:
    facts = _facts(table, materialized, _FILTER)
    name = OperatorName.of(named).or_generated(table.graph.names, _FILTER)
    supplier = KTableFilter(table, predicate, filter_not, _queryable(facts))
    node = VersionedTableProcessorNode(name, supplier, _store(facts))
    value_serde = table.value_serde if facts is None else facts.value_serde or table.value_serde
    return _derived(table, node, supplier, facts, value_serde)


def table_values_mapped(
    table: TableHandle,
    mapper: Callable[[Any, Any], Any],
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
) -> TableHandle:
    facts = _facts(table, materialized, _MAP_VALUES)
    name = OperatorName.of(named).or_generated(table.graph.names, _MAP_VALUES)
    supplier = KTableMapValues(table, mapper, _queryable(facts))
    node = TableProcessorNode(name, supplier, _store(facts))
    return _derived(table, node, supplier, facts, None if facts is None else facts.value_serde)


def table_values_transformed(
    table: TableHandle,
    transformer_supplier: Callable[[], ValueTransformerWithKey],
    store_names: Sequence[str],
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
) -> TableHandle:
    required(transformer_supplier, "transformerSupplier")
    facts = None if materialized is None else materialize(materialized, table.graph, None)
    name = OperatorName.of(named).or_generated(table.graph.names, _TRANSFORM_VALUES)
    supplier = KTableTransformValues(table, transformer_supplier, _queryable(facts))
    node = TableProcessorNode(name, supplier, _store(facts), store_names)
    return _derived(table, node, supplier, facts, None if facts is None else facts.value_serde)


def table_to_stream(table: TableHandle, named: Named | None) -> StreamHandle:
    name = OperatorName.of(named).or_generated(table.graph.names, _TO_STREAM)
    node = ProcessorGraphNode(name, KTableToStream())
    table.graph.add(node, table.node)
    return StreamHandle(name, table.key_serde, table.value_serde, table.sources, False, node, table.graph)


def _source_facts(
    graph: LogicalGraph, topic: str, consumed: Consumed[Any, Any], materialized: Materialized[Any, Any] | None
) -> StoreFacts:
    options = replace(
        materialized or Materialized.with_(), key_serde=consumed.key_serde, value_serde=consumed.value_serde
    )
    return materialize(options, graph, f"{topic}-")


def _source_names(graph: LogicalGraph, consumed: Consumed[Any, Any]) -> tuple[str, str]:
    """Return the names of the source and of the table's processor."""
    name = OperatorName(consumed.name)
    return name.with_suffix(SOURCE_SUFFIX, graph.names, SOURCE), name.or_generated(graph.names, TABLE_SOURCE)


def _facts(table: TableHandle, materialized: Materialized[Any, Any] | None, prefix: str) -> StoreFacts | None:
    """Return the facts of a derived table's store; one without a name is not built, but uses up a number."""
    if materialized is None:
        return None
    facts = materialize(materialized, table.graph, None)
    if facts.name is None:
        table.graph.names.store_name(prefix)
    return facts


def _queryable(facts: StoreFacts | None) -> str | None:
    return None if facts is None else facts.queryable_name


def _store(facts: StoreFacts | None) -> KeyValueStoreFactory | None:
    return None if facts is None or facts.queryable_name is None else KeyValueStoreFactory(facts)


def _derived(
    table: TableHandle,
    node: TableProcessorNode,
    supplier: KTableProcessorSupplier,
    facts: StoreFacts | None,
    value_serde: Any,
) -> TableHandle:
    key_serde = table.key_serde
    if facts is not None:
        node.is_output_versioned = facts.is_versioned
        key_serde = facts.key_serde or key_serde
    table.graph.add(node, table.node)
    return TableHandle(node.name, key_serde, value_serde, table.sources, _queryable(facts), supplier, node, table.graph)
