"""Streams and tables as applications have them (Kafka's DSL in snake_case).

The classes stand in one file because each makes others: a stream is grouped, aggregated into a table, and made a stream again.
What the operators do is said in the modules below; here are their arguments.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar, overload

from kafkapy.streams.dsl import stream_operators, table_operators
from kafkapy.streams.dsl.aggregations import PLAIN, GroupedHandle, Windowing, aggregate, count, grouped_stream, reduce
from kafkapy.streams.dsl.arguments import bound, stored, typed
from kafkapy.streams.dsl.cogroups import Cogroup
from kafkapy.streams.dsl.foreign_key_join import ForeignKeyJoin
from kafkapy.streams.dsl.handles import StreamHandle, TableHandle
from kafkapy.streams.dsl.joiners import keyed_joiner
from kafkapy.streams.dsl.names import OperatorName
from kafkapy.streams.dsl.stream_branches import Split
from kafkapy.streams.dsl.stream_stream_join import StreamStreamJoin
from kafkapy.streams.dsl.stream_table_join import join_with_global_table, join_with_table
from kafkapy.streams.dsl.stream_to_table import to_table
from kafkapy.streams.dsl.suppression import suppress
from kafkapy.streams.dsl.table_aggregations import (
    GroupedTableHandle,
    aggregate_table,
    count_table,
    grouped_table,
    reduce_table,
)
from kafkapy.streams.dsl.table_table_join import join_tables
from kafkapy.streams.options.branched import Branched
from kafkapy.streams.options.checks import required
from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.options.grouped import Grouped
from kafkapy.streams.options.joined import Joined
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.options.produced import Produced
from kafkapy.streams.options.repartitioned import Repartitioned
from kafkapy.streams.options.stream_joined import StreamJoined
from kafkapy.streams.options.suppressed import Suppressed
from kafkapy.streams.options.table_joined import TableJoined
from kafkapy.streams.processor import FixedKeyProcessor, Processor, ValueTransformerWithKey
from kafkapy.streams.processors.table import KTableValueGetterSupplier
from kafkapy.streams.records import Windowed
from kafkapy.streams.serdes import Serde
from kafkapy.streams.windows import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

K = TypeVar("K")
V = TypeVar("V")
KR = TypeVar("KR")
VR = TypeVar("VR")
KO = TypeVar("KO")
VO = TypeVar("VO")
VA = TypeVar("VA")
GK = TypeVar("GK")
GV = TypeVar("GV")
T = TypeVar("T")

Maybe: TypeAlias = T | Awaitable[T]
"""What a function returns that may be a coroutine function."""
Materialization = Materialized[Any, Any]


class KStream(Generic[K, V]):
    """Records one after another: each stands for itself.

    Functions may be coroutine functions; each call is awaited before the operator goes on, so the order of records
    stays. `named` gives the operator's node a name in place of a generated one. A None for a function raises
    TypeError; a name that no topic could have raises TopologyException.

    Args:
        handle: The place in the topology; `StreamsBuilder` creates it.

    Example:
        >>> from kafkapy.streams import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> words = builder.stream("lines").flat_map_values(lambda line: line.lower().split())
        >>> words.filter(lambda key, word: len(word) > 3).to("long-words")
        >>> print(builder.build().describe())  # doctest: +ELLIPSIS
        Topologies:
           Sub-topology: 0
            Source: KSTREAM-SOURCE-0000000000 (topics: [lines])
              --> KSTREAM-FLATMAPVALUES-0000000001
        ...
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: StreamHandle) -> None:
        self._handle = handle

    # --- record by record -------------------------------------------------------------------------------------------------

    def filter(self, predicate: Callable[[K, V], Maybe[bool]], named: Named | None = None) -> KStream[K, V]:
        """Keep the records that match a predicate.

        Args:
            predicate: Function of key and value; returns whether the record matches.
            named: Name of the node. None (default): a generated one.
        """
        required(predicate, "predicate")
        return KStream(stream_operators.filtered(self._handle, predicate, named, False))

    def filter_not(self, predicate: Callable[[K, V], Maybe[bool]], named: Named | None = None) -> KStream[K, V]:
        """Keep the records that do not match a predicate; see `filter`.

        Args:
            predicate: Function of key and value.
            named: Name of the node. None (default): a generated one.
        """
        required(predicate, "predicate")
        return KStream(stream_operators.filtered(self._handle, predicate, named, True))

    @overload
    def select_key(self, mapper: Callable[[K, V], Awaitable[KR]], named: Named | None = None) -> KStream[KR, V]: ...
    @overload
    def select_key(self, mapper: Callable[[K, V], KR], named: Named | None = None) -> KStream[KR, V]: ...
    def select_key(self, mapper: Callable[[K, V], Any], named: Named | None = None) -> KStream[Any, V]:
        """Change the keys. Grouping and joins then repartition the stream.

        Args:
            mapper: Function of key and value; returns the new key.
            named: Name of the node. None (default): a generated one.
        """
        required(mapper, "mapper")
        return KStream(stream_operators.with_new_key(self._handle, mapper, OperatorName.of(named)))

    def map(self, mapper: Callable[[K, V], Maybe[tuple[KR, VR]]], named: Named | None = None) -> KStream[KR, VR]:
        """Change keys and values. Grouping and joins then repartition the stream.

        Args:
            mapper: Function of key and value; returns the new key and the new value.
            named: Name of the node. None (default): a generated one.
        """
        required(mapper, "mapper")
        return KStream(stream_operators.mapped(self._handle, mapper, named))

    @overload
    def map_values(self, mapper: Callable[[V], Awaitable[VR]], named: Named | None = None) -> KStream[K, VR]: ...
    @overload
    def map_values(self, mapper: Callable[[V], VR], named: Named | None = None) -> KStream[K, VR]: ...
    @overload
    def map_values(
        self, mapper: Callable[[K, V], Awaitable[VR]], named: Named | None = None, *, with_key: bool
    ) -> KStream[K, VR]: ...
    @overload
    def map_values(
        self, mapper: Callable[[K, V], VR], named: Named | None = None, *, with_key: bool
    ) -> KStream[K, VR]: ...
    def map_values(
        self, mapper: Callable[..., Any], named: Named | None = None, *, with_key: bool = False
    ) -> KStream[K, Any]:
        """Change the values.

        Args:
            mapper: Function of the value (with `with_key`, of key and value); returns the new value.
            named: Name of the node. None (default): a generated one.
            with_key: Whether the mapper gets the key, too; it must not change it.
        """
        required(mapper, "mapper")
        return KStream(stream_operators.values_mapped(self._handle, mapper, named, with_key))

    def map_batches(
        self, mapper: Callable[[Any], Any], named: Named | None = None, *, keeps_keys: bool = False
    ) -> KStream[Any, Any]:
        """Transform Arrow record batches by a function; subsequent aggregations compute on arrays. Needs
        `kafkapy[arrow]`.

        Args:
            mapper: Of a `pyarrow.RecordBatch` with the columns `key`, `value`, `timestamp` (ms) and `headers`, another
                one. It gives `value`, and `key`, `timestamp` and `headers` where they change or the number of rows
                does. It must not depend on where batches begin: with little load each has one row.
            named: Name of the node. None (default): a generated one.
            keeps_keys: The function changes no keys, so that grouping and joins need no repartitioning.

        Raises:
            ImportError: pyarrow is not installed.
        """
        required(mapper, "mapper")
        return KStream(stream_operators.batches_mapped(self._handle, mapper, named, keeps_keys))

    def in_columns(self) -> KStream[K, V]:
        """Process the stream in columns: `count` and `reduce` after `group_by_key` compute on arrays. Needs
        `kafkapy[arrow]`.

        Updates of a key within a batch are merged, as a record cache merges them. Reducers that are computed by arrays
        are `total`, `least` and `greatest` of `kafkapy.streams.columns.reducers`; others are called for each record.

        Raises:
            ImportError: pyarrow is not installed.
        """
        import kafkapy.streams.columns.aggregations  # noqa: F401 - a missing pyarrow shows here

        return KStream(replace(self._handle, in_columns=True))

    def flat_map(
        self, mapper: Callable[[K, V], Maybe[Iterable[tuple[KR, VR]]]], named: Named | None = None
    ) -> KStream[KR, VR]:
        """Replace each record by any number of records. Grouping and joins then repartition the stream.

        Args:
            mapper: Function of key and value; returns pairs of new key and new value.
            named: Name of the node. None (default): a generated one.
        """
        required(mapper, "mapper")
        return KStream(stream_operators.flat_mapped(self._handle, mapper, named))

    @overload
    def flat_map_values(
        self, mapper: Callable[[V], Maybe[Iterable[VR]]], named: Named | None = None
    ) -> KStream[K, VR]: ...
    @overload
    def flat_map_values(
        self, mapper: Callable[[K, V], Maybe[Iterable[VR]]], named: Named | None = None, *, with_key: bool
    ) -> KStream[K, VR]: ...
    def flat_map_values(
        self, mapper: Callable[..., Any], named: Named | None = None, *, with_key: bool = False
    ) -> KStream[K, Any]:
        """Replace each record by any number of records with the same key.

        Args:
            mapper: Function of the value (with `with_key`, of key and value); returns the new values.
            named: Name of the node. None (default): a generated one.
            with_key: Whether the mapper gets the key, too.
        """
        required(mapper, "mapper")
        return KStream(stream_operators.values_flat_mapped(self._handle, mapper, named, with_key))

    def peek(self, action: Callable[[K, V], Any], named: Named | None = None) -> KStream[K, V]:
        """Call a function for each record, and return the stream unchanged.

        Args:
            action: Function of key and value.
            named: Name of the node. None (default): a generated one.
        """
        required(action, "action")
        return KStream(stream_operators.peeked(self._handle, action, named))

    def foreach(self, action: Callable[[K, V], Any], named: Named | None = None) -> None:
        """Call a function for each record; this ends the stream. See `peek`.

        Args:
            action: Function of key and value.
            named: Name of the node. None (default): a generated one.
        """
        required(action, "action")
        stream_operators.for_each(self._handle, action, named)

    def process(
        self, supplier: Callable[[], Processor], *state_store_names: str, named: Named | None = None
    ) -> KStream[Any, Any]:
        """Process records with a processor of the application. Grouping and joins then repartition the stream.

        Args:
            supplier: Function without arguments; returns a new `Processor` at each call. If it has a method `stores`,
                its store builders are added.
            state_store_names: Names of the stores that the processors use; see `StreamsBuilder.add_state_store`.
            named: Name of the node. None (default): a generated one.

        Raises:
            ValueError: The supplier gives one object twice.
        """
        return KStream(stream_operators.processed(self._handle, supplier, state_store_names, named, False))

    def process_values(
        self, supplier: Callable[[], FixedKeyProcessor], *state_store_names: str, named: Named | None = None
    ) -> KStream[K, Any]:
        """Process records with a processor that must not change keys; see `process`.

        Args:
            supplier: Function without arguments; returns a new `FixedKeyProcessor` at each call.
            state_store_names: Names of the stores that the processors use.
            named: Name of the node. None (default): a generated one.

        Raises:
            ValueError: The supplier gives one object twice.
        """
        return KStream(stream_operators.processed(self._handle, supplier, state_store_names, named, True))

    # --- where streams go -------------------------------------------------------------------------------------------------

    def split(self, named: Named | None = None) -> BranchedKStream[K, V]:
        """Split the stream into branches.

        Args:
            named: Name of the node, and prefix of the branches. None (default): a generated one.
        """
        return BranchedKStream(Split(self._handle, named))

    def merge(self, stream: KStream[K, V], named: Named | None = None) -> KStream[K, V]:
        """Merge two streams, without an order between their records.

        Args:
            stream: The other stream.
            named: Name of the node. None (default): a generated one.
        """
        required(stream, "stream")
        return KStream(stream_operators.merged(self._handle, stream._handle, named))

    def repartition(self, repartitioned: Repartitioned[Any, Any] | None = None) -> KStream[K, V]:
        """Repartition the stream through an internal topic.

        Args:
            repartitioned: Name, serdes and partitions of the topic.
        """
        return KStream(stream_operators.repartitioned(self._handle, repartitioned or Repartitioned()))

    def to(
        self,
        topic: str | Callable[[K, V, Any], str],
        produced: Produced[Any, Any] | None = None,
        *,
        key: Serde[Any] | type[Any] | None = None,
        value: Serde[Any] | type[Any] | None = None,
    ) -> None:
        """Write the stream to a topic.

        Args:
            topic: Its name, or a function of key, value and the record's context that names one for each record.
            produced: Serdes, partitioning and the node's name.
            key: Serde or type of keys, in place of that in `produced`; see `serde_of`.
            value: Serde or type of values, in place of that in `produced`.
        """
        required(topic, "topic")
        stream_operators.sent(self._handle, topic, typed(produced or Produced(), key, value))

    def to_table(self, named: Named | None = None, materialized: Materialization | None = None) -> KTable[K, V]:
        """Convert to a table: each record updates the row of its key, a null value deletes it.

        Args:
            named: Name of the node. None (default): a generated one.
            materialized: Options of the table's store. None (default): default options.
        """
        return KTable(to_table(self._handle, named, materialized))

    # --- grouping ---------------------------------------------------------------------------------------------------------

    def group_by(
        self, key_selector: Callable[[K, V], Maybe[KR]], grouped: Grouped[Any, Any] | None = None
    ) -> KGroupedStream[KR, V]:
        """Group by a new key; the stream is repartitioned.

        Args:
            key_selector: Function of key and value; returns the new key.
            grouped: Serdes, and the name of the repartition topic.
        """
        required(key_selector, "keySelector")
        options = grouped or Grouped(None, None, self._handle.value_serde)
        stream = stream_operators.with_new_key(self._handle, key_selector, OperatorName(options.name))
        return KGroupedStream(grouped_stream(stream, options))

    def group_by_key(self, grouped: Grouped[Any, Any] | None = None) -> KGroupedStream[K, V]:
        """Group by the key; the stream is repartitioned only if keys may have changed.

        Args:
            grouped: Serdes, and the name of the repartition topic.
        """
        handle = self._handle
        return KGroupedStream(grouped_stream(handle, grouped or Grouped(None, handle.key_serde, handle.value_serde)))

    # --- joins ------------------------------------------------------------------------------------------------------------

    @overload
    def join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., VR],
        windows: JoinWindows,
        joined: StreamJoined[Any, Any, Any] | None = None,
        *,
        with_key: bool = False,
    ) -> KStream[K, VR]: ...
    @overload
    def join(
        self,
        other: KTable[K, VO],
        joiner: Callable[..., VR],
        joined: Joined[Any, Any, Any] | None = None,
        *,
        with_key: bool = False,
    ) -> KStream[K, VR]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[GK, GV],
        key_selector: Callable[[K, V], GK | None],
        joiner: Callable[..., VR],
        named: Named | None = None,
        *,
        with_key: bool = False,
    ) -> KStream[K, VR]: ...
    def join(self, other: Any, *arguments: Any, with_key: bool = False, **options: Any) -> KStream[K, Any]:
        """Join each record with those of another stream, or with the row of a table.

        With a stream: `join(stream, joiner, windows, joined)`; records of one key that are close enough in time.
        With a table: `join(table, joiner, joined)`; the row of the record's key.
        With a global table: `join(global_table, key_selector, joiner, named)`; the row of a key that the record names.

        Args:
            other: The stream or table.
            arguments: In these orders, or by these names.
            with_key: Whether the joiner gets the key before the two values.
            options: See `arguments`.

        Raises:
            TypeError: An argument is missing, or `other` is none of the three.
            ValueError: Records shall wait for those of a table that is not versioned (`Joined.with_grace_period`).
            StreamsException: Store suppliers do not fit the windows.
        """
        return self._join(other, arguments, options, with_key, False)

    @overload
    def left_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., VR],
        windows: JoinWindows,
        joined: StreamJoined[Any, Any, Any] | None = None,
        *,
        with_key: bool = False,
    ) -> KStream[K, VR]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[..., VR],
        joined: Joined[Any, Any, Any] | None = None,
        *,
        with_key: bool = False,
    ) -> KStream[K, VR]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[GK, GV],
        key_selector: Callable[[K, V], GK | None],
        joiner: Callable[..., VR],
        named: Named | None = None,
        *,
        with_key: bool = False,
    ) -> KStream[K, VR]: ...
    def left_join(self, other: Any, *arguments: Any, with_key: bool = False, **options: Any) -> KStream[K, Any]:
        """Join like `join`; records without a match are joined with None.

        Args:
            other: The other side.
            with_key: Whether the joiner is given the key first. Default False.
            arguments: As in `join`.
            options: As in `join`.
        """
        return self._join(other, arguments, options, with_key, True)

    def outer_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., VR],
        windows: JoinWindows,
        joined: StreamJoined[Any, Any, Any] | None = None,
        *,
        with_key: bool = False,
    ) -> KStream[K, VR]:
        """Join each record with those of another stream; those of either without a match are joined with None.

        Args:
            other: The other stream.
            joiner: Function of both values, one of which may be None; returns the result.
            windows: How far apart the records may be.
            joined: Serdes, names and stores.
            with_key: Whether the joiner gets the key before the two values.

        Raises:
            StreamsException: Store suppliers do not fit the windows.
        """
        return self._stream_join(other, joiner, windows, joined, with_key, True, True)

    def _join(self, other: Any, arguments: Any, options: Any, with_key: bool, is_left: bool) -> KStream[K, Any]:
        if isinstance(other, KStream):
            joiner, windows, joined = bound(arguments, options, "joiner", "windows", "joined")
            return self._stream_join(other, joiner, windows, joined, with_key, is_left, False)
        if isinstance(other, KTable):
            joiner, joined = bound(arguments, options, "joiner", "joined")
            keyed = keyed_joiner(required(joiner, "joiner"), with_key)
            return KStream(join_with_table(self._handle, other._handle, keyed, joined or Joined(), is_left))
        if isinstance(other, GlobalKTable):
            selector, joiner, named = bound(arguments, options, "key_selector", "joiner", "named")
            keyed = keyed_joiner(required(joiner, "joiner"), with_key)
            required(selector, "keySelector")
            return KStream(join_with_global_table(self._handle, other._values, selector, keyed, named, is_left))
        raise TypeError(f"a KStream, KTable or GlobalKTable is expected, not {type(other).__name__}")

    def _stream_join(
        self, other: Any, joiner: Any, windows: Any, joined: Any, with_key: bool, left_outer: bool, right_outer: bool
    ) -> KStream[K, Any]:
        keyed = keyed_joiner(required(joiner, "joiner"), with_key)
        required(windows, "windows")
        join = StreamStreamJoin(keyed, windows, joined or StreamJoined(), left_outer, right_outer)
        return KStream(join.of(self._handle, required(other, "otherStream")._handle))


