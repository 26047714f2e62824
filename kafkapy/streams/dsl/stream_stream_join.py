"""Joins of two streams within a window of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.dsl.graph.joins import JoinSide, StreamStreamJoinNode, WindowedStreamNode
from kafkapy.streams.dsl.handles import StreamHandle, copartitioned
from kafkapy.streams.dsl.join_store_factories import OuterStreamJoinStoreFactory, StreamJoinedStoreFactory
from kafkapy.streams.dsl.joiners import reversed_joiner
from kafkapy.streams.dsl.names import MERGE, OperatorName
from kafkapy.streams.dsl.stream_repartition import repartitioned_for_join
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.options.stream_joined import StreamJoined
from kafkapy.streams.processors.kstream_join_window import KStreamJoinWindow
from kafkapy.streams.processors.kstream_kstream_join import KStreamKStreamJoinLeftSide, KStreamKStreamJoinRightSide
from kafkapy.streams.processors.kstream_kstream_self_join import KStreamKStreamSelfJoin
from kafkapy.streams.processors.stateless import PassThrough
from kafkapy.streams.processors.time_tracker import TimeTrackerSupplier
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.store_suppliers import InMemoryWindowBytesStoreSupplier, RocksDbWindowBytesStoreSupplier
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.windows import JoinWindows


@dataclass(frozen=True, slots=True)
class StreamStreamJoin:
    """A join of two streams.

    Attributes:
        joiner: Function of key, left and right value.
        windows: Largest time differences of the records.
        joined: Options of the join.
        left_outer: Whether left records without a match give results.
        right_outer: Whether right records without a match give results.
    """

    joiner: Callable[[Any, Any, Any], Any]
    windows: JoinWindows
    joined: StreamJoined[Any, Any, Any]
    left_outer: bool
    right_outer: bool

    def of(self, left: StreamHandle, right: StreamHandle) -> StreamHandle:
        """Return the results; streams whose keys may have changed are repartitioned before the join.

        Raises:
            StreamsException: The store suppliers do not match the windows, or have the same name.
        """
        joined = self.joined
        name = OperatorName(joined.name)
        if left.needs_repartition:
            topic = name.with_suffix_or("-left", left.name)
            left = repartitioned_for_join(left, topic, joined.key_serde, joined.value_serde)
        if right.needs_repartition:
            topic = name.with_suffix_or("-right", right.name)
            right = repartitioned_for_join(right, topic, joined.key_serde, joined.other_value_serde)
        sources = copartitioned(left, [right])
        node = self._add(left, right, _JoinNames(name, left, self))
        return StreamHandle(node.name, joined.key_serde, None, sources, False, node, left.graph)

    def _add(self, left: StreamHandle, right: StreamHandle, names: _JoinNames) -> StreamStreamJoinNode:
        graph = left.graph
        left_store, right_store, outer_store = self._stores(graph.store_type, names)
        graph.add(WindowedStreamNode(names.left_windowed, KStreamJoinWindow(left_store.name)), left.node)
        graph.add(WindowedStreamNode(names.right_windowed, KStreamJoinWindow(right_store.name)), right.node)
        outer_name = None if outer_store is None else outer_store.name
        tracker = TimeTrackerSupplier()
        windows = self.windows
        retention_ms = windows.size_ms + windows.grace_period_ms
        node = StreamStreamJoinNode(
            names.merge,
            JoinSide(
                names.left,
                KStreamKStreamJoinLeftSide(
                    right_store.name, windows, self.joiner, self.left_outer, outer_name, tracker
                ),
                names.left_windowed,
                left_store,
            ),
            JoinSide(
                names.right,
                KStreamKStreamJoinRightSide(
                    left_store.name, windows, reversed_joiner(self.joiner), self.right_outer, outer_name, tracker
                ),
                names.right_windowed,
                right_store,
            ),
            PassThrough(),
            KStreamKStreamSelfJoin(left_store.name, windows, self.joiner, retention_ms),
            outer_store,
        )
        node.takes_null_keys = self.left_outer or self.right_outer
        graph.add(node, left.node, right.node)
        return node

    def _stores(self, store_type: Any, names: _JoinNames) -> tuple[Any, Any, Any]:
        """Return store factories for the left and right records, and for those without a match."""
        joined = self.joined
        this, other = joined.this_store_supplier, joined.other_store_supplier
        if this is not None and other is not None and this.name == other.name:
            raise StreamsException("Both StoreSuppliers have the same name.  StoreSuppliers must provide unique names")
        store_type = joined.store_type or store_type
        left = self._window_store(this, names.left_store, joined.value_serde, store_type)
        right = self._window_store(other, names.right_store, joined.other_value_serde, store_type)
        outer_type = joined.store_type or _store_type_of(this) or store_type
        outer = OuterStreamJoinStoreFactory(names.outer_store, joined, outer_type) if self.left_outer else None
        return left, right, outer

    def _window_store(self, supplier: Any, name: str, value_serde: Serde[Any] | None, store_type: Any) -> Any:
        if supplier is None:
            return StreamJoinedStoreFactory(name, self.windows, self.joined, value_serde, store_type)
        self._check(supplier)
        return Stores.window_store_builder(supplier, self.joined.key_serde, value_serde)

    def _check(self, supplier: Any) -> None:
        windows = self.windows
        if not supplier.retain_duplicates:
            raise StreamsException("The StoreSupplier must set retainDuplicates=true, found retainDuplicates=false")
        retention_ms = windows.size_ms + windows.grace_period_ms
        if supplier.retention_period != retention_ms or supplier.window_size != windows.size_ms:
            raise StreamsException(
                f"Window settings mismatch. WindowBytesStoreSupplier settings {supplier} must match JoinWindows settings "
                f"{windows} for the window size and retention period"
            )


def _store_type_of(supplier: Any) -> StoreType | None:
    """Return the type of the store for records without a match: that of the left records' store."""
    if isinstance(supplier, InMemoryWindowBytesStoreSupplier):
        return StoreType.IN_MEMORY
    return StoreType.ROCKS_DB if isinstance(supplier, RocksDbWindowBytesStoreSupplier) else None


