"""A stream that is repartitioned because a join needs it."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode
from kafkapy.streams.dsl.handles import StreamHandle
from kafkapy.streams.dsl.repartition_topics import repartition_topic
from kafkapy.streams.serdes import Serde


def repartitioned_for_join(
    stream: StreamHandle, topic_name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
) -> StreamHandle:
    """The stream behind a repartition topic; joins of a stream without names share one, though each takes its numbers.

    Args:
        stream: Its keys may have changed.
        topic_name: Of the topic: that of the stream, or one that the application gave.
        key_serde: Of the join; None: the stream's.
        value_serde: Of the join; None: the stream's.
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
