"""The declared nodes of a topology, from which each task creates its own nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafkapy.streams.processor import FixedKeyProcessor, Processor
from kafkapy.streams.serdes import Deserializer, Serializer

TopicExtractor = Callable[[Any, Any, Any], str]
"""Takes key, value and `RecordContext` of a record; returns its topic."""
Partitioner = Callable[[str, Any, Any, int], int | None]
"""Takes topic, key, value and number of partitions; returns the record's partition, or None for the producer's
choice."""


@dataclass(slots=True)
class NodeSpec:
    """A node.

    Attributes:
        name: Unique in the topology.
        predecessors: Names of the nodes that forward to it.
    """

    name: str
    predecessors: tuple[str, ...]


@dataclass(slots=True)
class SourceSpec(NodeSpec):
    """Reads topics given by names or a pattern."""

    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None
    key_deserializer: Deserializer | None
    """None: that of the configuration's default serde."""
    value_deserializer: Deserializer | None
    timestamp_extractor: Any
    """None: the configuration's default."""


@dataclass(slots=True)
class ProcessorSpec(NodeSpec):
    """An operator with its state."""

    supplier: Callable[[], Processor | FixedKeyProcessor]
    stores: list[str] = field(default_factory=list)
    """Names in the order of connection, without duplicates."""


@dataclass(slots=True)
class SinkSpec(NodeSpec):
    """Writes to a topic, or to one chosen by a function for each record."""

    topic: str | TopicExtractor
    key_serializer: Serializer | None
    value_serializer: Serializer | None
    partitioner: Partitioner | None