class _JoinNames:
    """The names of a join's nodes and stores, numbered in Kafka's order."""

    def __init__(self, name: OperatorName, left: StreamHandle, join: StreamStreamJoin) -> None:
        names = left.graph.names
        left_suffix = "-outer-this-join" if join.right_outer else "-this-join"
        right_suffix = "-outer-other-join" if join.left_outer else "-other-join"
        self.left_windowed = name.with_suffix("-this-windowed", names, "KSTREAM-WINDOWED-")
        self.right_windowed = name.with_suffix("-other-windowed", names, "KSTREAM-WINDOWED-")
        left_prefix = "KSTREAM-OUTERTHIS-" if join.right_outer else "KSTREAM-JOINTHIS-"
        left_generated = names.processor_name(left_prefix)
        right_generated = names.processor_name("KSTREAM-OUTEROTHER-" if join.left_outer else "KSTREAM-JOINOTHER-")
        self.left = name.with_suffix_or(left_suffix, left_generated)
        self.right = name.with_suffix_or(right_suffix, right_generated)
        self.merge = name.with_suffix("-merge", names, MERGE)
        base = join.joined.store_name
        self.left_store = left_generated if base is None else base + left_suffix
        self.right_store = right_generated if base is None else base + right_suffix
        self.outer_store = self._outer_store(join, left_generated[len(left_prefix) :]) + "-store"

    def _outer_store(self, join: StreamStreamJoin, number: str) -> str:
        suffix = "-outer-shared-join" if join.right_outer else "-left-shared-join"
        joined = join.joined
        if joined.this_store_supplier is not None and joined.this_store_supplier.name:
            return f"{joined.this_store_supplier.name}{suffix}"
        return f"KSTREAM-OUTERSHARED-{number}" if joined.store_name is None else joined.store_name + suffix
