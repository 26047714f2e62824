"""Checks of the user's arguments in the facades, with kafka-python's messages and exceptions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kafkapy.clients.list_arguments import check_list
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.listener import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafkapy.structs import OffsetAndMetadata


def timeout(timeout_ms: float) -> float:
    if timeout_ms < 0:
        raise ValueError("Timeout must not be negative")
    return timeout_ms


def max_records(count: int | None, default: int) -> int:
    if count is None:
        return default
    if not isinstance(count, int):
        raise TypeError("max_records must be an integer")
    if count <= 0:
        raise ValueError("max_records must be positive")
    return count


def partition(value: Any) -> TopicPartition:
    if not isinstance(value, TopicPartition):
        raise TypeError("partition must be a TopicPartition namedtuple")
    return value


def partitions(values: Iterable[Any]) -> list[TopicPartition]:
    check_list("partitions", values)
    found = list(values)
    if not all(isinstance(value, TopicPartition) for value in found):
        raise TypeError("partitions must be TopicPartition namedtuples")
    return found


def offsets(values: Mapping[Any, Any] | None) -> None:
    if values is not None and not all(
        isinstance(key, TopicPartition) and isinstance(value, OffsetAndMetadata) for key, value in values.items()
    ):
        raise TypeError("offsets must be dict[TopicPartition, OffsetAndMetadata]")


def timestamps(values: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int]:
    if not isinstance(values, Mapping):
        raise TypeError(f"timestamps is a dict of TopicPartition -> time, not {values!r}")
    for key, value in values.items():
        if value < 0:
            raise ValueError(f"The target time for partition {key} is {value}. The target time cannot be negative.")
    return {key: int(value) for key, value in values.items()}


def check_listener(listener: Any) -> None:
    if listener and not isinstance(listener, ConsumerRebalanceListener | AsyncConsumerRebalanceListener):
        raise TypeError("listener must be a ConsumerRebalanceListener or AsyncConsumerRebalanceListener")


def assigned(wanted: Iterable[Any], assignment: Collection[TopicPartition]) -> list[TopicPartition]:
    """Return the wanted partitions; all assigned ones if none are given. Raises ValueError for one that is not
    assigned."""
    found = partitions(wanted) or list(assignment)
    if not found:
        raise ValueError("No partitions are currently assigned")
    for value in found:
        if value not in assignment:
            raise ValueError(f"Unassigned partition: {value}")
    return found
