"""Records that wait to be sent: a queue of batches for each partition, in bounded memory (Kafka's `RecordAccumulator`).

Users' threads append, the driver's thread drains; one lock lies between them. The path of most records does not even
come here: `KafkaProducer.send` finds the topic's open batch in `sticky`, sees that there is room, and appends.

A batch begins with `batch_size` bytes of memory. It is ready to be sent when they are used up. If it still waits then,
because the broker has enough to do, it goes on growing in steps of `batch_size` up to `max_batch_bytes`: the busier the
broker, the larger the batches. (With a `batch_size` that the user chose, that is also the bound.)
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import MessageSizeTooLargeError
from kafkapy.producer.batch import RECORD_OVERHEAD, Lengths, ProducerBatch, cuts, precedes
from kafkapy.producer.future import FutureRecordMetadata
from kafkapy.producer.sticky_choice import StickyChoice
from kafkapy.record.batch_encoder import EncodedRecords, Headers, TimeRun

Clock = Callable[[], float]

_MAX_RECORD_OVERHEAD = 61 + 21
"""The batch header and what a record may take besides key, value and headers."""


class PartitionQueue:
    """The batches of one partition.

    Invariant: `batches` is in the order in which they are to be sent; `open` is the last of them or None, and only it
    takes records. `muted`: a request is in flight and order has to be kept without sequences.
    """

    __slots__ = ("batches", "muted", "open", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.batches: deque[ProducerBatch] = deque()
        self.open: ProducerBatch | None = None
        self.muted = False


class RecordAccumulator:
    """All queues of a producer.

    Invariant: under `lock`, `available` is `buffer_memory` less what batches that aren't done have reserved; `waiting`
    holds exactly the queues that have batches; `sticky[topic]` is an open batch, of the partition that records without
    key go to at present.
    """

    def __init__(
        self,
        *,
        batch_size: int = 16384,
        max_batch_bytes: int = 16384,
        buffer_memory: int = 32 << 20,
        max_request_size: int = 1 << 20,
        monotonic_ms: Callable[[], float],
        clock: Clock,
        wakeup: Callable[[], None] = lambda: None,
    ) -> None:
        """`clock`: seconds since the epoch, for timestamps. `wakeup`: tells the sender that there may be work."""
        self.lock = threading.Lock()
        self.batch_size = max(1, batch_size)
        self.max_batch_bytes = max(self.batch_size, max_batch_bytes)
        self.buffer_memory = buffer_memory
        self.available = buffer_memory
        self.max_request_size = max_request_size
        self.clock = clock
        self.wakeup = wakeup
        self.sticky: dict[str, ProducerBatch] = {}
        self.waiting: dict[TopicPartition, PartitionQueue] = {}
        self.incomplete: set[ProducerBatch] = set()
        self.flushes = 0
        """While above 0, batches don't linger."""
        self.closed = False
        self.exhausted = False
        """Whether a caller waits for memory: then batches don't linger."""
        self.wait_otherwise: Callable[[ProducerBatch, float | None], object] | None = None
        """For the batches: see there."""
        self.used_ms: dict[str, float] = {}
        """When each topic was last used: when its last batch was begun, or its partitions were asked for."""
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._choices: dict[str, StickyChoice] = {}
        self._monotonic_ms = monotonic_ms
        self._memory_waiters: list[Callable[[], object]] = []

    # --- appending: any thread

    def append(
        self,
        topic_partition: TopicPartition,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers | None = None,
        timestamp: int | None = None,
        *,
        sticky: bool = False,
    ) -> FutureRecordMetadata | None:
        """Add a record; None if there is no memory at present.

        `sticky`: the partition was chosen by `sticky_partition`; records without key may follow on the short path.
        Raises MessageSizeTooLargeError for a record that no request or buffer could hold.
        """
        size = self.record_size(value, key, headers)
        new = False
        with self.lock:
            queue = self.queue(topic_partition)
            batch = queue.open
            if batch is None or batch.room < size:
                batch = self._make_room(queue, size)
                if batch is None:
                    return None
                new = True
            batch.room -= size
            if key is not None or headers or batch.keys is not None or batch.headers is not None:
                self._leave_short_path(batch)
                sticky = False
            index = batch.add(value, key, headers, timestamp, self.clock())
            if sticky:
                self.sticky[topic_partition.topic] = batch
        if new:
            self.wakeup()
        return FutureRecordMetadata(batch, index)

    def append_batch(
        self,
        topic_partition: TopicPartition,
        values: list[bytes | None],
        keys: list[bytes | None] | None,
        headers: list[Headers | None] | None,
        timestamps: list[int] | None,
        size: int,
    ) -> ProducerBatch | None:
        """Add a batch of its own, `size` bytes, behind what the partition has; None if there is no memory at present."""
        with self.lock:
            batch = self._own_batch(topic_partition, size)
            if batch is None:
                return None
            batch.values, batch.keys, batch.headers = values, keys, headers
            batch.has_own_times = timestamps is not None
            batch.times = list(timestamps) if timestamps is not None else [self.clock()] * len(values)
        self.wakeup()
        return batch

    def append_encoded(
        self,
        topic_partition: TopicPartition,
        encoded: EncodedRecords,
        lengths: Lengths,
        runs: Sequence[TimeRun],
        size: int,
    ) -> ProducerBatch | None:
        """The same of records that are encoded already."""
        with self.lock:
            batch = self._own_batch(topic_partition, size)
            if batch is None:
                return None
            batch.hold(encoded, lengths, runs)
        self.wakeup()
        return batch

    def _own_batch(self, topic_partition: TopicPartition, size: int) -> ProducerBatch | None:
        """A batch behind what the partition has, which takes no more records than it is given now."""
        if not self._reserve(size):
            return None
        queue = self.queue(topic_partition)
        self._close(queue)
        batch = self._new_batch(queue, size)
        batch.room = -1
        return batch

    def record_size(self, value: bytes | None, key: bytes | None = None, headers: Headers | None = None) -> int:
        """What a record is counted with. Raises MessageSizeTooLargeError if it can never be sent."""
        size = (len(value) if value is not None else 0) + (len(key) if key is not None else 0) + RECORD_OVERHEAD
        if headers:
            size += sum(len(name.encode()) + len(content or b"") + 4 for name, content in headers)
        self.check_record_size(size)
        return size

    def check_record_size(self, size: int) -> None:
        """`size`: what a record is counted with. Raises MessageSizeTooLargeError if it can never be sent."""
        most = size - RECORD_OVERHEAD + _MAX_RECORD_OVERHEAD
        if most > self.max_request_size:
            raise MessageSizeTooLargeError(
                f"The message is {most} bytes when serialized which is larger than the maximum request size you have "
                "configured with the max_request_size configuration"
            )
        if size > self.buffer_memory:
            raise MessageSizeTooLargeError(
                f"The message is {most} bytes when serialized which is larger than the total memory buffer you have "
                "configured with the buffer_memory configuration"
            )

    def has_room(self, topic_partition: TopicPartition, size: int) -> bool:
        """Would a record of about `size` go into the partition's open batch?"""
        with self.lock:
            batch = self.queue(topic_partition).open
            return batch is not None and batch.room >= size + RECORD_OVERHEAD

    def pieces(self, sizes: list[int]) -> list[tuple[int, int]]:
        """How `append_batch` is best fed with records of these sizes: (start, end) of each batch."""
        return cuts(sizes, self.piece_bytes)

    @property
    def piece_bytes(self) -> int:
        """The largest batch that `append_batch` and `append_encoded` are to be fed with, but for a single record."""
        return min(self.max_batch_bytes, self.buffer_memory)

    def queue(self, topic_partition: TopicPartition) -> PartitionQueue:
        """The partition's queue; made if there is none, so under the lock or on the driver's thread for a known one."""
        queue = self._queues.get(topic_partition)
        if queue is None:
            queue = self._queues[topic_partition] = PartitionQueue(topic_partition)
        return queue

    def _make_room(self, queue: PartitionQueue, size: int) -> ProducerBatch | None:
        """An open batch with room for a record: the open one, grown, or a new one. None: no memory."""
        step = max(self.batch_size, size)
        if not self._reserve(step):
            return None
        batch = queue.open
        if batch is not None and batch.reserved + step <= self.max_batch_bytes:
            batch.reserved += step
            batch.room += step
            return batch
        self._close(queue)
        batch = self._new_batch(queue, step)
        queue.open = batch
        return batch

    def _new_batch(self, queue: PartitionQueue, reserved: int) -> ProducerBatch:
        now_ms = self._monotonic_ms()
        batch = ProducerBatch(queue.topic_partition, self.lock, now_ms, reserved)
        self.used_ms[queue.topic_partition.topic] = now_ms
        batch.wait_otherwise = self.wait_otherwise
        queue.batches.append(batch)
        self.waiting[queue.topic_partition] = queue
        self.incomplete.add(batch)
        return batch

    def _close(self, queue: PartitionQueue) -> None:
        batch, queue.open = queue.open, None
        if batch is not None:
            self._leave_short_path(batch)

    def _leave_short_path(self, batch: ProducerBatch) -> None:
        topic = batch.topic_partition.topic
        if self.sticky.get(topic) is batch:
            del self.sticky[topic]
            self._tell_choice(self._choices[topic], batch)

    # --- records without key

    def sticky_partition(self, topic: str, available: list[int], size: int = 0, *, count: bool = False) -> int:
        """Where a record of `size` without key goes now (KIP-794); `available`: partitions with a leader, or else all.

        `count`: it is a whole batch, which is not counted otherwise.
        """
        with self.lock:
            choice = self._choices.get(topic)
            if choice is None:
                choice = self._choices[topic] = StickyChoice(self.batch_size)
            batch = self.sticky.get(topic)
            if batch is not None:
                self._tell_choice(choice, batch)
            loads = self._loads
            partition = choice.partition(available, lambda: [loads(topic, p) for p in available], size)
            if count:
                choice.add(size)
            return partition

    def _tell_choice(self, choice: StickyChoice, batch: ProducerBatch) -> None:
        used = batch.reserved - batch.room
        choice.add(used - batch.counted)
        batch.counted = used

    def _loads(self, topic: str, partition: int) -> int:
        queue = self.waiting.get(TopicPartition(topic, partition))
        return 0 if queue is None else sum(batch.reserved for batch in queue.batches) // self.batch_size

    # --- memory

    def _reserve(self, size: int) -> bool:
        if self.available >= size or self.available == self.buffer_memory:
            self.available -= size
            return True
        self.exhausted = True
        return False

    def when_memory(self, callback: Callable[[], object]) -> None:
        """Call it when memory was given back: on the driver's thread, or at once if all of it is free."""
        with self.lock:
            nothing_used = self.available == self.buffer_memory
            if not nothing_used:
                self._memory_waiters.append(callback)
        if nothing_used:
            callback()
        else:
            self.wakeup()

    def release(self, batch: ProducerBatch) -> None:
        """A batch is done: its memory is free again."""
        with self.lock:
            self.incomplete.discard(batch)
            self.available += batch.reserved
            batch.reserved = 0
            waiters, self._memory_waiters = self._memory_waiters, []
            self.exhausted = False
        for waiter in waiters:
            waiter()

    # --- draining: the driver's thread

    def is_ready(self, queue: PartitionQueue, now_ms: float, linger_ms: float) -> float:
        """0 if the queue's first batch is to be sent now, else in how many ms it is."""
        batch = queue.batches[0]
        if batch.attempts:
            return max(0.0, batch.retry_at_ms - now_ms)
        if len(queue.batches) > 1 or batch.room < 0 or batch.reserved > self.batch_size:
            return 0
        if batch.room < RECORD_OVERHEAD or self.flushes or self.closed or self.exhausted:
            return 0
        return max(0.0, batch.created_ms + linger_ms - now_ms)

    def take(self, queue: PartitionQueue) -> ProducerBatch:
        """Remove the first batch of a queue; it takes no more records."""
        with self.lock:
            batch = queue.batches.popleft()
            if queue.open is batch:
                self._close(queue)
            if not queue.batches:
                del self.waiting[queue.topic_partition]
            return batch

    def put_back(self, batch: ProducerBatch) -> None:
        """Queue a batch again that is to be retried: in the order of sequences if it has one, else in front."""
        self._insert([batch])

    def replace(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """A batch was split into others, which have its memory now."""
        self._insert(parts)
        self.release(batch)

    def _insert(self, batches: Iterable[ProducerBatch]) -> None:
        with self.lock:
            for batch in reversed(list(batches)):
                queue = self.queue(batch.topic_partition)
                position = 0
                if batch.has_sequence:
                    position = sum(1 for b in queue.batches if b.has_sequence and precedes(b, batch))
                queue.batches.insert(position, batch)
                self.waiting[batch.topic_partition] = queue
                self.incomplete.add(batch)

    def is_used_since(self, topic: str, ms: float) -> bool:
        """Was anything sent to the topic after then, or is it still under way?"""
        if self.used_ms.get(topic, -math.inf) > ms:
            return True
        with self.lock:
            return any(batch.topic_partition.topic == topic for batch in self.incomplete)

    def unsent(self) -> list[ProducerBatch]:
        """All batches in the queues, oldest first within a partition."""
        with self.lock:
            return [batch for queue in self.waiting.values() for batch in queue.batches]

    def remove(self, batch: ProducerBatch) -> None:
        """Take a batch out of its queue, wherever it stands."""
        with self.lock:
            queue = self.queue(batch.topic_partition)
            if batch in queue.batches:
                queue.batches.remove(batch)
            if queue.open is batch:
                self._close(queue)
            if not queue.batches:
                self.waiting.pop(batch.topic_partition, None)
