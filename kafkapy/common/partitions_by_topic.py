"""Groups partitions by topic, as most messages have them."""

from __future__ import annotations

from collections.abc import Iterable

from kafkapy.common.topic_partition import TopicPartition


def indexes_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partition indexes by topic, in the given order."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return topics
