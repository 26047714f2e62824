"""What a coordinator needs of the log, and no more (after Kafka's `PartitionWriter` and `CoordinatorLoader`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors


class PartitionWriter(Protocol):
    """Appends to the internal topics on behalf of a coordinator. All calls come on the reactor thread."""

    def append(
        self,
        partition: TopicPartition,
        batch: bytes,
        done: Callable[[Errors, int], None],
        timeout_ms: int,
    ) -> None:
        """Append one v2 batch with acks=-1 as the coordinator (no client checks).

        `done(error, base_offset)` is called exactly once, on the reactor thread, possibly before this returns: with
        `Errors.NONE` when the batch is committed (high watermark passed it), else with the log's or purgatory's error as
        the data path has it (NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT, ...); the coordinator
        translates it. The batch may be in the log even if `done` reports a time-out.
        """
        ...

    def is_leader(self, partition: TopicPartition) -> bool:
        """Does this broker lead the partition now?"""
        ...

    def partition_count(self, topic: str) -> int | None:
        """How many partitions the topic has, as far as the metadata cache knows; None if it knows no such topic."""
        ...


class PartitionReader(Protocol):
    """Reads an internal partition from start to end; used from the background pool while a coordinator loads."""

    def read_batches(self, partition: TopicPartition) -> Iterator[memoryview]:
        """Buffers of whole v2 batches from the log start offset up to the log end, in order; bounded size each.

        Raises `KafkaError` (NOT_LEADER_OR_FOLLOWER) if the partition is not led here.
        """
        ...
