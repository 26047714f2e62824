"""A coordinator's partitions of its internal topic: loads, unloads and appends.

In Kafka it is a part of both `GroupMetadataManager` and `TransactionStateManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from logging import Logger
from typing import Generic, NamedTuple, Protocol, TypeVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.runtime.ownership import ACTIVE, LoadState, Ownership, Term
from kafkapy.coordinator.runtime.partition_log import PartitionLog
from kafkapy.coordinator.runtime.replay import Replayed, replay
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from kafkapy.record.records_builder import MemoryRecordsBuilder, batch_of_one, encode_record
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import spawn

LOAD_RETRY_MS = 10_000
"""Delay of a retry after a failed read; meanwhile clients get COORDINATOR_LOAD_IN_PROGRESS."""

Record = tuple[bytes, bytes | None]
"""Key and value; None as value is a tombstone."""

Contents = TypeVar("Contents", bound=Replayed)


class ContentStore(Protocol[Contents]):
    """Holds the contents of the loaded partitions. All methods but `new_replayed` are called on the reactor."""

    def new_replayed(self) -> Contents:
        """Return an object that collects the records of one partition; called on the thread that reads it."""
        ...

    def install(self, partition: int, replayed: Contents) -> Iterator[object]:
        """Add the loaded contents, a bounded part before each `yield`. If the partition is lost meanwhile, the
        iteration stops, and `unload` is called."""
        ...

    def installed(self, partition: TopicPartition, elapsed_ms: int) -> None:
        """Called when the partition is active."""
        ...

    def load_failed(self, partition: TopicPartition, error: Exception) -> None:
        """Called after a failed load, which is retried later."""
        ...

    def unload(self, partition: int) -> None:
        """Remove the partition's contents: another broker coordinates it."""
        ...


class CoordinatorTopic(NamedTuple):
    """Properties of the topic."""

    name: str
    default_partition_count: int
    """Used until the topic exists."""
    compression_type: CompressionType
    append_timeout_ms: int


