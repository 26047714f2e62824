"""Offsets in the forms that aiokafka accepts."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.structs import OffsetAndMetadata

GivenOffsets = Mapping[TopicPartition, int | tuple[int, str] | OffsetAndMetadata]
"""The next offset of each partition: a number, a tuple with metadata, or an `OffsetAndMetadata`."""


def offsets_of(given: GivenOffsets) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offsets as `OffsetAndMetadata`. Raises TypeError, ValueError."""
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"offsets must be a dict of TopicPartition to offset, not empty; they are {given!r}")
    return {_partition(partition): _offset(offset) for partition, offset in given.items()}


def _partition(given: object) -> TopicPartition:
    if not isinstance(given, TopicPartition):
        raise TypeError(f"Key should be TopicPartition instance; it is {given!r}")
    return given


def _offset(given: object) -> OffsetAndMetadata:
    if isinstance(given, OffsetAndMetadata):
        return given
    match given:
        case bool():
            pass
        case int():
            return OffsetAndMetadata(given, "", -1)
        case (int(offset), str(metadata)):
            return OffsetAndMetadata(offset, metadata, -1)
        case (int(), metadata):
            raise TypeError(f"Metadata should be a string; it is {metadata!r}")
    raise ValueError(f"An offset must be an int, (offset, metadata) or OffsetAndMetadata; it is {given!r}")
