"""Source partitions and offsets of MirrorMaker's connectors (Kafka's `MirrorUtils`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.errors import ConnectException
from kafkapy.structs import TopicPartition

CLUSTER_KEY, TOPIC_KEY, PARTITION_KEY, OFFSET_KEY = "cluster", "topic", "partition", "offset"
_MOST_INT: Final = 2**31 - 1
Offsets = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]


def wrap_partition(partition: TopicPartition, source_cluster_alias: str) -> dict[str, Any]:
    """Return the source partition of a partition of the source cluster.

    Its keys are in the order of Java's `HashMap`, because offsets are found by the bytes of their JSON in the offsets
    topic.

    Example:
        >>> wrap_partition(TopicPartition("orders", 0), "A")
        {'cluster': 'A', 'partition': 0, 'topic': 'orders'}
    """
    return {CLUSTER_KEY: source_cluster_alias, PARTITION_KEY: partition.partition, TOPIC_KEY: partition.topic}


def unwrap_offset(wrapped: Mapping[str, Any] | None) -> int:
    """Return the offset of a source offset; -1 if there is none."""
    offset = None if wrapped is None else wrapped.get(OFFSET_KEY)
    return -1 if offset is None else int(offset)


def check_offsets(offsets: Offsets, string_keys: Sequence[str], has_partition: bool, only_zero: bool) -> None:
    """Validate a user's offsets (KIP-875); removals are not validated.

    Args:
        offsets: Pairs of source partition and source offset.
        string_keys: Required keys of a source partition with strings as values.
        has_partition: Whether `partition` is also required.
        only_zero: Whether 0 is the only valid offset.

    Raises:
        ConnectException: One is not valid.
    """
    for partition, offset in offsets:
        if offset is None:
            continue
        if partition is None:
            raise ConnectException("Source partitions may not be null")
        for key in string_keys:
            _check_string(partition, key)
        if has_partition:
            _check_partition(partition)
        _check_offset(partition, offset, only_zero)


def _check_string(partition: Mapping[str, Any], key: str) -> None:
    if key not in partition:
        raise ConnectException(f"Source partition {java_str(partition)} is missing the '{key}' key, which is required")
    if not isinstance(partition[key], str):
        raise ConnectException(
            f"Source partition {java_str(partition)} has an invalid value {java_str(partition[key])} for the '{key}' key, "
            "which must be a string"
        )


def _check_partition(partition: Mapping[str, Any]) -> None:
    key = PARTITION_KEY
    if key not in partition:
        raise ConnectException(f"Source partition {java_str(partition)} is missing the '{key}' key, which is required")
    value = partition[key]
    text = f"Source partition {java_str(partition)} has an invalid value {java_str(value)} for the '{key}' key, which"
    if not _is_integer(value) or value > _MOST_INT:
        raise ConnectException(f"{text} must be an integer")
    if value < 0:
        raise ConnectException(f"{text} cannot be negative")


def _check_offset(partition: Mapping[str, Any], offset: Mapping[str, Any], only_zero: bool) -> None:
    key, place = OFFSET_KEY, f"Source offset {java_str(offset)} for source partition {java_str(partition)}"
    if key not in offset:
        raise ConnectException(f"{place} is missing the '{key}' key, which is required")
    value = offset[key]
    text = f"{place} has an invalid value {java_str(value)} for the '{key}' key"
    if not _is_integer(value):
        raise ConnectException(f"{text}, which must be an integer")
    if only_zero and value != 0:
        raise ConnectException(f"{text}; the only accepted value is 0")
    if value < 0:
        raise ConnectException(f"{text}, which cannot be negative")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
