"""Partitions in which followers have all there is: they are looked at again when something happens, not with each fetch."""

from __future__ import annotations

from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition


class Sleeper(Protocol):
    """A follower's fetch session."""

    def wake(self, partition: TopicPartition) -> None:
        """Something happened to a partition that was quiet: there may be news."""
        ...

    def has_woken(self, partition: TopicPartition) -> None:
        """All partitions with news are awake, and fetches that waited for the others are answered: look at this one."""
        ...


class QuietPartitions:
    """Invariant: a session is told once of the next event on each partition that it has put here."""

    def __init__(self) -> None:
        self._sleepers: dict[TopicPartition, list[Sleeper]] = {}

    def __bool__(self) -> bool:
        return bool(self._sleepers)

    def add(self, partition: TopicPartition, sleeper: Sleeper) -> None:
        self._sleepers.setdefault(partition, []).append(sleeper)

    def discard(self, partition: TopicPartition, sleeper: Sleeper) -> None:
        sleepers = self._sleepers.get(partition)
        if sleepers is not None and sleeper in sleepers:
            sleepers.remove(sleeper)
            if not sleepers:
                del self._sleepers[partition]

    def happened(self, partition: TopicPartition) -> list[Sleeper]:
        """New data, watermark, log start or leadership. Those that were woken."""
        sleepers = self._sleepers.pop(partition, [])
        for sleeper in sleepers:
            sleeper.wake(partition)
        return sleepers
