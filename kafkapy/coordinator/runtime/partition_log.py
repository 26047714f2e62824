"""A coordinator's interface to the log (after Kafka's `PartitionWriter` and `CoordinatorLoader`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors


class PartitionLog(Protocol):
    """Access to the internal topics."""

    def append(
        self, partition: TopicPartition, batch: bytes, done: Callable[[Errors, int], None], timeout_ms: int
    ) -> None:
        """Append one v2 batch with acks=-1 as the coordinator (no client checks); called on the reactor thread.

        `done(error, base_offset)` is called exactly once, on the reactor thread, possibly before this returns: with
        `Errors.NONE` when the batch is committed (high watermark passed it), else with the error of the log or the
        purgatory (NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT, ...); the coordinator
        translates it. The batch may be in the log even if `done` reports a time-out.
        """
        ...

    def max_batch_size(self, partition: TopicPartition) -> int | None:
        """Return the maximum size of a batch in bytes (`max.message.bytes`); None if this broker doesn't lead the partition."""
        ...

    def partition_count(self, topic: str) -> int | None:
        """Return the topic's number of partitions in the metadata cache; None if the topic is unknown."""
        ...

    def read_batches(self, partition: TopicPartition) -> Iterator[memoryview]:
        """Yield buffers of whole batches from the log start offset up to the log end, in order; bounded size each.

        Used from the background pool. Raises `KafkaError` (NOT_LEADER_OR_FOLLOWER) if this broker doesn't lead the
        partition.
        """
        ...
