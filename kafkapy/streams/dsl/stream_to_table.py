"""Converts a stream to a table."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.dsl.graph.node import GraphNode
from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode
from kafkapy.streams.dsl.graph.tables import TableProcessorNode
from kafkapy.streams.dsl.handles import StreamHandle, TableHandle
from kafkapy.streams.dsl.materialization import materialize
from kafkapy.streams.dsl.names import OperatorName
from kafkapy.streams.dsl.repartition_topics import repartition_topic
from kafkapy.streams.dsl.store_factories import KeyValueStoreFactory
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.processors.ktable_source import KTableSource

_TO_TABLE = "KSTREAM-TOTABLE-"


def to_table(stream: StreamHandle, named: Named | None, materialized: Materialized[Any, Any] | None) -> TableHandle:
    """Return the table; the stream is repartitioned if its keys may have changed."""
    graph = stream.graph
    name = OperatorName.of(named).or_generated(graph.names, _TO_TABLE)
    options = materialized or Materialized.with_(stream.key_serde, stream.value_serde)
    facts = materialize(options, graph, _TO_TABLE)
    key_serde = facts.key_serde or stream.key_serde
    value_serde = facts.value_serde or stream.value_serde
    parent: GraphNode = stream.node
    sources = stream.sources
    if stream.needs_repartition:
        parent = OptimizableRepartitionNode(repartition_topic(graph.names, name, key_serde, value_serde))
        graph.add(parent, stream.node)
        sources = (parent.name,)
    table = KTableSource(facts.store_name, facts.queryable_name)
    node = TableProcessorNode(name, table, KeyValueStoreFactory(facts))
    node.is_output_versioned = facts.is_versioned
    graph.add(node, parent)
    return TableHandle(name, key_serde, value_serde, sources, facts.queryable_name, table, node, graph)
