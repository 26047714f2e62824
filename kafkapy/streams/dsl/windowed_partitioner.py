"""Partitions windowed keys by the key without its window."""

from __future__ import annotations

from typing import Any

from kafkapy.partitioner.hashing import murmur2
from kafkapy.streams.options.produced import StreamPartitioner
from kafkapy.streams.serdes import Serializer


class WindowedStreamPartitioner:
    """Chooses the partition that the producer chooses for the key without its window.

    Args:
        serializer: Serializer of the windowed keys, with `serialize_base_key(topic, windowed)`.
    """

    def __init__(self, serializer: Any) -> None:
        self._serializer = serializer

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> int:
        data: bytes = self._serializer.serialize_base_key(topic, key)
        return (murmur2(data) & 0x7FFFFFFF) % partitions


def sink_partitioner(given: StreamPartitioner | None, key_serializer: Serializer | None) -> StreamPartitioner | None:
    """Return the partitioner of a sink: the given one, or that of windowed keys; None for the producer's."""
    if given is None and hasattr(key_serializer, "serialize_base_key"):
        return WindowedStreamPartitioner(key_serializer)
    return given
