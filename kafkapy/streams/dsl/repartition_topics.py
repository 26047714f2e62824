"""Builds repartition topics of operators, with the names of their nodes."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.dsl.graph.repartitions import RepartitionTopic
from kafkapy.streams.dsl.names import FILTER, REPARTITION_SUFFIX, SINK, SOURCE, NameCounter, is_generated
from kafkapy.streams.options.produced import StreamPartitioner
from kafkapy.streams.serdes import Serde


def repartition_topic(
    names: NameCounter,
    name: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    partitioner: StreamPartitioner | None = None,
    partitions: int | None = None,
) -> RepartitionTopic:
    """Return a topic and its nodes, which use up three numbers, even if their names are derived from the topic's.

    Args:
        names: Generates names of the nodes.
        name: Name of the topic, with or without "-repartition": generated, or the application's.
        key_serde: Serde of the topic's keys; None: `default.key.serde`.
        value_serde: Serde of the topic's values; None: `default.value.serde`.
        partitioner: None: by the key.
        partitions: Their number, if it is enforced.
    """
    topic = name if name.endswith(REPARTITION_SUFFIX) else name + REPARTITION_SUFFIX
    sink, filter_, source = names.processor_name(SINK), names.processor_name(FILTER), names.processor_name(SOURCE)
    if not is_generated(name):
        sink, filter_, source = f"{topic}-sink", f"{topic}-filter", f"{topic}-source"
    return RepartitionTopic(topic, sink, source, filter_, key_serde, value_serde, partitioner, partitions)
