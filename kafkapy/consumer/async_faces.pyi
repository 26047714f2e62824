"""`AsyncConsumer` for each kind of promise. Type checkers and editors see the stub that is made beside it, where the methods
that take time give asyncio's futures, or Deferreds."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Literal, Self, overload

from twisted.internet.defer import Deferred

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.async_consumer import AsyncConsumer
from kafkapy.consumer.group.commits import Offsets
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.consumer.to_arrow import ArrowTable, Bound
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp

class AwaitableConsumer(AsyncConsumer):
    def start(self) -> asyncio.Future[Self]:
        """Wait until a broker has answered; gives this consumer. Raises KafkaTimeoutError after bootstrap_timeout_ms."""
    def stop(self, autocommit: bool = True, timeout_ms: float | None = None) -> asyncio.Future[None]:
        """Commit (if that is automatic and wanted), leave the group, close connections."""
    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> asyncio.Future[dict[TopicPartition, list[ConsumerRecord]]]:
        """Records by partition, at most `max_records` (default max_poll_records); waits up to `timeout_ms` for some.
        Cancelling it loses nothing."""
    def getone(self) -> asyncio.Future[ConsumerRecord]:
        """The next record, however long it takes."""
    def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> asyncio.Future[ArrowTable | None]:
        """The same as a `pyarrow.Table`; None if nothing came."""
    def to_arrow(
        self, topic: str, start: Bound = None, end: Bound = None, **options: Any
    ) -> asyncio.Future[ArrowTable]:
        """The records with start <= offset < end of a topic as a `pyarrow.Table`; read in a thread of its own."""
    def unsubscribe(self) -> asyncio.Future[None]:
        """Stop reading, and leave the group."""
    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> asyncio.Future[int | None]:
        """The offset of the record that comes next; None if it is not known in time."""
    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> asyncio.Future[dict[TopicPartition, int]]:
        """The first offset of each. Raises KafkaTimeoutError."""
    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> asyncio.Future[dict[TopicPartition, int]]:
        """The offset after the last one of each, in the consumer's isolation level. Raises KafkaTimeoutError."""
    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> asyncio.Future[dict[TopicPartition, OffsetAndTimestamp | None]]:
        """The first record at or after a time (ms since the epoch); None where there is none. Raises ValueError,
        KafkaTimeoutError."""
    def commit(self, offsets: Offsets | None = None, timeout_ms: float | None = None) -> asyncio.Future[None]:
        """Commit (default: all that was consumed), repeating what may be repeated."""
    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[False] = False, timeout_ms: float | None = None
    ) -> asyncio.Future[int | None]:
        """The group's offset (or, with `metadata`, the `OffsetAndMetadata`); None if there is none."""
    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[True], timeout_ms: float | None = None
    ) -> asyncio.Future[OffsetAndMetadata | None]:
        """The group's offset (or, with `metadata`, the `OffsetAndMetadata`); None if there is none."""
    def topics(self) -> asyncio.Future[set[str]]:
        """All topics that this client may see, but for the cluster's own."""
    def partitions_for_topic(self, topic: str) -> asyncio.Future[set[int]]:
        """Numbers of the partitions; empty if there is no such topic."""
    close = stop
    getmany = poll

class DeferredConsumer(AsyncConsumer):
    def start(self) -> Deferred[Self]:
        """Wait until a broker has answered; gives this consumer. Raises KafkaTimeoutError after bootstrap_timeout_ms."""
    def stop(self, autocommit: bool = True, timeout_ms: float | None = None) -> Deferred[None]:
        """Commit (if that is automatic and wanted), leave the group, close connections."""
    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> Deferred[dict[TopicPartition, list[ConsumerRecord]]]:
        """Records by partition, at most `max_records` (default max_poll_records); waits up to `timeout_ms` for some.
        Cancelling it loses nothing."""
    def getone(self) -> Deferred[ConsumerRecord]:
        """The next record, however long it takes."""
    def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> Deferred[ArrowTable | None]:
        """The same as a `pyarrow.Table`; None if nothing came."""
    def to_arrow(self, topic: str, start: Bound = None, end: Bound = None, **options: Any) -> Deferred[ArrowTable]:
        """The records with start <= offset < end of a topic as a `pyarrow.Table`; read in a thread of its own."""
    def unsubscribe(self) -> Deferred[None]:
        """Stop reading, and leave the group."""
    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> Deferred[int | None]:
        """The offset of the record that comes next; None if it is not known in time."""
    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> Deferred[dict[TopicPartition, int]]:
        """The first offset of each. Raises KafkaTimeoutError."""
    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> Deferred[dict[TopicPartition, int]]:
        """The offset after the last one of each, in the consumer's isolation level. Raises KafkaTimeoutError."""
    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> Deferred[dict[TopicPartition, OffsetAndTimestamp | None]]:
        """The first record at or after a time (ms since the epoch); None where there is none. Raises ValueError,
        KafkaTimeoutError."""
    def commit(self, offsets: Offsets | None = None, timeout_ms: float | None = None) -> Deferred[None]:
        """Commit (default: all that was consumed), repeating what may be repeated."""
    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[False] = False, timeout_ms: float | None = None
    ) -> Deferred[int | None]:
        """The group's offset (or, with `metadata`, the `OffsetAndMetadata`); None if there is none."""
    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[True], timeout_ms: float | None = None
    ) -> Deferred[OffsetAndMetadata | None]:
        """The group's offset (or, with `metadata`, the `OffsetAndMetadata`); None if there is none."""
    def topics(self) -> Deferred[set[str]]:
        """All topics that this client may see, but for the cluster's own."""
    def partitions_for_topic(self, topic: str) -> Deferred[set[int]]:
        """Numbers of the partitions; empty if there is no such topic."""
    close = stop
    getmany = poll