class BranchedKStream(Generic[K, V]):
    """A stream that is being split: each record goes to the first branch whose predicate matches.

    Args:
        split: The split that branches are added to; of `KStream.split`.

    Example:
        >>> from kafkapy.streams import Branched, Named, StreamsBuilder
        >>> split = StreamsBuilder().stream("amounts").split(Named.as_("size-"))
        >>> branches = split.branch(lambda key, value: value > 100, Branched.as_("large")).default_branch()
        >>> sorted(branches)
        ['size-0', 'size-large']
    """

    __slots__ = ("_branches", "_split")

    def __init__(self, split: Split) -> None:
        self._split = split
        self._branches: dict[str, KStream[K, V]] = {}

    def branch(
        self, predicate: Callable[[K, V], Maybe[bool]], branched: Branched[Any, Any] | None = None
    ) -> BranchedKStream[K, V]:
        """Add a branch.

        Args:
            predicate: Function of key and value; returns whether the record matches.
            branched: Its name, and the function or consumer for its stream.
        """
        self._add(required(predicate, "predicate"), branched or Branched())
        return self

    def default_branch(self, branched: Branched[Any, Any] | None = None) -> dict[str, KStream[K, V]]:
        """Add a branch for the records that match no other branch.

        Args:
            branched: Its name, and the function or consumer for its stream.

        Returns:
            Name of the node -> stream, for all branches without a consumer.
        """
        self._add(None, branched or Branched())
        return self._branches

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """Drop the records that match no branch; return the same as `default_branch`."""
        return self._branches

    def _add(self, predicate: Callable[[Any, Any], Any] | None, branched: Branched[Any, Any]) -> None:
        handle = self._split.branch(predicate, branched.name)
        stream: KStream[K, V] | None = KStream(handle)
        if branched.function is not None:
            stream = branched.function(stream)
        elif branched.consumer is not None:
            branched.consumer(stream)
            return
        if stream is not None:
            self._branches[handle.name] = stream


