"""Repartitions a stream for a join."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode
from kafkapy.streams.dsl.handles import StreamHandle
from kafkapy.streams.dsl.repartition_topics import repartition_topic
from kafkapy.streams.serdes import Serde


def repartitioned_for_join(
    stream: StreamHandle, topic_name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
) -> StreamHandle:
    """Return the stream behind a repartition topic. A stream's unnamed joins share the topic, but each uses up its
    numbers.

    Args:
        stream: A stream whose keys may have changed.
        topic_name: Name of the topic: the stream's, or one given by the application.
        key_serde: The join's serde of keys; None: the stream's.
        value_serde: The join's serde of values; None: the stream's.
    """
    graph = stream.graph
    key_serde = key_serde or stream.key_serde
    value_serde = value_serde or stream.value_serde
    topic = repartition_topic(graph.names, topic_name, key_serde, value_serde)
    node = stream.repartition_node
    if node is None or stream.name != topic_name:
        node = stream.repartition_node = OptimizableRepartitionNode(topic)
        graph.add(node, stream.node)
    sources = (topic.source_name,)
    in_columns = stream.in_columns
    return StreamHandle(topic.source_name, key_serde, value_serde, sources, False, node, graph, in_columns=in_columns)
