"""The nodes of a topology as they are declared, before each task makes its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafkapy.streams.processor import FixedKeyProcessor, Processor
from kafkapy.streams.serdes import Deserializer, Serializer

TopicExtractor = Callable[[Any, Any, Any], str]
"""The topic of a record, by its key, its value and its `RecordContext`."""
Partitioner = Callable[[str, Any, Any, int], int | None]
"""The partition of a record, by topic, key, value and count of partitions; None for the producer's choice."""


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
    """Reads topics, or those that a pattern matches."""

    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None
    key_deserializer: Deserializer | None
    """None: of the configuration's default serde."""
    value_deserializer: Deserializer | None
    timestamp_extractor: Any
    """None: the configuration's default."""


@dataclass(slots=True)
class ProcessorSpec(NodeSpec):
    """An operator with its state."""

    supplier: Callable[[], Processor | FixedKeyProcessor]
    stores: list[str] = field(default_factory=list)
    """Names, in the order in which they were connected, each once."""


@dataclass(slots=True)
class SinkSpec(NodeSpec):
    """Writes to a topic, or to the one that a function names for each record."""

    topic: str | TopicExtractor
    key_serializer: Serializer | None
    value_serializer: Serializer | None
    partitioner: Partitioner | None
