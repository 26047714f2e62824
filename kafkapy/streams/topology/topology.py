"""The public topology, which `StreamsBuilder.build` returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.topology.description import TopologyDescription
from kafkapy.streams.topology.internal_topics import InternalTopic
from kafkapy.streams.topology.topology_builder import TopologyBuilder


class Topology:
    """Sources, operators, stores and sinks; `KafkaStreams` and the `TopologyTestDriver` run it.

    Attributes:
        builder: The builder with its nodes and stores.

    Example:
        >>> from kafkapy.streams import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> builder.stream("lines").to("copies")
        >>> builder.build()
        <Topology of 1 sub-topologies>
    """

    def __init__(self, builder: TopologyBuilder) -> None:
        self.builder = builder

    def describe(self) -> TopologyDescription:
        """Return all nodes by sub-topology; `str()` of it has the format of Java's `Topology#describe`."""
        return self.builder.describe()

    def internal_topics(self, config: Mapping[str, Any]) -> Mapping[str, InternalTopic]:
        """Return the repartition and changelog topics of the application.

        Args:
            config: The application's configuration: the names contain `application.id`.

        Returns:
            Kind, number of partitions (if enforced) and configs by the topic's name.
        """
        streams = StreamsConfig(config)
        return self.builder.internal_topics(streams.topic_prefix, streams.windowstore_changelog_additional_retention_ms)

    def __repr__(self) -> str:
        return f"<Topology of {len(self.describe().subtopologies)} sub-topologies>"