class KTable(Generic[K, V]):
    """Rows by their keys: a record updates the row of its key, and a null value deletes it.

    `named` gives the operator's node a name in place of a generated one. With `materialized` the result is kept in a
    store, which can be queried if it has a name. A None for a function raises TypeError; a name that no topic could
    have TopologyException.

    Args:
        handle: The place in the topology; `StreamsBuilder` creates it.

    Example:
        >>> from kafkapy.streams import Materialized, StreamsBuilder
        >>> adults = StreamsBuilder().table("users").filter(
        ...     lambda key, user: user["age"] >= 18, materialized=Materialized.as_("adults"))
        >>> adults.queryable_store_name
        'adults'
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle

    @property
    def queryable_store_name(self) -> str | None:
        """Return the name of its store; None if it cannot be queried."""
        return self._handle.queryable_store_name

    def filter(
        self,
        predicate: Callable[[K, V], bool],
        named: Named | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, V]:
        """Keep the rows that match a predicate.

        Args:
            predicate: Function of key and value; returns whether the record matches.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the result's store. None (default): default options.
        """
        required(predicate, "predicate")
        return KTable(table_operators.table_filtered(self._handle, predicate, named, materialized, False))

    def filter_not(
        self,
        predicate: Callable[[K, V], bool],
        named: Named | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, V]:
        """Keep the rows that do not match a predicate; see `filter`.

        Args:
            predicate: Function of key and value.
            named: Name of the node. None (default): a generated one.
            materialized: The store of the result. None (default): a store that cannot be queried.
        """
        required(predicate, "predicate")
        return KTable(table_operators.table_filtered(self._handle, predicate, named, materialized, True))

    @overload
    def map_values(
        self,
        mapper: Callable[[V], VR],
        named: Named | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, VR]: ...
    @overload
    def map_values(
        self,
        mapper: Callable[[K, V], VR],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        with_key: bool,
    ) -> KTable[K, VR]: ...
    def map_values(
        self,
        mapper: Callable[..., Any],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        with_key: bool = False,
    ) -> KTable[K, Any]:
        """Change the values.

        Args:
            mapper: Function of the value (with `with_key`, of key and value); returns the new value.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the result's store. None (default): default options.
            with_key: Whether the mapper gets the key, too.
        """
        required(mapper, "mapper")
        keyed = mapper if with_key else lambda key, value: mapper(value)
        return KTable(table_operators.table_values_mapped(self._handle, keyed, named, materialized))

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformerWithKey],
        *state_store_names: str,
        named: Named | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, Any]:
        """Change the values with a transformer of the application, which may use stores.

        Args:
            supplier: Function without arguments; returns a new transformer at each call.
            state_store_names: Names of the stores that the transformers use.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the result's store. None (default): default options.
        """
        return KTable(
            table_operators.table_values_transformed(self._handle, supplier, state_store_names, named, materialized)
        )

    @overload
    def to_stream(self, mapper: None = None, named: Named | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(self, mapper: Callable[[K, V], KR], named: Named | None = None) -> KStream[KR, V]: ...
    def to_stream(self, mapper: Callable[[K, V], Any] | None = None, named: Named | None = None) -> KStream[Any, V]:
        """Convert the updates of the table to a stream.

        Args:
            mapper: Function of key and value; returns a new key. None (default): keys are unchanged.
            named: Name of the node. None (default): a generated one.
        """
        stream: KStream[Any, V] = KStream(table_operators.table_to_stream(self._handle, named))
        return stream if mapper is None else stream.select_key(mapper)

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold back updates, so that fewer are sent downstream.

        Args:
            suppressed: How long updates are held back, and how many at most.

        Raises:
            TopologyException: It is versioned; or it shall wait for windows to close and is not aggregated in windows.
        """
        return KTable(suppress(self._handle, required(suppressed, "suppressed")))

    def group_by(
        self, selector: Callable[[K, V], tuple[KR, VR]], grouped: Grouped[Any, Any] | None = None
    ) -> KGroupedTable[KR, VR]:
        """The table grouped by another key, for which its updates are repartitioned.

        Args:
            selector: Of key and value, the new key and what is aggregated.
            grouped: Serdes, and the name of the repartition topic.
        """
        required(selector, "selector")
        return KGroupedTable(grouped_table(self._handle, selector, grouped or Grouped()))

    @overload
    def join(
        self,
        other: KTable[K, VO],
        joiner: Callable[[V, VO], VR],
        named: Named | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, VR]: ...
    @overload
    def join(
        self,
        other: KTable[KO, VO],
        foreign_key_extractor: Callable[[V], KO | None],
        joiner: Callable[[V, VO], VR],
        table_joined: TableJoined[Any, Any] | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, VR]: ...
    def join(self, other: KTable[Any, Any], *arguments: Any, **options: Any) -> KTable[K, Any]:
        """Join each row with that of another table.

        By the same key: `join(other, joiner, named, materialized)`.
        By a foreign key: `join(other, foreign_key_extractor, joiner, table_joined, materialized)`.

        Args:
            other: The other table.
            arguments: In these orders, or by these names. The extractor gives of a value the other table's key, or
                None.
            options: See `arguments`.

        Raises:
            TypeError: An argument is missing or not known.
        """
        return self._join(other, arguments, options, False)

    @overload
    def left_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[[V, VO], VR],
        named: Named | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, VR]: ...
    @overload
    def left_join(
        self,
        other: KTable[KO, VO],
        foreign_key_extractor: Callable[[V], KO | None],
        joiner: Callable[[V, VO], VR],
        table_joined: TableJoined[Any, Any] | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, VR]: ...
    def left_join(self, other: KTable[Any, Any], *arguments: Any, **options: Any) -> KTable[K, Any]:
        """Join like `join`; rows of this table without a match are joined with None.

        Args:
            other: The other side.
            arguments: As in `join`.
            options: As in `join`.
        """
        return self._join(other, arguments, options, True)

    def outer_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[[V, VO], VR],
        named: Named | None = None,
        materialized: Materialization | None = None,
    ) -> KTable[K, VR]:
        """Join each row with that of another table; rows of either without a match are joined with None.

        Args:
            other: The other table.
            joiner: Function of both values, one of which may be None; returns the result.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the result's store. None (default): default options.
        """
        required(joiner, "joiner")
        return KTable(
            join_tables(self._handle, required(other, "other")._handle, joiner, named, materialized, True, True)
        )

    def _join(self, other: KTable[Any, Any], arguments: Any, options: Any, is_left: bool) -> KTable[K, Any]:
        table = required(other, "other")._handle
        if (
            "foreign_key_extractor" in options
            or (len(arguments) > 1 and callable(arguments[1]))
            or (arguments and "joiner" in options)
        ):
            names = ("foreign_key_extractor", "joiner", "table_joined", "materialized")
            extractor, joiner, joined, materialized = bound(arguments, options, *names)
            required(extractor, "foreignKeyExtractor")
            join = ForeignKeyJoin(self._handle, table, joined or TableJoined(), is_left)
            return KTable(join.of(extractor, required(joiner, "joiner"), materialized))
        joiner, named, materialized = bound(arguments, options, "joiner", "named", "materialized")
        required(joiner, "joiner")
        return KTable(join_tables(self._handle, table, joiner, named, materialized, is_left, False))


