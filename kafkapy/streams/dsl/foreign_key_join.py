"""Joins of two tables by a foreign key (KIP-213).

The left table's side sends a subscription for each row to the right side, through a topic. The right side sends a
response through another topic when it receives a subscription or one of its rows changes. The left side joins
responses with its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import GraphNode, StatefulProcessorNode, StateStoreNode
from kafkapy.streams.dsl.graph.sources_and_sinks import StreamSinkNode, StreamSourceNode
from kafkapy.streams.dsl.graph.tables import TableProcessorNode, VersionedProcessorNode
from kafkapy.streams.dsl.handles import TableHandle
from kafkapy.streams.dsl.join_store_factories import SubscriptionStoreFactory
from kafkapy.streams.dsl.materialization import materialize
from kafkapy.streams.dsl.names import TABLE_SOURCE, OperatorName
from kafkapy.streams.dsl.serde_parts import serializer_of
from kafkapy.streams.dsl.store_factories import KeyValueStoreFactory
from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.produced import Produced, StreamPartitioner
from kafkapy.streams.options.table_joined import TableJoined
from kafkapy.streams.processors.foreignkeyjoin.combined_key import CombinedKeySchema
from kafkapy.streams.processors.foreignkeyjoin.foreign_table_join import ForeignTableJoinProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.response_join import ResponseJoinProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_join import SubscriptionJoinProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_receive import SubscriptionReceiveProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_response_wrapper import SubscriptionResponseWrapperSerde
from kafkapy.streams.processors.foreignkeyjoin.subscription_send import SubscriptionSendProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_wrapper import SubscriptionWrapperSerde
from kafkapy.streams.processors.ktable_source import KTableSource
from kafkapy.streams.topology.topology_builder import TopologyBuilder

_PREFIX = "KTABLE-FK-JOIN-"
_REGISTRATION = f"{_PREFIX}SUBSCRIPTION-REGISTRATION-"
_RESPONSE = f"{_PREFIX}SUBSCRIPTION-RESPONSE-"
_PROCESSOR = f"{_PREFIX}SUBSCRIPTION-PROCESSOR-"
_RESOLVER = f"{_PREFIX}SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-"
_STORE = f"{_PREFIX}SUBSCRIPTION-STATE-STORE-"
_OUTPUT = f"{_PREFIX}OUTPUT-"
_SINK = "KTABLE-SINK-"


class PseudoTopic:
    """The topic name passed to serializers whose output goes to no topic: named like an internal topic of the
    application."""

    def __init__(self, topology: TopologyBuilder, name: str) -> None:
        self._topology = topology
        self._name = name

    def __call__(self) -> str:
        prefix = self._topology.topic_prefix
        return self._name if prefix is None else f"{prefix}-{self._name}"


class ForeignKeyJoin:
    """Builds a join. Its methods must be called in the order in which Kafka numbers names.

    Args:
        left: The table whose rows have a foreign key.
        right: The table that has it as its key.
        options: Name and partitioners.
        is_left: Whether rows without a match give results.
    """

    def __init__(self, left: TableHandle, right: TableHandle, options: TableJoined[Any, Any], is_left: bool) -> None:
        right.enable_sending_old_values(True)
        left.enable_sending_old_values(True)
        self._left = left
        self._right = right
        self._options = options
        self._is_left = is_left
        self._graph: LogicalGraph = left.graph
        self._name = OperatorName(options.name)
        topic = self._topic("-subscription-registration", _REGISTRATION)
        self._subscription_topic = topic
        self._primary_key_topic = PseudoTopic(self._graph.topology, f"{topic}-pk")
        self._foreign_key_topic = PseudoTopic(self._graph.topology, f"{topic}-fk")
        self._value_hash_topic = PseudoTopic(self._graph.topology, f"{topic}-vh")
        self._subscription_serde = SubscriptionWrapperSerde(self._primary_key_topic, left.key_serde)
        self._response_serde = SubscriptionResponseWrapperSerde(right.value_serde)
        self._key_schema = CombinedKeySchema(
            self._foreign_key_topic, right.key_serde, self._primary_key_topic, left.key_serde
        )

    def of(
        self,
        extractor: Callable[[Any], Any],
        joiner: Callable[[Any, Any], Any],
        materialized: Materialized[Any, Any] | None,
    ) -> TableHandle:
        """Return the table of the results."""
        source = self._subscriptions(extractor)
        answers = self._answers(source)
        responses = self._responses(answers)
        return self._results(responses, joiner, materialized)

    def _subscriptions(self, extractor: Callable[[Any], Any]) -> GraphNode:
        """Add the nodes that send subscriptions through the first topic."""
        left, right = self._left, self._right
        send = VersionedProcessorNode(
            self._node_name("-subscription-registration-processor", _REGISTRATION),
            SubscriptionSendProcessorSupplier(
                extractor,
                self._foreign_key_topic,
                self._value_hash_topic,
                right.key_serde,
                serializer_of(left.value_serde),
                self._is_left,
            ),
        )
        self._graph.add(send, left.node)
        partitioner = _by_key_only(self._options.other_partitioner)
        sink = StreamSinkNode(
            self._node_name("-subscription-registration-sink", _SINK),
            self._subscription_topic,
            Produced(right.key_serde, self._subscription_serde, partitioner),
        )
        self._graph.add(sink, send)
        source = StreamSourceNode(
            self._node_name("-subscription-registration-source", TABLE_SOURCE),
            [self._subscription_topic],
            Consumed(right.key_serde, self._subscription_serde),
        )
        self._graph.add(source, sink)
        self._graph.topology.copartition_sources([*right.sources, source.name])
        return source

    def _answers(self, source: GraphNode) -> list[GraphNode]:
        """Add the nodes that respond to subscriptions and to changes of the right table."""
        right = self._right
        store_name = self._node_name("-subscription-store", _STORE)
        self._graph.add(StateStoreNode(SubscriptionStoreFactory(store_name, self._subscription_serde)))
        receive = StatefulProcessorNode(
            self._node_name("-subscription-receive", _PROCESSOR),
            SubscriptionReceiveProcessorSupplier(store_name, self._key_schema),
            store_names=[store_name],
        )
        self._graph.add(receive, source)
        values = right.value_getter_supplier()
        join = StatefulProcessorNode(
            self._node_name("-subscription-join-foreign", _PROCESSOR),
            SubscriptionJoinProcessorSupplier(values),
            store_names=values.store_names(),
        )
        self._graph.add(join, receive)
        table_join = VersionedProcessorNode(
            self._node_name("-foreign-join-subscription", _PROCESSOR),
            ForeignTableJoinProcessorSupplier(store_name, self._key_schema),
            store_names=[store_name],
        )
        self._graph.add(table_join, right.node)
        return [join, table_join]

    def _responses(self, answers: list[GraphNode]) -> GraphNode:
        """Add the nodes that send responses through the second topic."""
        left = self._left
        topic = self._topic("-subscription-response", _RESPONSE)
        given = self._options.partitioner
        sink = StreamSinkNode(
            self._node_name("-subscription-response-sink", _SINK),
            topic,
            Produced(
                left.key_serde, self._response_serde, _primary_partition if given is None else _by_key_only(given)
            ),
        )
        for answer in answers:
            self._graph.add(sink, answer)
        source = StreamSourceNode(
            self._node_name("-subscription-response-source", TABLE_SOURCE),
            [topic],
            Consumed(left.key_serde, self._response_serde),
        )
        self._graph.add(source, sink)
        self._graph.topology.copartition_sources([*left.sources, source.name])
        return source

    def _results(
        self, source: GraphNode, joiner: Callable[[Any, Any], Any], materialized: Materialized[Any, Any] | None
    ) -> TableHandle:
        left = self._left
        values = left.value_getter_supplier()
        resolve = StatefulProcessorNode(
            self._node_name("-subscription-response-resolver", _RESOLVER),
            ResponseJoinProcessorSupplier(
                values, serializer_of(left.value_serde), self._value_hash_topic, joiner, self._is_left
            ),
            store_names=values.store_names(),
        )
        self._graph.add(resolve, source)
        name = self._node_name("-result", _OUTPUT)
        facts = materialize(materialized or Materialized.with_(), self._graph, _OUTPUT)
        facts.default_key_serde(left.key_serde)
        table = KTableSource(facts.store_name, facts.queryable_name)
        node = TableProcessorNode(name, table, KeyValueStoreFactory(facts))
        node.is_output_versioned = facts.is_versioned
        self._graph.add(node, resolve)
        sources = tuple(dict.fromkeys([*left.sources, source.name]))
        return TableHandle(name, left.key_serde, facts.value_serde, sources, facts.name, table, node, self._graph)

    def _node_name(self, suffix: str, prefix: str) -> str:
        return self._name.with_suffix(suffix, self._graph.names, prefix)

    def _topic(self, suffix: str, prefix: str) -> str:
        """Register an internal topic with the topology, and return its name."""
        topic = self._node_name(suffix, prefix) + "-topic"
        self._graph.topology.add_internal_topic(topic)
        return topic


@dataclass(frozen=True, slots=True)
class _KeyOnlyPartitioner:
    """Wraps the application's partitioner, and calls it without the values of the join's internal topics."""

    given: StreamPartitioner

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> int | None:
        return self.given(topic, key, None, partitions)


def _by_key_only(given: StreamPartitioner | None) -> StreamPartitioner | None:
    return None if given is None else _KeyOnlyPartitioner(given)


def _primary_partition(topic: str, key: Any, value: Any, partitions: int) -> int | None:
    """Return the response's partition: the one from which the subscription came."""
    partition: int | None = value.primary_partition
    return partition
