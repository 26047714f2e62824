"""Partitions as most messages have them: under the name of their topic."""

from __future__ import annotations

from collections.abc import Iterable

from kafkapy.common.topic_partition import TopicPartition


def indexes_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """In the order given."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return topics