class GlobalKTable(Generic[K, V]):
    """A table that is fully replicated to each instance, so that streams can be joined with it by any key.

    Args:
        values: Access to the values; of `StreamsBuilder`.
        queryable_store_name: Name of the store for interactive queries; None: none.

    Example:
        >>> from kafkapy.streams import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> users = builder.global_table("users")
        >>> joined = builder.stream("clicks").join(users, lambda key, click: click, lambda click, user: (click, user))
    """

    __slots__ = ("_queryable_store_name", "_values")

    def __init__(self, values: KTableValueGetterSupplier, queryable_store_name: str | None) -> None:
        self._values = values
        self._queryable_store_name = queryable_store_name

    @property
    def queryable_store_name(self) -> str | None:
        """Return the name of its store; None if it cannot be queried."""
        return self._queryable_store_name


class KGroupedStream(Generic[K, V]):
    """A stream whose records are grouped by their keys. Records with a null key or value are dropped.

    Args:
        handle: The place in the topology; `StreamsBuilder` creates it.

    Example:
        >>> from kafkapy.streams import Materialized, StreamsBuilder
        >>> counts = StreamsBuilder().stream("clicks").group_by_key().count(materialized=Materialized.as_("clicks-by-user"))
        >>> counts.queryable_store_name
        'clicks-by-user'
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: GroupedHandle) -> None:
        self._handle = handle

    def count(
        self,
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[K, int]:
        """Count the records of each key.

        Args:
            named: Name of the node. None (default): a generated one.
            materialized: Options of the table's store. None (default): default options.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.
        """
        return KTable(count(self._handle, PLAIN, named, stored(materialized, store)))

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[K, V]:
        """Combine the values of each key; the first value is the initial result.

        Args:
            reducer: Function of the current and the next value; returns the new value, None to delete it.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the table's store. None (default): default options.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.
        """
        required(reducer, "reducer")
        return KTable(reduce(self._handle, PLAIN, reducer, named, stored(materialized, store)))

    def aggregate(
        self,
        initializer: Callable[[], VA],
        aggregator: Callable[[K, V, VA], VA],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[K, VA]:
        """Aggregate the values of each key.

        Args:
            initializer: Function without arguments; returns the initial aggregate.
            aggregator: Function of key, value and aggregate; returns the new aggregate, None to delete it.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the store, including the serde of aggregates. None (default): default options.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.
        """
        required(initializer, "initializer")
        required(aggregator, "aggregator")
        return KTable(aggregate(self._handle, PLAIN, initializer, aggregator, None, named, stored(materialized, store)))

    @overload
    def windowed_by(self, windows: TimeWindows | SlidingWindows | UnlimitedWindows) -> TimeWindowedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...
    def windowed_by(self, windows: Any) -> Any:
        """Aggregate in windows of time.

        Args:
            windows: Tumbling, hopping, sliding, unlimited, or sessions.
        """
        required(windows, "windows")
        made = SessionWindowedKStream if isinstance(windows, SessionWindows) else TimeWindowedKStream
        return made(self._handle, Windowing(windows, EmitStrategy.on_window_update()))

    def cogroup(self, aggregator: Callable[[K, V, VA], VA]) -> CogroupedKStream[K, VA]:
        """Begin a cogroup: several grouped streams that are aggregated into one table.

        Args:
            aggregator: Function of key, value and aggregate, called for records of this stream; returns the new
                aggregate.
        """
        cogrouped: CogroupedKStream[K, VA] = CogroupedKStream(Cogroup(self._handle.graph))
        return cogrouped.cogroup(self, required(aggregator, "aggregator"))


class TimeWindowedKStream(Generic[K, V]):
    """Grouped records in windows of time.

    Args:
        handle: The place in the topology; `StreamsBuilder` creates it.
        windowing: The windows; `windowed_by` creates it.

    Example:
        >>> from kafkapy.streams import StreamsBuilder, TimeWindows
        >>> clicks = StreamsBuilder().stream("clicks").group_by_key()
        >>> per_minute = clicks.windowed_by(TimeWindows.of_size_with_no_grace(60_000)).count()
    """

    __slots__ = ("_handle", "_windowing")

    def __init__(self, handle: GroupedHandle, windowing: Windowing) -> None:
        self._handle = handle
        self._windowing = windowing

    def count(
        self,
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], int]:
        """Count the records of each key and window; see `KGroupedStream.count`.

        Args:
            named: Name of the node. None (default): a generated one.
            materialized: The store of the result. None (default): a store that cannot be queried.
            store: Name of the store.

        Raises:
            ValueError: The retention of the store is shorter than their size and grace.
        """
        return KTable(count(self._handle, self._windowing, named, stored(materialized, store)))

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each key and window; see `KGroupedStream.reduce`.

        Args:
            reducer: Function of two values; returns one.
            named: Name of the node. None (default): a generated one.
            materialized: The store of the result. None (default): a store that cannot be queried.
            store: Name of the store.

        Raises:
            ValueError: The retention of the store is shorter than their size and grace.
        """
        required(reducer, "reducer")
        return KTable(reduce(self._handle, self._windowing, reducer, named, stored(materialized, store)))

    def aggregate(
        self,
        initializer: Callable[[], VA],
        aggregator: Callable[[K, V, VA], VA],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], VA]:
        """Aggregate the values of each key and window; see `KGroupedStream.aggregate`.

        Args:
            initializer: Function that returns the first aggregate.
            aggregator: Function of key, value and aggregate; returns the new aggregate.
            named: Name of the node. None (default): a generated one.
            materialized: The store of the result. None (default): a store that cannot be queried.
            store: Name of the store.

        Raises:
            ValueError: The retention of the store is shorter than their size and grace.
        """
        required(initializer, "initializer")
        required(aggregator, "aggregator")
        return KTable(
            aggregate(self._handle, self._windowing, initializer, aggregator, None, named, stored(materialized, store))
        )

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """Set when results are emitted.

        Args:
            strategy: After each update of a window, or once when it closes.

        Raises:
            ValueError: Unlimited windows never close.
        """
        windows = self._windowing.windows
        if isinstance(windows, UnlimitedWindows) and strategy.emits_on_close:
            raise ValueError("ON_WINDOW_CLOSE emit strategy cannot be used for UnlimitedWindows")
        self._windowing = Windowing(windows, strategy)
        return self


