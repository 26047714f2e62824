"""The queued records of a task, and the choice of the next one (KIP-353, KIP-695)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.java_priority_queue import JavaPriorityQueue
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.timestamps import FailOnInvalidTimestamp
from kafkapy.streams.topology.nodes import SourceNode

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.streams.columns.waiting import WaitingColumns

UNKNOWN: Final = -1
"""The stream time before the first record."""
_MAX_ROWS_AT_ONCE: Final = 256
"""Limit of a batch's rows that are converted to records in advance."""


class StampedRecord(NamedTuple):
    """A record with its timestamp; `corrupted`: it could not be deserialized and only its offset is used."""

    record: ConsumedRecord
    timestamp: int
    corrupted: bool = False


Deserialize = Callable[[SourceNode, ConsumedRecord], ConsumedRecord | None]
"""Deserializes a record; returns None for one to be skipped."""


class RecordQueue:
    """The queued records of one partition, of which the first is deserialized (Kafka's `RecordQueue`).

    Invariant: `head` is None only if no record is queued; its timestamp is the queue's rank. `partition_time` is the
    highest timestamp of the polled records. The records in `_columns` come after those in `_waiting`.

    Args:
        topic: Topic of the partition.
        partition: Partition number.
        source: The source node of its records.
        extractor: Returns the timestamp of a record.
        deserialize: Deserializes key and value.
        dropped: Called for each record without a valid timestamp.
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        source: SourceNode,
        extractor: Any,
        deserialize: Deserialize,
        dropped: Callable[[], None],
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.source = source
        self.head: StampedRecord | None = None
        self.partition_time = UNKNOWN
        self._extractor = extractor
        self._deserialize = deserialize
        self._dropped = dropped
        self._waiting: deque[ConsumedRecord] = deque()
        self._columns: WaitingColumns | None = None
        self._rows_at_once = 1

    def __len__(self) -> int:
        waiting = len(self._waiting) + (self.head is not None)
        return waiting if self._columns is None else waiting + len(self._columns)

    @property
    def rank(self) -> int:
        return UNKNOWN if self.head is None else self.head.timestamp

    def add(self, records: Iterable[ConsumedRecord]) -> None:
        """Add records in offset order.

        Raises:
            StreamsException: A record cannot be deserialized and the handler decides to fail; or the extractor failed.
        """
        while self._columns:
            self._waiting.extend(self._columns.take_records(_MAX_ROWS_AT_ONCE))
        self._waiting.extend(records)
        self._find_head()

    def add_columns(self, batch: pa.RecordBatch) -> None:
        """Add records of `KafkaConsumer.poll_arrow`; raises as `add`."""
        if self._columns is None:
            from kafkapy.streams.columns.waiting import WaitingColumns

            self._columns = WaitingColumns()
        self._columns.add(batch)
        self._find_head()

    def poll(self) -> StampedRecord:
        """Remove and return the first record."""
        record = self.head
        assert record is not None
        self.head = None
        self.partition_time = max(self.partition_time, record.timestamp)
        self._find_head()
        return record

    def waiting(self, limit: int, until: int | None) -> list[ConsumedRecord]:
        """Return the raw records after the head, if their timestamps are the topic's.

        Args:
            limit: Largest number of records.
            until: The first record with this or a later timestamp is the last one; None: no limit.
        """
        if type(self._extractor) is not FailOnInvalidTimestamp or self.head is None or self.head.corrupted:
            return []
        found: list[ConsumedRecord] = []
        if until is not None and self.head.timestamp >= until:
            return found
        for record in islice(self._waiting, limit):
            if record.timestamp < 0:
                break
            found.append(record)
            if until is not None and record.timestamp >= until:
                break
        return found

    def waiting_columns(self, limit: int) -> pa.RecordBatch | None:
        """Return the raw rows after the head, if their timestamps are the topic's.

        Args:
            limit: Largest number of rows.

        Returns:
            None if the next records are not columns.
        """
        if type(self._extractor) is not FailOnInvalidTimestamp or self._waiting or not self._columns:
            return None
        return self._columns.first(limit)

    def take(self, count: int) -> None:
        """Remove the head and the first records that `waiting` returned."""
        assert self.head is not None
        self._taken(max([self.head.timestamp] + [self._waiting.popleft().timestamp for _ in range(count)]))

    def take_columns(self, count: int, time: int) -> None:
        """Remove the head and the first rows of `waiting_columns`; `time` is their highest timestamp."""
        assert self.head is not None and self._columns is not None
        self._columns.take(count)
        self._rows_at_once = 1
        self._taken(max(time, self.head.timestamp))

    def _taken(self, time: int) -> None:
        self.partition_time = max(self.partition_time, time)
        self.head = None
        self._find_head()

    def clear(self) -> None:
        self._waiting.clear()
        self._columns = None
        self.head = None
        self.partition_time = UNKNOWN

    def _find_head(self) -> None:
        corrupted = None
        while self.head is None and (self._waiting or self._read_rows()):
            raw = self._waiting.popleft()
            record = self._deserialize(self.source, raw)
            if record is None:
                corrupted = raw
                continue
            timestamp = self._timestamp(record)
            if timestamp < 0:
                self._dropped()
                continue
            self.head = StampedRecord(record, timestamp)
        if self.head is None and corrupted is not None:
            self.head = StampedRecord(corrupted, UNKNOWN, corrupted=True)

    def _read_rows(self) -> bool:
        """Convert some rows to records: one while batches are removed as a whole, increasingly many while records are
        removed singly."""
        if not self._columns:
            return False
        self._waiting.extend(self._columns.take_records(self._rows_at_once))
        self._rows_at_once = min(2 * self._rows_at_once, _MAX_ROWS_AT_ONCE)
        return True

    def _timestamp(self, record: ConsumedRecord) -> int:
        try:
            return int(self._extractor.extract(record, self.partition_time))
        except StreamsException:
            raise
        except Exception as error:
            raise StreamsException(
                f"Fatal user code error in TimestampExtractor callback for record {record}."
            ) from error


class PartitionGroup:
    """The partitions of a task (Kafka's `PartitionGroup`).

    Invariant: `_by_time` holds each non-empty queue once; `stream_time` is the highest timestamp of the polled
    records; `size` is the number of queued records.

    Args:
        queues: The queues of all partitions.
        max_task_idle_ms: `max.task.idle.ms`.
        lag: Returns the number of records of a partition at the broker that were not fetched yet; None: not known yet.
    """

    def __init__(
        self, queues: Iterable[RecordQueue], max_task_idle_ms: int, lag: Callable[[str, int], int | None]
    ) -> None:
        self.queues = {(queue.topic, queue.partition): queue for queue in queues}
        self.stream_time = UNKNOWN
        self.size = 0
        self._idle_ms = max_task_idle_ms
        self._lag = lag
        self._by_time: JavaPriorityQueue[RecordQueue] = JavaPriorityQueue()
        self._deadlines: dict[tuple[str, int], int] = {}
        """The deadline of waiting for each empty partition."""

    def add(self, topic: str, partition: int, records: Iterable[ConsumedRecord]) -> int:
        """Add records of a partition; return the length of its queue."""
        queue = self.queues[topic, partition]
        before = len(queue)
        queue.add(records)
        return self._added(queue, before)

    def add_columns(self, topic: str, partition: int, batch: pa.RecordBatch) -> int:
        """Like `add`, of records as columns."""
        queue = self.queues[topic, partition]
        before = len(queue)
        queue.add_columns(batch)
        return self._added(queue, before)

    def _added(self, queue: RecordQueue, before: int) -> int:
        after = len(queue)
        if not before and after:
            self._by_time.add(queue)
        self.size += after - before
        return after

    def next(self) -> tuple[StampedRecord, RecordQueue] | None:
        """Remove and return the record with the lowest timestamp; None if none is queued."""
        queue = self._by_time.poll()
        if queue is None:
            return None
        before = len(queue)
        record = queue.poll()
        self.size -= before - len(queue)
        if len(queue):
            self._by_time.add(queue)
        self.stream_time = max(self.stream_time, record.timestamp)
        return record, queue

    def next_run(self, taken: StampedRecord, queue: RecordQueue, limit: int, until: int | None) -> list[StampedRecord]:
        """Remove the records that `next` would return after a record, as long as they are certainly of the same
        partition.

        The group stays ready, since the other partitions and their known lags do not change in between.

        Args:
            taken: The record returned by `next`.
            queue: Its queue.
            limit: Largest number of records, `taken` included.
            until: The first record with this or a later timestamp is the last one; None: no limit.

        Returns:
            The record and those after it.
        """
        run = [taken]
        others = [other.rank for other in self.queues.values() if other is not queue and len(other)]
        bound = min(others, default=None)
        before = len(queue)
        while len(run) < limit and (until is None or self.stream_time < until):
            head = queue.head
            if head is None or head.corrupted or (bound is not None and head.timestamp >= bound):
                break
            # Its head is the smallest one: the queue is the first. It is removed and offered again for each record,
            # because that # determines which of two other partitions with the same timestamp is next.
            self._by_time.poll()
            run.append(queue.poll())
            self.stream_time = max(self.stream_time, run[-1].timestamp)
            if len(queue):
                self._by_time.add(queue)
        self.size -= before - len(queue)
        return run

    def only_queue(self) -> RecordQueue | None:
        """Return the only queue with records; None if several have records, or none has."""
        queue = self._by_time.peek()
        return queue if len(self._by_time) == 1 else None

    def take(self, queue: RecordQueue, take: Callable[[], None]) -> None:
        """Remove the head of the only queue and records after it.

        Args:
            queue: The only queue with records.
            take: Calls its `take` or `take_columns`.
        """
        self._by_time.poll()
        before = len(queue)
        take()
        self.size -= before - len(queue)
        self.stream_time = max(self.stream_time, queue.partition_time)
        if len(queue):
            self._by_time.add(queue)

    def is_ready(self, now_ms: int) -> bool:
        """Return whether the next record can be processed: each partition has a record, or `max.task.idle.ms` allows
        to continue without one."""
        if self._idle_ms < 0:
            return True
        some_empty = some_full = False
        for partition, queue in self.queues.items():
            if len(queue):
                self._deadlines.pop(partition, None)
                some_full = True
            elif self._waits_for(partition, now_ms):
                return False
            else:
                some_empty = True
        return some_full or not some_empty

    def set_partition_time(self, topic: str, partition: int, time: int) -> None:
        """Set a partition's time from its commit metadata."""
        self.stream_time = max(self.stream_time, time)
        self.queues[topic, partition].partition_time = time

    def clear(self) -> None:
        for queue in self.queues.values():
            queue.clear()
        self._by_time.clear()
        self.size = 0
        self.stream_time = UNKNOWN

    def _waits_for(self, partition: tuple[str, int], now_ms: int) -> bool:
        if self._lag(*partition) != 0:
            self._deadlines.pop(partition, None)
            return True
        return now_ms < self._deadlines.setdefault(partition, now_ms + self._idle_ms)