class OwnedTopic(Generic[Contents]):
    """Invariants: the `ContentStore` has contents only of partitions with a term; once a partition is ACTIVE, they are
    complete. One partition is read at a time (`_is_reading`), because reading threads compete with the reactor for the
    interpreter lock; those in `_to_read` wait."""

    def __init__(
        self, topic: CoordinatorTopic, partition_log: PartitionLog, store: ContentStore[Contents], clock: Clock, log: Logger
    ) -> None:  # fmt: skip
        self._topic = topic
        self._partition_log = partition_log
        self._store = store
        self._clock = clock
        self._log = log
        self._ownership = Ownership()
        self._terms = self._ownership.terms
        self._partition_count: int | None = None
        self._to_read: deque[Callable[[], object]] = deque()
        self._is_reading = False

    def startup(self, partition_count: int | None) -> None:
        """Start with the partition count from ZooKeeper, as in Kafka: the metadata cache may still be incomplete.
        None: the topic does not exist."""
        self._partition_count = partition_count

    # ------------------------------------------------------------------------------------------------ keys

    def partition_for(self, key: str) -> int:
        """Return the key's partition. It does not change once the topic exists."""
        count = self._partition_count
        if count is None:
            count = self._partition_count = self._partition_log.partition_count(self._topic.name)
        return abs_hash(key) % (count or self._topic.default_partition_count)

    def status(self, key: str) -> Errors:
        """Return NONE if this broker coordinates the key, else COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR."""
        term = self._terms.get(self.partition_for(key))
        if term is None:
            return Errors.NOT_COORDINATOR
        return NONE if term.state is ACTIVE else Errors.COORDINATOR_LOAD_IN_PROGRESS

    def epoch(self, key: str) -> int:
        """Return the newest known leader epoch of the key's partition: Kafka's coordinator epoch. -1: none."""
        return self._ownership.newest_epoch(self.partition_for(key))

    @property
    def is_loading(self) -> bool:
        return self._ownership.is_loading

    def is_being_loaded(self, partition: int) -> bool:
        """Return whether this broker leads the partition, but has not loaded it yet."""
        term = self._terms.get(partition)
        return term is not None and term.state is not ACTIVE

    # ------------------------------------------------------------------------------------------------ writing

    def append(
        self, key: str, records: Sequence[Record] | bytes, done: Callable[[Errors, int], None],
        base_sequence: int = NO_SEQUENCE, producer_id: int = NO_PRODUCER_ID, producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> None:  # fmt: skip
        """Append one batch to the key's partition, in the producer's transaction if there is one. `records`: as bytes,
        a result of `batch`. `done` as in `PartitionLog.append`."""
        if not isinstance(records, bytes):
            records = self.batch(records, base_sequence, producer_id, producer_epoch)
        partition = TopicPartition(self._topic.name, self.partition_for(key))
        self._partition_log.append(partition, records, done, self._topic.append_timeout_ms)

    def batch(
        self, records: Sequence[Record],
        base_sequence: int = NO_SEQUENCE, producer_id: int = NO_PRODUCER_ID, producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> bytes:  # fmt: skip
        """Return the records' batch. Thread-safe."""
        now = self._clock.milliseconds()
        if len(records) == 1 and producer_id == NO_PRODUCER_ID and self._topic.compression_type is CompressionType.NONE:
            return batch_of_one(encode_record(0, 0, *records[0]), now)
        builder = MemoryRecordsBuilder(
            compression_type=self._topic.compression_type,
            base_sequence=base_sequence,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=producer_id != NO_PRODUCER_ID,
        )
        for record_key, value in records:
            builder.append(now, record_key, value)
        return builder.build()

    def takes(self, key: str, batch: bytes) -> bool:
        """Return whether the batch is small enough for the log."""
        limit = self._partition_log.max_batch_size(TopicPartition(self._topic.name, self.partition_for(key)))
        return limit is None or len(batch) <= limit

    # ------------------------------------------------------------------------------------------------ elections

    def on_election(self, partition: int, epoch: int) -> None:
        """Load the partition, which this broker now leads."""
        name = self._topic.name
        if not self._ownership.record_epoch(partition, epoch):
            newest = self._ownership.newest_epoch(partition)
            self._log.info("Not loading %s-%d in epoch %d since current epoch is %d", name, partition, epoch, newest)
            return
        term = self._ownership.elected(partition, epoch)
        if term is None:
            self._log.info("Already loading or loaded %s-%d", name, partition)
        else:
            self._load(term)

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        """Unload the partition, which this broker no longer leads. `epoch` None: the replica was removed, regardless
        of the epoch."""
        if epoch is not None and not self._ownership.record_epoch(partition, epoch):
            newest = self._ownership.newest_epoch(partition)
            self._log.info(
                "Not unloading %s-%d in epoch %d since current epoch is %d", self._topic.name, partition, epoch, newest
            )
        elif self._ownership.resigned(partition):
            self._store.unload(partition)

    def _load(self, term: Term) -> None:
        partition = TopicPartition(self._topic.name, term.partition)
        start = self._clock.monotonic_ms()

        def read() -> None:
            """Runs in the background pool."""
            result: Contents | Exception
            try:
                result = self._store.new_replayed()
                replay(self._partition_log.read_batches(partition), result, self._log)
            except Exception as error:
                result = error
            self._clock.schedule_once("install a partition", lambda: done(result), 0)

        def done(result: Contents | Exception) -> None:
            self._is_reading = False
            self._read_next()
            if not isinstance(result, Exception):
                spawn(self._install(term, result, start))
            elif self._ownership.change(term, LoadState.FAILED):
                self._store.load_failed(partition, result)
                self._clock.schedule_once("load a partition", retry, LOAD_RETRY_MS)

        def retry() -> None:
            if self._ownership.change(term, LoadState.LOADING):
                self._load(term)

        self._to_read.append(read)
        self._read_next()

    async def _install(self, term: Term, replayed: Contents, start_ms: int) -> None:
        if not self._ownership.is_current(term):
            return
        for _ in self._store.install(term.partition, replayed):
            await self._clock.checkpoint()
            if not self._ownership.is_current(term):
                return
        self._ownership.change(term, ACTIVE)
        partition = TopicPartition(self._topic.name, term.partition)
        self._store.installed(partition, self._clock.monotonic_ms() - start_ms)

    def _read_next(self) -> None:
        if self._to_read and not self._is_reading:
            self._is_reading = True
            self._clock.schedule_in_thread("load a partition", self._to_read.popleft())


@lru_cache(maxsize=65536)
def abs_hash(text: str) -> int:
    """Return Java's `Utils.abs(text.hashCode())`: the hash is over UTF-16 code units, and the lowest int becomes 0."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        code = (31 * code + (units[position] << 8) + units[position + 1]) & 0xFFFFFFFF
    if code >= 0x80000000:
        code = 0x100000000 - code
    return 0 if code == 0x80000000 else code