class SessionWindowedKStream(Generic[K, V]):
    """Grouped records in sessions.

    Args:
        handle: The place in the topology; `StreamsBuilder` creates it.
        windowing: The windows; `windowed_by` creates it.

    Example:
        >>> from kafkapy.streams import SessionWindows, StreamsBuilder
        >>> clicks = StreamsBuilder().stream("clicks").group_by_key()
        >>> visits = clicks.windowed_by(SessionWindows.of_inactivity_gap_with_no_grace(1_800_000)).count()
    """

    __slots__ = ("_handle", "_windowing")

    def __init__(self, handle: GroupedHandle, windowing: Windowing) -> None:
        self._handle = handle
        self._windowing = windowing

    def count(
        self,
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], int]:
        """Count the records of each session; see `KGroupedStream.count`.

        Args:
            named: Name of the node. None (default): a generated one.
            materialized: The store of the result. None (default): a store that cannot be queried.
            store: Name of the store.

        Raises:
            ValueError: The retention of the store is shorter than their gap and grace.
        """
        return KTable(count(self._handle, self._windowing, named, stored(materialized, store)))

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each session; see `KGroupedStream.reduce`.

        Args:
            reducer: Function of two values; returns one.
            named: Name of the node. None (default): a generated one.
            materialized: The store of the result. None (default): a store that cannot be queried.
            store: Name of the store.

        Raises:
            ValueError: The retention of the store is shorter than their gap and grace.
        """
        required(reducer, "reducer")
        return KTable(reduce(self._handle, self._windowing, reducer, named, stored(materialized, store)))

    def aggregate(
        self,
        initializer: Callable[[], VA],
        aggregator: Callable[[K, V, VA], VA],
        session_merger: Callable[[K, VA, VA], VA],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], VA]:
        """Aggregate the values of each session; see `KGroupedStream.aggregate`.

        Args:
            initializer: Function without arguments; returns the initial aggregate.
            aggregator: Function of key, value and aggregate; returns the new aggregate.
            session_merger: Function of key and the aggregates of two sessions to be merged; returns the new aggregate.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the store, including the serde of aggregates. None (default): default options.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.

        Raises:
            ValueError: The retention of the store is shorter than their gap and grace.
        """
        required(initializer, "initializer")
        required(aggregator, "aggregator")
        required(session_merger, "sessionMerger")
        return KTable(
            aggregate(
                self._handle,
                self._windowing,
                initializer,
                aggregator,
                session_merger,
                named,
                stored(materialized, store),
            )
        )

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """Set when results are emitted; see `TimeWindowedKStream.emit_strategy`.

        Args:
            strategy: After each update of a session, or once when it closes.
        """
        self._windowing = Windowing(self._windowing.windows, strategy)
        return self


class KGroupedTable(Generic[K, V]):
    """A table whose rows are grouped by another key. An update subtracts the old row's value and adds the new one's.

    Args:
        handle: The place in the topology; `StreamsBuilder` creates it.

    Example:
        >>> from kafkapy.streams import StreamsBuilder
        >>> users = StreamsBuilder().table("users")
        >>> by_city = users.group_by(lambda name, user: (user["city"], 1)).count()
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: GroupedTableHandle) -> None:
        self._handle = handle

    def count(
        self,
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[K, int]:
        """Count the rows of each key.

        Args:
            named: Name of the node. None (default): a generated one.
            materialized: Options of the table's store. None (default): default options.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.
        """
        return KTable(count_table(self._handle, named, stored(materialized, store)))

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[K, V]:
        """Combine the values of each key.

        Args:
            adder: Function of the current value and an added one; returns the new value.
            subtractor: Function of the current value and a removed one; returns the new value.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the table's store. None (default): default options.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.
        """
        required(adder, "adder")
        required(subtractor, "subtractor")
        return KTable(reduce_table(self._handle, adder, subtractor, named, stored(materialized, store)))

    def aggregate(
        self,
        initializer: Callable[[], VA],
        adder: Callable[[K, V, VA], VA],
        subtractor: Callable[[K, V, VA], VA],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[K, VA]:
        """Aggregate the values of each key.

        Args:
            initializer: Function without arguments; returns the initial aggregate.
            adder: Function of key, added value and aggregate; returns the new aggregate.
            subtractor: Function of key, removed value and aggregate; returns the new aggregate.
            named: Name of the node. None (default): a generated one.
            materialized: Options of the store, including the serde of aggregates. None (default): default options.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.
        """
        required(initializer, "initializer")
        required(adder, "adder")
        required(subtractor, "subtractor")
        return KTable(aggregate_table(self._handle, initializer, adder, subtractor, named, stored(materialized, store)))


class CogroupedKStream(Generic[K, VA]):
    """Several grouped streams that are aggregated into one table.

    Args:
        cogroup: The streams so far; `KGroupedStream.cogroup` creates it.

    Example:
        >>> from kafkapy.streams import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> views, clicks = (builder.stream(topic).group_by_key() for topic in ("views", "clicks"))
        >>> scores = views.cogroup(lambda key, view, score: score + 1).cogroup(clicks, lambda key, click, score: score + 5)
        >>> table = scores.aggregate(lambda: 0)
    """

    __slots__ = ("_cogroup",)

    def __init__(self, cogroup: Cogroup) -> None:
        self._cogroup = cogroup

    def cogroup(
        self, grouped_stream: KGroupedStream[K, Any], aggregator: Callable[[K, Any, VA], VA]
    ) -> CogroupedKStream[K, VA]:
        """Add a stream.

        Args:
            grouped_stream: A stream with the same type of keys.
            aggregator: Function of key, value and aggregate, called for records of this stream; returns the new
                aggregate.
        """
        required(grouped_stream, "groupedStream")
        self._cogroup.add(grouped_stream._handle, required(aggregator, "aggregator"))
        return self

    def aggregate(
        self,
        initializer: Callable[[], VA],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[K, VA]:
        """Aggregate all streams into one table.

        Args:
            initializer: Function without arguments; returns the initial aggregate.
            named: Name of the node. None (default): a generated one.
            materialized: Of the table's store, with serdes of keys and aggregates.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.
        """
        required(initializer, "initializer")
        return KTable(self._cogroup.aggregate(PLAIN, initializer, None, named, stored(materialized, store)))

    @overload
    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows
    ) -> TimeWindowedCogroupedKStream[K, VA]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, VA]: ...
    def windowed_by(self, windows: Any) -> Any:
        """Aggregate in windows of time; see `KGroupedStream.windowed_by`.

        Args:
            windows: `TimeWindows`, `SlidingWindows`, `SessionWindows` or `UnlimitedWindows`.
        """
        required(windows, "windows")
        is_session = isinstance(windows, SessionWindows)
        made = SessionWindowedCogroupedKStream if is_session else TimeWindowedCogroupedKStream
        return made(self._cogroup, Windowing(windows, EmitStrategy.on_window_update()))


class TimeWindowedCogroupedKStream(Generic[K, VA]):
    """Several grouped streams in windows of time.

    Args:
        cogroup: The streams so far; `KGroupedStream.cogroup` creates it.
        windowing: The windows; `windowed_by` creates it.

    Example:
        >>> from kafkapy.streams import StreamsBuilder, TimeWindows
        >>> clicks = StreamsBuilder().stream("clicks").group_by_key()
        >>> counts = clicks.cogroup(lambda key, value, count: count + 1)
        >>> table = counts.windowed_by(TimeWindows.of_size_with_no_grace(1_000)).aggregate(lambda: 0)
    """

    __slots__ = ("_cogroup", "_windowing")

    def __init__(self, cogroup: Cogroup, windowing: Windowing) -> None:
        self._cogroup = cogroup
        self._windowing = windowing

    def aggregate(
        self,
        initializer: Callable[[], VA],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], VA]:
        """Aggregate all streams by key and window; see `CogroupedKStream.aggregate`.

        Args:
            initializer: Function that returns the first aggregate.
            named: Name of the node. None (default): a generated one.
            materialized: The store of the result. None (default): a store that cannot be queried.
            store: Name of the store.

        Raises:
            ValueError: The retention of the store is shorter than their size and grace.
        """
        required(initializer, "initializer")
        return KTable(self._cogroup.aggregate(self._windowing, initializer, None, named, stored(materialized, store)))


