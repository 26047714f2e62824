"""Aggregations of grouped streams, windowed or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.dsl.column_aggregations import aggregate_in_columns, count_in_columns, reduce_in_columns
from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import GraphNode, StatefulProcessorNode
from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode
from kafkapy.streams.dsl.handles import StreamHandle, TableHandle
from kafkapy.streams.dsl.materialization import materialize
from kafkapy.streams.dsl.names import OperatorName
from kafkapy.streams.dsl.repartition_topics import repartition_topic
from kafkapy.streams.dsl.store_factories import (
    KeyValueStoreFactory,
    MaterializedStoreFactory,
    SessionStoreFactory,
    WindowStoreFactory,
)
from kafkapy.streams.dsl.store_facts import StoreFacts
from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.options.grouped import Grouped
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.processors.aggregations import KStreamAggProcessorSupplier
from kafkapy.streams.processors.kstream_aggregate import KStreamAggregate
from kafkapy.streams.processors.kstream_reduce import KStreamReduce
from kafkapy.streams.processors.kstream_session_window_aggregate import KStreamSessionWindowAggregate
from kafkapy.streams.processors.kstream_sliding_window_aggregate import KStreamSlidingWindowAggregate
from kafkapy.streams.processors.kstream_window_aggregate import KStreamWindowAggregate
from kafkapy.streams.serdes import Serde, Serdes
from kafkapy.streams.state.windowed_serdes import SessionWindowedSerde, TimeWindowedSerde
from kafkapy.streams.windows import SessionWindows, SlidingWindows, Windows

AGGREGATE = "KSTREAM-AGGREGATE-"
REDUCE = "KSTREAM-REDUCE-"

AnyWindows = Windows | SlidingWindows | SessionWindows


@dataclass(slots=True, eq=False)
class GroupedHandle:
    """A grouped stream.

    Attributes:
        stream: The grouped stream, with the serdes of the grouping.
        topic_name: Name of the repartition topic, if the application gave one.
        repartition_node: The repartition node of an earlier aggregation; later ones share it if the topic has a given
            name.
    """

    stream: StreamHandle
    topic_name: str | None
    repartition_node: OptimizableRepartitionNode | None = None

    @property
    def graph(self) -> LogicalGraph:
        return self.stream.graph

    def repartitioned(self, store_name: str) -> tuple[GraphNode, tuple[str, ...]]:
        """Return the parent node of an aggregation, and the sources of its records.

        Args:
            store_name: Store of the aggregation; the topic gets its name if the application gave none.
        """
        stream = self.stream
        if not stream.needs_repartition:
            return stream.node, stream.sources
        name = self.topic_name if self.topic_name is not None else store_name
        topic = repartition_topic(self.graph.names, name, stream.key_serde, stream.value_serde)
        if self.repartition_node is None or self.topic_name is None:
            self.repartition_node = OptimizableRepartitionNode(topic)
        self.graph.add(self.repartition_node, stream.node)
        return self.repartition_node, (topic.source_name,)


def grouped_stream(stream: StreamHandle, options: Grouped[Any, Any]) -> GroupedHandle:
    """Return the stream grouped by its key."""
    handle = StreamHandle(
        stream.name,
        options.key_serde,
        options.value_serde,
        stream.sources,
        stream.needs_repartition,
        stream.node,
        stream.graph,
        in_columns=stream.in_columns,
    )
    return GroupedHandle(handle, options.name)


@dataclass(frozen=True, slots=True)
class Windowing:
    """The windows of an aggregation; none for a plain one.

    Attributes:
        windows: The windows. None: all records of a key are aggregated.
        emit_strategy: When results are emitted.
    """

    windows: AnyWindows | None
    emit_strategy: EmitStrategy

    def store(self, facts: StoreFacts) -> MaterializedStoreFactory:
        """Return the factory of the store."""
        windows = self.windows
        if windows is None:
            return KeyValueStoreFactory(facts)
        if isinstance(windows, SessionWindows):
            return SessionStoreFactory(facts, windows, self.emit_strategy)
        return WindowStoreFactory(facts, windows, self.emit_strategy)

    def supplier(
        self, store_name: str, initializer: Callable[[], Any], aggregator: Callable[..., Any], merger: Any
    ) -> KStreamAggProcessorSupplier:
        """Return the supplier of the processors."""
        windows = self.windows
        if windows is None:
            return KStreamAggregate(store_name, initializer, aggregator)
        emit = self.emit_strategy
        if isinstance(windows, SessionWindows):
            return KStreamSessionWindowAggregate(windows, store_name, emit, initializer, aggregator, merger)
        if isinstance(windows, SlidingWindows):
            return KStreamSlidingWindowAggregate(windows, store_name, emit, initializer, aggregator)
        return KStreamWindowAggregate(windows, store_name, emit, initializer, aggregator)

    def key_serde(self, serde: Serde[Any] | None) -> Serde[Any] | None:
        """Return the serde of the table's keys, for windowed keys if there are windows."""
        windows = self.windows
        if windows is None or serde is None:
            return serde
        if isinstance(windows, SessionWindows):
            return SessionWindowedSerde(serde)
        size_ms = windows.time_difference_ms if isinstance(windows, SlidingWindows) else windows.size_ms
        return TimeWindowedSerde(serde, size_ms)

    @property
    def close_ms(self) -> int | None:
        """Return how long after its end a window is closed, in ms; None without windows."""
        windows = self.windows
        if windows is None:
            return None
        if isinstance(windows, SessionWindows):
            return windows.grace_period_ms + windows.inactivity_gap_ms
        return windows.grace_period_ms


