"""A topology as a user has it: what `StreamsBuilder.build` gives."""

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
        builder: What it consists of.

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
        """All nodes by sub-topology; `str()` of it is what Java's `Topology#describe` prints."""
        return self.builder.describe()

    def internal_topics(self, config: Mapping[str, Any]) -> Mapping[str, InternalTopic]:
        """The repartition and changelog topics that the application makes.

        Args:
            config: The application's: `application.id` is in the names.

        Returns:
            Kind, partitions (if enforced) and configs by the topic's name.
        """
        streams = StreamsConfig(config)
        return self.builder.internal_topics(streams.topic_prefix, streams.windowstore_changelog_additional_retention_ms)

    def __repr__(self) -> str:
        return f"<Topology of {len(self.describe().subtopologies)} sub-topologies>"