class SessionWindowedCogroupedKStream(Generic[K, VA]):
    """Several grouped streams in sessions.

    Args:
        cogroup: The streams so far; `KGroupedStream.cogroup` creates it.
        windowing: The windows; `windowed_by` creates it.

    Example:
        >>> from kafkapy.streams import SessionWindows, StreamsBuilder
        >>> clicks = StreamsBuilder().stream("clicks").group_by_key()
        >>> counts = clicks.cogroup(lambda key, value, count: count + 1)
        >>> sessions = counts.windowed_by(SessionWindows.of_inactivity_gap_with_no_grace(1_000))
        >>> table = sessions.aggregate(lambda: 0, lambda key, one, other: one + other)
    """

    __slots__ = ("_cogroup", "_windowing")

    def __init__(self, cogroup: Cogroup, windowing: Windowing) -> None:
        self._cogroup = cogroup
        self._windowing = windowing

    def aggregate(
        self,
        initializer: Callable[[], VA],
        session_merger: Callable[[K, VA, VA], VA],
        named: Named | None = None,
        materialized: Materialization | None = None,
        *,
        store: str | None = None,
    ) -> KTable[Windowed[K], VA]:
        """Aggregate all streams by session; see `CogroupedKStream.aggregate`.

        Args:
            initializer: Function without arguments; returns the initial aggregate.
            session_merger: Function of key and the aggregates of two sessions to be merged; returns the new aggregate.
            named: Name of the node. None (default): a generated one.
            materialized: Of the table's store, with serdes of keys and aggregates.
            store: Name of the store; short for `Materialized.as_(name)`. None (default): a generated one.

        Raises:
            ValueError: The retention of the store is shorter than their gap and grace.
        """
        required(initializer, "initializer")
        required(session_merger, "sessionMerger")
        return KTable(
            self._cogroup.aggregate(self._windowing, initializer, session_merger, named, stored(materialized, store))
        )
