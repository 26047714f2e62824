"""The builder of topologies with the DSL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkapy.streams.dsl import stream_operators, table_operators
from kafkapy.streams.dsl.arguments import stored, typed
from kafkapy.streams.dsl.face import GlobalKTable, KStream, KTable
from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import StateStoreNode
from kafkapy.streams.options.checks import required
from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.store_type import parse_store_type
from kafkapy.streams.processor import Processor
from kafkapy.streams.serdes import Serde
from kafkapy.streams.topology.topology import Topology
from kafkapy.streams.topology.topology_builder import TopologyBuilder


class StreamsBuilder:
    """Creates streams and tables of topics, and builds the topology of the operators applied to them.

    Args:
        config: The application's configuration; `default.dsl.store` applies to all stores whose options name no type.

    Raises:
        StreamsException: `default.dsl.store` is not a type of stores.

    Example:
        >>> from kafkapy.streams import Consumed, Produced, Serdes
        >>> builder = StreamsBuilder()
        >>> builder.stream("names", Consumed.with_(Serdes.string(), Serdes.string())).map_values(str.upper).to("NAMES")
        >>> topology = builder.build()
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        store_type = (config or {}).get("default.dsl.store")
        self._topology = TopologyBuilder()
        self._graph = LogicalGraph(self._topology, None if store_type is None else parse_store_type(store_type))

    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        consumed: Consumed[Any, Any] | None = None,
        *,
        key: Serde[Any] | type[Any] | None = None,
        value: Serde[Any] | type[Any] | None = None,
    ) -> KStream[Any, Any]:
        """Create a stream of topics.

        Args:
            topics: A name, several names, or a pattern that matches whole names.
            consumed: Serdes, timestamp extractor, and offset reset policy.
            key: Serde or type of keys, in place of that in `consumed`: `str`, `int`, `float`, `bytes`, a dataclass (JSON) …
            value: Serde or type of values, in place of that in `consumed`.

        Raises:
            TypeError: There is no serde for a type.
        """
        required(topics, "topics")
        names = [topics] if isinstance(topics, str) else topics
        return KStream(stream_operators.source(self._graph, names, typed(consumed or Consumed(), key, value)))

    def table(
        self,
        topic: str,
        consumed: Consumed[Any, Any] | None = None,
        materialized: Materialized[Any, Any] | None = None,
        *,
        key: Serde[Any] | type[Any] | None = None,
        value: Serde[Any] | type[Any] | None = None,
        store: str | None = None,
    ) -> KTable[Any, Any]:
        """Create a table of a topic. It has a store only if an operator needs one, or the store has a name.

        Args:
            topic: Name of the topic.
            consumed: Serdes, timestamp extractor, and offset reset policy; without it the serdes of `materialized`
                apply.
            materialized: Options of the table's store; its serdes are those of `consumed`.
            key: Serde or type of keys; see `stream`.
            value: Serde or type of values.
            store: Name of the store, in place of `Materialized.as_(name)`.
        """
        required(topic, "topic")
        options = typed(_consumed(consumed, materialized), key, value)
        return KTable(table_operators.table_source(self._graph, topic, options, stored(materialized, store)))

    def global_table(
        self,
        topic: str,
        consumed: Consumed[Any, Any] | None = None,
        materialized: Materialized[Any, Any] | None = None,
        *,
        key: Serde[Any] | type[Any] | None = None,
        value: Serde[Any] | type[Any] | None = None,
        store: str | None = None,
    ) -> GlobalKTable[Any, Any]:
        """Create a table of which each instance has all rows; the arguments are those of `table`.

        Args:
            topic: Name of the topic.
            consumed: How the topic is read. None (default): with default serdes.
            materialized: The store of the result. None (default): a store that cannot be queried.
            key: The key.
            value: The value.
            store: Name of the store.

        Raises:
            TopologyException: The store is versioned.
        """
        required(topic, "topic")
        options = typed(_consumed(consumed, materialized), key, value)
        kept = stored(materialized, store)
        return GlobalKTable(*table_operators.global_table_source(self._graph, topic, options, kept))

    def add_state_store(self, store: Any) -> StreamsBuilder:
        """Add a store for the application's processors, which are connected to it by its name.

        Args:
            store: A store builder of `Stores`.
        """
        self._graph.add(StateStoreNode(required(store, "builder")))
        return self

    def add_global_store(
        self, store: Any, topic: str, consumed: Consumed[Any, Any], supplier: Callable[[], Processor]
    ) -> StreamsBuilder:
        """Add a store that each instance fills from all partitions of a topic.

        Args:
            store: A store builder of `Stores`; it has no changelog.
            topic: Source of its entries.
            consumed: Serdes and timestamp extractor.
            supplier: Supplier of processors that put records into the store.
        """
        required(store, "storeBuilder")
        required(consumed, "consumed")
        table_operators.global_store(self._graph, store.with_logging_disabled(), topic, consumed, supplier)
        return self

    def build(self, config: Mapping[str, Any] | None = None) -> Topology:
        """Build the topology of everything declared so far.

        Args:
            config: The application's configuration, of which `topology.optimization` is used.

        Raises:
            TopologyException: Operators, topics or stores do not fit together.
            ConfigException: `topology.optimization` has an unknown value.
        """
        self._graph.write(config)
        return Topology(self._topology)


def _consumed(consumed: Consumed[Any, Any] | None, materialized: Materialized[Any, Any] | None) -> Consumed[Any, Any]:
    if consumed is not None:
        return consumed
    return Consumed() if materialized is None else Consumed(materialized.key_serde, materialized.value_serde)
