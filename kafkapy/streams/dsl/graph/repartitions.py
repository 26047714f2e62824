"""Repartition topics: a sink and a source that the stream or table goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.dsl.changed_serde import ChangedDeserializer, ChangedSerializer
from kafkapy.streams.dsl.graph.node import GraphNode
from kafkapy.streams.dsl.serde_parts import deserializer_of, serializer_of
from kafkapy.streams.options.produced import StreamPartitioner
from kafkapy.streams.processors.stateless import KStreamFilter
from kafkapy.streams.serdes import Deserializer, Serde, Serializer
from kafkapy.streams.timestamps import FailOnInvalidTimestamp
from kafkapy.streams.topology.topology_builder import TopologyBuilder


@dataclass(frozen=True, slots=True)
class RepartitionTopic:
    """A repartition topic with its nodes.

    Attributes:
        topic: Its name, without the application's prefix.
        sink_name: Name of the node that writes to it.
        source_name: Name of the node that reads it.
        filter_name: Name of the filter before the sink; None: there is none.
        key_serde: None: `default.key.serde`.
        value_serde: None: `default.value.serde`.
        partitioner: None: by the key.
        partitions: Their number, if it is enforced.
    """

    topic: str
    sink_name: str
    source_name: str
    filter_name: str | None
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    partitioner: StreamPartitioner | None = None
    partitions: int | None = None


class RepartitionNode(GraphNode):
    """A stream or table that goes through a repartition topic.

    Attributes:
        topic: See `RepartitionTopic`.
        drops_null_keys: Whether records without a key are dropped, as no later join has results for them.
    """

    def __init__(self, topic: RepartitionTopic) -> None:
        super().__init__(topic.source_name)
        self.topic = topic
        self.drops_null_keys = False

    def write(self, topology: TopologyBuilder) -> None:
        topic = self.topic
        topology.add_internal_topic(topic.topic, topic.partitions)
        parents = self.parent_names()
        if topic.filter_name is not None:
            predicate: Callable[[Any, Any], bool] = _has_key if self.drops_null_keys else _always
            topology.add_processor(topic.filter_name, KStreamFilter(predicate, False), parents)
            parents = [topic.filter_name]
        topology.add_sink(
            topic.sink_name,
            topic.topic,
            key_serializer=serializer_of(topic.key_serde),
            value_serializer=self._value_serializer(),
            partitioner=topic.partitioner,
            parents=parents,
        )
        topology.add_source(
            topic.source_name,
            [topic.topic],
            key_deserializer=deserializer_of(topic.key_serde),
            value_deserializer=self._value_deserializer(),
            timestamp_extractor=FailOnInvalidTimestamp(),
        )

    def _value_serializer(self) -> Serializer | None:
        return serializer_of(self.topic.value_serde)

    def _value_deserializer(self) -> Deserializer | None:
        return deserializer_of(self.topic.value_serde)


class OptimizableRepartitionNode(RepartitionNode):
    """A repartition that an operator needs, and that the optimizer may merge with others."""


class UnoptimizableRepartitionNode(RepartitionNode):
    """A repartition that the application requested."""


class GroupedTableRepartitionNode(RepartitionNode):
    """A repartition of a table's updates, which have old and new value."""

    def _value_serializer(self) -> Serializer:
        return ChangedSerializer(serializer_of(self.topic.value_serde))

    def _value_deserializer(self) -> Deserializer:
        return ChangedDeserializer(deserializer_of(self.topic.value_serde))


def _always(key: Any, value: Any) -> bool:
    return True


def _has_key(key: Any, value: Any) -> bool:
    return key is not None
