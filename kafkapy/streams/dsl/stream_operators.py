"""Stateless operators of streams, sources, merges and sinks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import GraphNode, ProcessorGraphNode, StatefulProcessorNode
from kafkapy.streams.dsl.graph.repartitions import UnoptimizableRepartitionNode
from kafkapy.streams.dsl.graph.sources_and_sinks import StreamSinkNode, StreamSourceNode
from kafkapy.streams.dsl.handles import StreamHandle
from kafkapy.streams.dsl.names import FILTER, MERGE, SINK, SOURCE, OperatorName
from kafkapy.streams.dsl.repartition_topics import repartition_topic
from kafkapy.streams.options.checks import required
from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.named import Named
from kafkapy.streams.options.produced import Produced
from kafkapy.streams.options.repartitioned import Repartitioned
from kafkapy.streams.processors.stateless import (
    KStreamFilter,
    KStreamFlatMap,
    KStreamFlatMapValues,
    KStreamMap,
    KStreamMapValues,
    KStreamPeek,
    KStreamSelectKey,
    PassThrough,
)

Function = Callable[..., Any]


def source(graph: LogicalGraph, topics: Sequence[str] | re.Pattern[str], consumed: Consumed[Any, Any]) -> StreamHandle:
    """Return a stream of topics."""
    name = OperatorName(consumed.name).or_generated(graph.names, SOURCE)
    node = StreamSourceNode(name, topics, consumed)
    graph.add(node)
    return StreamHandle(name, consumed.key_serde, consumed.value_serde, (name,), False, node, graph)


def filtered(stream: StreamHandle, predicate: Function, named: Named | None, filter_not: bool) -> StreamHandle:
    name = _name(stream, named, FILTER)
    return _same_types(stream, ProcessorGraphNode(name, KStreamFilter(predicate, filter_not)))


def peeked(stream: StreamHandle, action: Function, named: Named | None) -> StreamHandle:
    name = _name(stream, named, "KSTREAM-PEEK-")
    return _same_types(stream, ProcessorGraphNode(name, KStreamPeek(action, True)))


def for_each(stream: StreamHandle, action: Function, named: Named | None) -> None:
    name = _name(stream, named, "KSTREAM-FOREACH-")
    stream.graph.add(ProcessorGraphNode(name, KStreamPeek(action, False)), stream.node)


def with_new_key(stream: StreamHandle, mapper: Function, name: OperatorName) -> StreamHandle:
    """Return a stream with a new key; it must be repartitioned before operations by key."""
    node = ProcessorGraphNode(name.or_generated(stream.graph.names, "KSTREAM-KEY-SELECT-"), KStreamSelectKey(mapper))
    return replace(_rekeyed(stream, node), value_serde=stream.value_serde)


def mapped(stream: StreamHandle, mapper: Function, named: Named | None) -> StreamHandle:
    return _rekeyed(stream, ProcessorGraphNode(_name(stream, named, "KSTREAM-MAP-"), KStreamMap(mapper)))


def flat_mapped(stream: StreamHandle, mapper: Function, named: Named | None) -> StreamHandle:
    return _rekeyed(stream, ProcessorGraphNode(_name(stream, named, "KSTREAM-FLATMAP-"), KStreamFlatMap(mapper)))


def values_mapped(stream: StreamHandle, mapper: Function, named: Named | None, with_key: bool) -> StreamHandle:
    name = _name(stream, named, "KSTREAM-MAPVALUES-")
    return _revalued(stream, ProcessorGraphNode(name, KStreamMapValues(mapper, with_key)))


def values_flat_mapped(stream: StreamHandle, mapper: Function, named: Named | None, with_key: bool) -> StreamHandle:
    name = _name(stream, named, "KSTREAM-FLATMAPVALUES-")
    return _revalued(stream, ProcessorGraphNode(name, KStreamFlatMapValues(mapper, with_key)))


def batches_mapped(stream: StreamHandle, mapper: Function, named: Named | None, keeps_keys: bool) -> StreamHandle:
    """Return a stream of the results of a function of record batches."""
    from kafkapy.streams.columns.map_batches import KStreamMapBatches

    supplier = KStreamMapBatches(mapper, stream.key_serde, stream.value_serde)
    node = ProcessorGraphNode(_name(stream, named, "KSTREAM-MAPBATCHES-"), supplier)
    made = _revalued(stream, node) if keeps_keys else _rekeyed(stream, node)
    return replace(made, in_columns=True)


def processed(
    stream: StreamHandle, supplier: Callable[[], Any], store_names: Sequence[str], named: Named | None, keeps_key: bool
) -> StreamHandle:
    """Return a stream of the records that the application's processors forward; a given name uses up no number."""
    _check_supplier(supplier)
    for store in store_names:
        required(store, "stateStoreNames")
    prefix = "KSTREAM-PROCESSVALUES-" if keeps_key else "KSTREAM-PROCESSOR-"
    name = stream.graph.names.processor_name(prefix) if named is None else named.name
    node = StatefulProcessorNode(name, supplier, store_names=store_names)
    stream.graph.add(node, stream.node)
    key_serde = stream.key_serde if keeps_key else None
    needs_repartition = stream.needs_repartition or not keeps_key
    return StreamHandle(name, key_serde, None, stream.sources, needs_repartition, node, stream.graph)