PLAIN = Windowing(None, EmitStrategy.on_window_update())


def count(
    group: GroupedHandle, windowing: Windowing, named: Named | None, materialized: Materialized[Any, Any] | None
) -> TableHandle:
    """Count records. Options without a store name use up one more number than no options, except with sliding
    windows."""
    stream = group.stream
    if materialized is None:
        options = Materialized.with_(stream.key_serde, Serdes.long())
    else:
        options = materialized
        is_sliding = isinstance(windowing.windows, SlidingWindows)
        if options.store_name is None and options.store_supplier is None and not is_sliding:
            group.graph.names.store_name(AGGREGATE)
    facts = materialize(options, group.graph, AGGREGATE)
    facts.default_key_serde(stream.key_serde)
    facts.default_value_serde(Serdes.long())
    name = OperatorName.of(named).or_generated(group.graph.names, AGGREGATE)
    supplier: KStreamAggProcessorSupplier | None = None
    if stream.in_columns:
        supplier = count_in_columns(windowing.windows, windowing.emit_strategy, facts.store_name, _zero, _count)
    if supplier is None:
        supplier = windowing.supplier(facts.store_name, _zero, _count, _sum)
    return _table(group, windowing, name, facts, supplier)


def reduce(
    group: GroupedHandle,
    windowing: Windowing,
    reducer: Callable[[Any, Any], Any],
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
) -> TableHandle:
    """Combine the values of a key into one with a reducer."""
    stream = group.stream
    facts = materialize(materialized or Materialized.with_(), group.graph, REDUCE)
    facts.default_key_serde(stream.key_serde)
    facts.default_value_serde(stream.value_serde)
    name = OperatorName.of(named).or_generated(group.graph.names, REDUCE)
    aggregator = _aggregator_of(reducer)
    supplier: KStreamAggProcessorSupplier | None = None
    if stream.in_columns:
        supplier = reduce_in_columns(
            windowing.windows, windowing.emit_strategy, facts.store_name, reducer, _nothing, aggregator
        )
    if supplier is not None:
        return _table(group, windowing, name, facts, supplier)
    if windowing.windows is None:
        supplier = KStreamReduce(facts.store_name, reducer)
    else:
        supplier = windowing.supplier(facts.store_name, _nothing, aggregator, _merger_of(aggregator))
    return _table(group, windowing, name, facts, supplier)


def aggregate(
    group: GroupedHandle,
    windowing: Windowing,
    initializer: Callable[[], Any],
    aggregator: Callable[[Any, Any, Any], Any],
    merger: Callable[[Any, Any, Any], Any] | None,
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
) -> TableHandle:
    """Add the values of a key to an aggregate."""
    facts = materialize(materialized or Materialized.with_(), group.graph, AGGREGATE)
    facts.default_key_serde(group.stream.key_serde)
    name = OperatorName.of(named).or_generated(group.graph.names, AGGREGATE)
    supplier: KStreamAggProcessorSupplier | None = None
    if group.stream.in_columns:
        supplier = aggregate_in_columns(
            windowing.windows, windowing.emit_strategy, facts.store_name, initializer, aggregator
        )
    if supplier is None:
        supplier = windowing.supplier(facts.store_name, initializer, aggregator, merger)
    return _table(group, windowing, name, facts, supplier)


def _table(
    group: GroupedHandle, windowing: Windowing, name: str, facts: StoreFacts, supplier: KStreamAggProcessorSupplier
) -> TableHandle:
    store = windowing.store(facts)
    parent, sources = group.repartitioned(facts.store_name)
    node = StatefulProcessorNode(name, supplier, store=store, window_close_ms=windowing.close_ms)
    node.is_output_versioned = windowing.windows is None and facts.is_versioned
    group.graph.add(node, parent)
    key_serde = windowing.key_serde(facts.key_serde)
    return TableHandle(name, key_serde, facts.value_serde, sources, facts.queryable_name, supplier, node, group.graph)


def _zero() -> int:
    return 0


def _count(key: Any, value: Any, aggregate: int) -> int:
    return aggregate + 1


def _sum(key: Any, left: int, right: int) -> int:
    return left + right


def _nothing() -> None:
    return None


def _aggregator_of(reducer: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return an aggregator that reduces; the initial aggregate in windows is None."""
    return lambda key, value, aggregate: value if aggregate is None else reducer(aggregate, value)


def _merger_of(aggregator: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return a merger of sessions that adds the second session's aggregate to the first as a value."""
    return lambda key, first, second: aggregator(key, second, first)
