"""Sources and sinks as nodes of the graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.streams.dsl.graph.node import GraphNode
from kafkapy.streams.dsl.serde_parts import deserializer_of, serializer_of
from kafkapy.streams.dsl.store_factories import KeyValueStoreFactory
from kafkapy.streams.dsl.windowed_partitioner import sink_partitioner
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.produced import Produced
from kafkapy.streams.processors.ktable_source import KTableSource
from kafkapy.streams.topology.topology_builder import TopologyBuilder

TopicExtractor = Callable[[Any, Any, Any], str]


class StreamSourceNode(GraphNode):
    """A stream of topics, given by names or a pattern.

    Attributes:
        topics: The names without duplicates, or the pattern.
    """

    def __init__(self, name: str, topics: Sequence[str] | re.Pattern[str], consumed: Consumed[Any, Any]) -> None:
        super().__init__(name)
        self.topics = topics if isinstance(topics, re.Pattern) else list(dict.fromkeys(topics))
        self._consumed = consumed

    def merge(self, other: StreamSourceNode) -> None:
        """Take over the children of another source of the same topics.

        Raises:
            TopologyException: Their offset reset policies differ.
        """
        if self._consumed.offset_reset_policy is not other._consumed.offset_reset_policy:
            raise TopologyException("Can't configure different offset reset policies on the same input topic(s)")
        for child in list(other.children):
            other.remove_child(child)
            self.add_child(child)

    def write(self, topology: TopologyBuilder) -> None:
        add_source(topology, self.name, self.topics, self._consumed)


class TableSourceNode(GraphNode):
    """A table of a topic.

    Attributes:
        reuses_topic: Whether the topic is also the changelog of the table's store.
    """

    def __init__(
        self,
        name: str,
        source_name: str,
        topic: str,
        consumed: Consumed[Any, Any],
        store: KeyValueStoreFactory,
        table: KTableSource,
    ) -> None:
        super().__init__(name)
        self._source_name = source_name
        self._topic = topic
        self._consumed = consumed
        self._store = store
        self._table = table
        self.reuses_topic = False

    def write(self, topology: TopologyBuilder) -> None:
        add_source(topology, self._source_name, [self._topic], self._consumed)
        topology.add_processor(self.name, self._table, [self._source_name])
        if not self._table.materialized:
            return
        if self.reuses_topic:
            self._store.disable_logging()
        topology.add_state_store(self._store, self.name)
        if self.reuses_topic:
            topology.connect_source_store_and_topic(self._store.name, self._topic)


class GlobalStoreNode(GraphNode):
    """A store that each instance fills from all partitions of a topic: a global table, or a store of the
    application."""

    def __init__(
        self,
        name: str,
        source_name: str,
        topic: str,
        consumed: Consumed[Any, Any],
        store: Any,
        supplier: Callable[[], Any],
    ) -> None:
        super().__init__(name)
        self._source_name = source_name
        self._topic = topic
        self._consumed = consumed
        self._store = store
        self._supplier = supplier

    def write(self, topology: TopologyBuilder) -> None:
        consumed = self._consumed
        topology.add_global_store(
            self._store,
            self._source_name,
            self._topic,
            key_deserializer=deserializer_of(consumed.key_serde),
            value_deserializer=deserializer_of(consumed.value_serde),
            timestamp_extractor=consumed.timestamp_extractor,
            processor=self.name,
            supplier=self._supplier,
        )


class StreamSinkNode(GraphNode):
    """Writes a stream to a topic, or to one chosen by a function for each record."""

    def __init__(self, name: str, topic: str | TopicExtractor, produced: Produced[Any, Any]) -> None:
        super().__init__(name)
        self._topic = topic
        self._produced = produced

    def write(self, topology: TopologyBuilder) -> None:
        key_serializer = serializer_of(self._produced.key_serde)
        topology.add_sink(
            self.name,
            self._topic,
            key_serializer=key_serializer,
            value_serializer=serializer_of(self._produced.value_serde),
            partitioner=sink_partitioner(self._produced.stream_partitioner, key_serializer),
            parents=self.parent_names(),
        )


def add_source(
    topology: TopologyBuilder, name: str, topics: Sequence[str] | re.Pattern[str], consumed: Consumed[Any, Any]
) -> None:
    """Add a source with its declared options."""
    topology.add_source(
        name,
        topics,
        key_deserializer=deserializer_of(consumed.key_serde),
        value_deserializer=deserializer_of(consumed.value_serde),
        timestamp_extractor=consumed.timestamp_extractor,
        offset_reset=consumed.offset_reset_policy,
    )
