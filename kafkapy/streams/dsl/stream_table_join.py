"""Joins of a stream with a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.dsl.graph.joins import StreamTableJoinNode
from kafkapy.streams.dsl.graph.node import ProcessorGraphNode, StateStoreNode
from kafkapy.streams.dsl.handles import StreamHandle, TableHandle, copartitioned
from kafkapy.streams.dsl.names import OperatorName
from kafkapy.streams.dsl.stream_repartition import repartitioned_for_join
from kafkapy.streams.options.joined import Joined
from kafkapy.streams.options.named import Named
from kafkapy.streams.processors.kstream_global_ktable_join import KStreamGlobalKTableJoin
from kafkapy.streams.processors.kstream_ktable_join import KStreamKTableJoin
from kafkapy.streams.processors.table import KTableValueGetterSupplier
from kafkapy.streams.state.time_ordered_key_value_buffer import RocksDBTimeOrderedKeyValueBufferBuilder

_JOIN, _LEFT_JOIN = "KSTREAM-JOIN-", "KSTREAM-LEFTJOIN-"


def join_with_table(
    stream: StreamHandle,
    table: TableHandle,
    joiner: Callable[[Any, Any, Any], Any],
    joined: Joined[Any, Any, Any],
    is_left: bool,
) -> StreamHandle:
    """Return the results; the stream is repartitioned before the join if its keys may have changed.

    Raises:
        ValueError: There is a grace period, but the table is not versioned.
    """
    if stream.needs_repartition:
        name = joined.name if joined.name is not None else stream.name
        stream = repartitioned_for_join(stream, name, joined.key_serde, joined.value_serde)
    graph = stream.graph
    sources = copartitioned(stream, [table])
    name = OperatorName(joined.name).or_generated(graph.names, _LEFT_JOIN if is_left else _JOIN)
    buffer_name = None
    if joined.grace_ms is not None:
        if table.node.is_output_versioned is False:
            raise ValueError("KTable must be versioned to use a grace period in a stream table join.")
        buffer_name = f"{name}-Buffer"
        graph.add(StateStoreNode(_buffer(stream, joined, joined.grace_ms, buffer_name, name)))
    values = table.value_getter_supplier()
    supplier = KStreamKTableJoin(values, joiner, is_left, joined.grace_ms, buffer_name)
    if stream.in_columns:
        from kafkapy.streams.columns.stream_table_join import KStreamKTableJoinInColumns

        supplier = KStreamKTableJoinInColumns(values, joiner, is_left, joined.grace_ms, buffer_name)
    node = StreamTableJoinNode(name, supplier, values.store_names(), joined.grace_ms, buffer_name)
    graph.add(node, stream.node)
    node.takes_null_keys = is_left
    key_serde = joined.key_serde or stream.key_serde
    return StreamHandle(name, key_serde, None, sources, False, node, graph, in_columns=stream.in_columns)


def _buffer(
    stream: StreamHandle, joined: Joined[Any, Any, Any], grace_ms: int, buffer_name: str, topic: str
) -> RocksDBTimeOrderedKeyValueBufferBuilder:
    """Return the buffer of the stream's records (with its serdes since 3.9.1)."""
    key_serde = joined.key_serde or stream.key_serde
    value_serde = joined.value_serde or stream.value_serde
    return RocksDBTimeOrderedKeyValueBufferBuilder(buffer_name, grace_ms, topic, key_serde, value_serde)


def join_with_global_table(
    stream: StreamHandle,
    values: KTableValueGetterSupplier,
    key_selector: Callable[[Any, Any], Any],
    joiner: Callable[[Any, Any, Any], Any],
    named: Named | None,
    is_left: bool,
) -> StreamHandle:
    """Return the results. Keys, and the need of repartitioning, are unchanged. Both kinds have the names of left
    joins, as in Kafka."""
    graph = stream.graph
    name = OperatorName.of(named).or_generated(graph.names, _LEFT_JOIN)
    node = ProcessorGraphNode(name, KStreamGlobalKTableJoin(values, joiner, key_selector, is_left))
    node.takes_null_keys = is_left
    graph.add(node, stream.node)
    return StreamHandle(name, stream.key_serde, None, stream.sources, stream.needs_repartition, node, graph)
