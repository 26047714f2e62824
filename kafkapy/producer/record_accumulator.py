"""Buffers records until they are sent: a queue of batches for each partition, in bounded memory (Kafka's
`RecordAccumulator`).

Users' threads append, the driver's thread drains, and one lock protects the queues. Most records bypass `append`:
`KafkaProducer.send` finds the topic's open batch in `sticky`, checks that it has room, and appends.

A batch begins with `batch_size` bytes of memory. It is ready to be sent when they are used up. While it has to wait
because the broker is busy, it grows in steps of `batch_size` up to `max_batch_bytes`: the busier the broker, the
larger the batches. (A `batch_size` set by the user is also the limit.)
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
"""Bytes of the batch header, and the most that a record takes besides key, value and headers."""


class PartitionQueue:
    """The batches of one partition.

    Invariant: `batches` is in sending order; `open` is the last of them or None, and records are added only to it.
    `muted`: a request is in flight, and the next must wait, because order is kept without sequences.
    """

    __slots__ = ("batches", "muted", "open", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.batches: deque[ProducerBatch] = deque()
        self.open: ProducerBatch | None = None
        self.muted = False


class RecordAccumulator:
    """All queues of a producer.

    Invariant: under `lock`, `available` is `buffer_memory` minus the bytes reserved by unfinished batches; `waiting`
    holds exactly the queues that have batches; `sticky[topic]` is the open batch of the topic's current sticky
    partition.
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
        """`clock`: seconds since the epoch, for timestamps. `wakeup`: notifies the sender that there may be work."""
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
        """Whether a caller waits for memory; batches don't linger then."""
        self.wait_otherwise: Callable[[ProducerBatch, float | None], object] | None = None
        """Passed to each batch; see `ProducerBatch`."""
        self.used_ms: dict[str, float] = {}
        """When each topic was last used: when its last batch was created, or its partitions were requested."""
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
        """Add a record; return None if there is no memory at present.

        `sticky`: the partition was chosen by `sticky_partition`, so that records without key may use the fast path
        next.
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
        """Append a separate batch of `size` bytes to the partition's queue; return None if there is no memory at
        present."""
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
        """The same as `append_batch`, for records that are already encoded."""
        with self.lock:
            batch = self._own_batch(topic_partition, size)
            if batch is None:
                return None
            batch.hold(encoded, lengths, runs)
        self.wakeup()
        return batch

    def _own_batch(self, topic_partition: TopicPartition, size: int) -> ProducerBatch | None:
        """Append a new batch to the partition's queue, closed for further records."""
        if not self._reserve(size):
            return None
        queue = self.queue(topic_partition)
        self._close(queue)
        batch = self._new_batch(queue, size)
        batch.room = -1
        return batch

    def record_size(self, value: bytes | None, key: bytes | None = None, headers: Headers | None = None) -> int:
        """Return a record's estimated size in bytes. Raises MessageSizeTooLargeError if it can never be sent."""
        size = (len(value) if value is not None else 0) + (len(key) if key is not None else 0) + RECORD_OVERHEAD
        if headers:
            size += sum(len(name.encode()) + len(content or b"") + 4 for name, content in headers)
        self.check_record_size(size)
        return size

    def check_record_size(self, size: int) -> None:
        """Raise MessageSizeTooLargeError if a record of this estimated size can never be sent."""
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
        """Return whether a record of about `size` bytes fits into the partition's open batch."""
        with self.lock:
            batch = self.queue(topic_partition).open
            return batch is not None and batch.room >= size + RECORD_OVERHEAD

    def pieces(self, sizes: list[int]) -> list[tuple[int, int]]:
        """Cut records of these sizes into batches for `append_batch`: (start, end) of each."""
        return cuts(sizes, self.piece_bytes)

    @property
    def piece_bytes(self) -> int:
        """Return the largest size for `append_batch` and `append_encoded` in bytes; only a single record may exceed
        it."""
        return min(self.max_batch_bytes, self.buffer_memory)

    def queue(self, topic_partition: TopicPartition) -> PartitionQueue:
        """Return the partition's queue, created if there is none.

        The caller holds the lock; on the driver's thread an existing queue may be looked up without it.
        """
        queue = self._queues.get(topic_partition)
        if queue is None:
            queue = self._queues[topic_partition] = PartitionQueue(topic_partition)
        return queue

    def _make_room(self, queue: PartitionQueue, size: int) -> ProducerBatch | None:
        """Return a batch with room for a record: the open one, enlarged, or a new one. None: no memory."""
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
        """Return the partition for a record of `size` bytes without key (KIP-794).

        `available`: the partitions with a leader, or else all. `count`: count the bytes now, because a whole batch is
        not counted later.
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
        """Call `callback` when memory was released, on the driver's thread; immediately if all of it is free."""
        with self.lock:
            nothing_used = self.available == self.buffer_memory
            if not nothing_used:
                self._memory_waiters.append(callback)
        if nothing_used:
            callback()
        else:
            self.wakeup()

    def release(self, batch: ProducerBatch) -> None:
        """Release the memory of a finished batch."""
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
        """Return in how many ms the queue's first batch is ready to be sent; 0: now."""
        batch = queue.batches[0]
        if batch.attempts:
            return max(0.0, batch.retry_at_ms - now_ms)
        if len(queue.batches) > 1 or batch.room < 0 or batch.reserved > self.batch_size:
            return 0
        if batch.room < RECORD_OVERHEAD or self.flushes or self.closed or self.exhausted:
            return 0
        return max(0.0, batch.created_ms + linger_ms - now_ms)

    def take(self, queue: PartitionQueue) -> ProducerBatch:
        """Remove and return the first batch of a queue, closed for further records."""
        with self.lock:
            batch = queue.batches.popleft()
            if queue.open is batch:
                self._close(queue)
            if not queue.batches:
                del self.waiting[queue.topic_partition]
            return batch

    def put_back(self, batch: ProducerBatch) -> None:
        """Queue a batch for a retry: ordered by sequence if it has one, else at the front."""
        self._insert([batch])

    def replace(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """Replace a split batch by its parts, which have its memory now."""
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
        """Return whether records were sent to the topic after `ms`, or are still unfinished."""
        if self.used_ms.get(topic, -math.inf) > ms:
            return True
        with self.lock:
            return any(batch.topic_partition.topic == topic for batch in self.incomplete)

    def unsent(self) -> list[ProducerBatch]:
        """Return all batches in the queues, oldest first within a partition."""
        with self.lock:
            return [batch for queue in self.waiting.values() for batch in queue.batches]

    def remove(self, batch: ProducerBatch) -> None:
        """Remove a batch from any position of its queue."""
        with self.lock:
            queue = self.queue(batch.topic_partition)
            if batch in queue.batches:
                queue.batches.remove(batch)
            if queue.open is batch:
                self._close(queue)
            if not queue.batches:
                self.waiting.pop(batch.topic_partition, None)
