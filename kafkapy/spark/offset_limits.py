"""The start or end of a query from its options, not yet resolved to partitions (Spark's `KafkaOffsetRangeLimit`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.errors import OptionError

LATEST = -1
EARLIEST = -2

PartitionOffsets = dict[TopicPartition, int]
"""The next offset to read of each partition; LATEST and EARLIEST are resolved by the broker."""


@dataclass(frozen=True)
class EarliestOffsets:
    pass


@dataclass(frozen=True)
class LatestOffsets:
    pass


@dataclass(frozen=True)
class SpecificOffsets:
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class SpecificTimestamps:
    """Each partition's first record with at least its timestamp (ms).

    `latest_if_none`: start at the partition's end if no record has such a timestamp, instead of an error.
    """

    timestamps: Mapping[TopicPartition, int]
    latest_if_none: bool = False


@dataclass(frozen=True)
class GlobalTimestamp:
    timestamp: int
    latest_if_none: bool = False


OffsetRangeLimit = EarliestOffsets | LatestOffsets | SpecificOffsets | SpecificTimestamps | GlobalTimestamp


def check_batch_limits(start: OffsetRangeLimit, end: OffsetRangeLimit) -> None:
    """Check a batch query's limits before they are resolved. Raises `OptionError`."""
    if isinstance(start, LatestOffsets):
        raise OptionError("starting offset can't be latest for batch queries on Kafka")
    if isinstance(start, SpecificOffsets):
        for partition, offset in start.offsets.items():
            if offset == LATEST:
                raise OptionError(f"startingOffsets for {partition} can't be latest for batch queries on Kafka")
    if isinstance(end, EarliestOffsets):
        raise OptionError("ending offset can't be earliest for batch queries on Kafka")
    if isinstance(end, SpecificOffsets):
        for partition, offset in end.offsets.items():
            if offset == EARLIEST:
                raise OptionError(f"ending offset for {partition} can't be earliest for batch queries on Kafka")
    if isinstance(start, SpecificOffsets) and isinstance(end, SpecificOffsets):
        _check_order(start.offsets, end.offsets, "offset")
    if isinstance(start, SpecificTimestamps) and isinstance(end, SpecificTimestamps):
        _check_order(start.timestamps, end.timestamps, "timestamp")


def _check_order(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], what: str) -> None:
    if start.keys() != end.keys():
        raise OptionError(
            "The specified start offset and end offset should have the same topic-partitions. Topic-partitions for "
            f"start offset: {names(start)}, topic-partitions for end offset: {names(end)}."
        )
    for partition, first in start.items():
        last = end[partition]
        if first > last >= 0:
            raise OptionError(
                f"The specified start {what} {first} is greater than the end {what} {last} "
                f"for topic {partition.topic} partition {partition.partition}."
            )


def names(partitions: Iterable[TopicPartition]) -> str:
    """`{topic-0, topic-1}`, in order."""
    return "{" + ", ".join(map(str, sorted(partitions))) + "}"


# --- JSON


def parse_partitions(text: str) -> frozenset[TopicPartition]:
    """`{"topicA":[0,1]}`."""
    try:
        return frozenset(
            TopicPartition(topic, _integer(partition))
            for topic, partitions in json.loads(text).items()
            for partition in partitions
        )
    except (ValueError, TypeError, AttributeError):
        raise OptionError(f'Expected e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text}') from None


def parse_offsets(text: str) -> PartitionOffsets:
    """`{"topicA":{"0":23,"1":-1}}`."""
    return _parsed(text, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}')


def parse_timestamps(text: str) -> PartitionOffsets:
    """`{"topicA":{"0":123456789}}`."""
    example = '{"topicA": {"0": 123456789, "1": 123456789},\n"topicB": {"0": 123456789, "1": 123456789}}'
    return _parsed(text, example)


def _parsed(text: str, example: str) -> PartitionOffsets:
    try:
        return offsets_from_json(json.loads(text))
    except (ValueError, TypeError, AttributeError):
        raise OptionError(f"Expected e.g. {example}, got {text}") from None


def offsets_from_json(offsets: Mapping[str, Mapping[str, int]]) -> PartitionOffsets:
    """Parse a stream's offsets from the form of Spark's checkpoint."""
    return {
        TopicPartition(topic, int(partition)): _integer(offset)
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }


def offsets_to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Format offsets, ordered by topic and partition, because Spark compares them as text."""
    result: dict[str, dict[str, int]] = {}
    for partition in sorted(offsets):
        result.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return result


Offsets = dict[str, Any]
"""Offsets in Spark's form: `{"topic": {"0": 17}}`, the next offset to read.

The end of a query's first batch also has its start, under START, an impossible topic name. (Spark's own source has a
file in the checkpoint for that, which Python sources lack.) So a first batch that is repeated after a restart is the
same batch.
"""
START = "@start"


def end_and_start(offsets: Offsets) -> tuple[PartitionOffsets, PartitionOffsets | None]:
    start = offsets.get(START)
    end = offsets_from_json({topic: found for topic, found in offsets.items() if topic != START})
    return end, None if start is None else offsets_from_json(start)


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(value)
    return value
