"""What a coordinator needs of the log, and no more (after Kafka's `PartitionWriter` and `CoordinatorLoader`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors


class PartitionLog(Protocol):
    """The internal topics as coordinators see them."""

    def append(
        self, partition: TopicPartition, batch: bytes, done: Callable[[Errors, int], None], timeout_ms: int
    ) -> None:
        """Append one v2 batch with acks=-1 as the coordinator (no client checks); called on the reactor thread.

        `done(error, base_offset)` is called exactly once, on the reactor thread, possibly before this returns: with
        `Errors.NONE` when the batch is committed (high watermark passed it), else with the log's or purgatory's error as
        the data path has it (NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT, ...); the coordinator
        translates it. The batch may be in the log even if `done` reports a time-out.
        """
        ...

    def max_batch_size(self, partition: TopicPartition) -> int | None:
        """Bytes of a batch that the log takes (`max.message.bytes`); None if it is not led here."""
        ...

    def partition_count(self, topic: str) -> int | None:
        """How many partitions the topic has, as far as the metadata cache knows; None if it knows no such topic."""
        ...

    def read_batches(self, partition: TopicPartition) -> Iterator[memoryview]:
        """Buffers of whole batches from the log start offset up to the log end, in order; bounded size each.

        Used from the background pool. Raises `KafkaError` (NOT_LEADER_OR_FOLLOWER) if the partition is not led here.
        """
        ...
