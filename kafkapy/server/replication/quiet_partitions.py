"""Partitions whose followers are caught up: fetches skip them until the next event on them."""

from __future__ import annotations

from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition


class Subscriber(Protocol):
    """A follower's fetch session."""

    def wake(self, partition: TopicPartition) -> None:
        """Activate a quiet partition, which may have changed."""
        ...

    def on_notified(self, partition: TopicPartition) -> None:
        """Check this partition, after all changed partitions have been activated, and fetches waiting for others
        answered.
        """
        ...


class QuietPartitions:
    """The subscriptions of sessions.

    Invariant: a session is notified once, of the next event on each partition that it has added.
    """

    def __init__(self) -> None:
        self._subscribers: dict[TopicPartition, list[Subscriber]] = {}

    def __bool__(self) -> bool:
        return bool(self._subscribers)

    def add(self, partition: TopicPartition, subscriber: Subscriber) -> None:
        self._subscribers.setdefault(partition, []).append(subscriber)

    def discard(self, partition: TopicPartition, subscriber: Subscriber) -> None:
        subscribers = self._subscribers.get(partition)
        if subscribers is not None and subscriber in subscribers:
            subscribers.remove(subscriber)
            if not subscribers:
                del self._subscribers[partition]

    def notify(self, partition: TopicPartition) -> list[Subscriber]:
        """Notify subscribers of new data, watermark, log start or leadership; return them."""
        subscribers = self._subscribers.pop(partition, [])
        for subscriber in subscribers:
            subscriber.wake(partition)
        return subscribers