def merged(stream: StreamHandle, other: StreamHandle, named: Named | None) -> StreamHandle:
    name = _name(stream, named, MERGE)
    node = ProcessorGraphNode(name, PassThrough())
    node.merges = True
    stream.graph.add(node, stream.node, other.node)
    sources = tuple(dict.fromkeys(stream.sources + other.sources))
    needs_repartition = stream.needs_repartition or other.needs_repartition
    return StreamHandle(name, None, None, sources, needs_repartition, node, stream.graph)


def repartitioned(stream: StreamHandle, options: Repartitioned[Any, Any]) -> StreamHandle:
    """Return a stream that goes through a topic; the topic never uses the stream's serde of keys, as in Kafka."""
    graph = stream.graph
    name = options.name if options.name is not None else graph.names.processor_name("KSTREAM-REPARTITION-")
    value_serde = options.value_serde or stream.value_serde
    topic = repartition_topic(
        graph.names, name, options.key_serde, value_serde, options.stream_partitioner, options.number_of_partitions
    )
    node = UnoptimizableRepartitionNode(topic)
    graph.add(node, stream.node)
    key_serde = options.key_serde or stream.key_serde
    return StreamHandle(
        node.name, key_serde, value_serde, (node.name,), False, node, graph, in_columns=stream.in_columns
    )


def sent(stream: StreamHandle, topic: str | Callable[[Any, Any, Any], str], produced: Produced[Any, Any]) -> None:
    """Write a stream to a topic."""
    options = replace(
        produced,
        key_serde=produced.key_serde or stream.key_serde,
        value_serde=produced.value_serde or stream.value_serde,
    )
    name = OperatorName(produced.name).or_generated(stream.graph.names, SINK)
    stream.graph.add(StreamSinkNode(name, topic, options), stream.node)


def _name(stream: StreamHandle, named: Named | None, prefix: str) -> str:
    return OperatorName.of(named).or_generated(stream.graph.names, prefix)


def _same_types(stream: StreamHandle, node: GraphNode) -> StreamHandle:
    stream.graph.add(node, stream.node)
    return replace(stream, name=node.name, node=node, repartition_node=None)


def _rekeyed(stream: StreamHandle, node: GraphNode) -> StreamHandle:
    node.changes_key = True
    return replace(_same_types(stream, node), key_serde=None, value_serde=None, needs_repartition=True)


def _revalued(stream: StreamHandle, node: GraphNode) -> StreamHandle:
    node.changes_value = True
    return replace(_same_types(stream, node), value_serde=None)


def _check_supplier(supplier: Callable[[], Any]) -> None:
    """Check that a supplier returns a new processor for each task.

    Raises:
        ValueError: The supplier returned the same processor twice.
    """
    if required(supplier, "processorSupplier")() is supplier():
        raise ValueError(
            f"{type(supplier).__name__} generates single reference. A supplier must return a new object each time it is called."
        )
