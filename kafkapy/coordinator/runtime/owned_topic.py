"""A coordinator's share of its internal topic: which partitions it has, their way in and out of memory.

Kafka's `GroupMetadataManager` and `TransactionStateManager` have this each for itself.
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
"""Delay of a retry after a failed read; meanwhile clients get the error for a log that is being loaded."""

Record = tuple[bytes, bytes | None]
"""Key and value; no value is a tombstone."""

Contents = TypeVar("Contents", bound=Replayed)


class Keeper(Protocol[Contents]):
    """What keeps the topic's contents while they are coordinated here. All but `new_replayed` is called on the reactor."""

    def new_replayed(self) -> Contents:
        """Takes the records of one partition, on the thread that reads it."""
        ...

    def install(self, partition: int, replayed: Contents) -> Iterator[object]:
        """Take over what was read, a bounded part before each `yield`. Given up, after which `unload` is called, if the
        partition moves on in between."""
        ...

    def installed(self, partition: TopicPartition, elapsed_ms: int) -> None:
        """The partition is active."""
        ...

    def load_failed(self, partition: TopicPartition, error: Exception) -> None:
        """The load is tried again later."""
        ...

    def unload(self, partition: int) -> None:
        """Forget what belongs to the partition: another broker coordinates it."""
        ...


class CoordinatorTopic(NamedTuple):
    """What is to be known of the topic beforehand."""

    name: str
    default_partition_count: int
    """Holds until the topic is there."""
    compression_type: CompressionType
    append_timeout_ms: int


class OwnedTopic(Generic[Contents]):
    """Invariants: what `Keeper` keeps belongs to partitions that have a term; once a partition is ACTIVE, it is all that
    the log says of it. One partition is read at a time (`_is_reading`): each thread that reads takes its share of the interpreter
    from the reactor. Those in `_to_read` wait."""

    def __init__(
        self, topic: CoordinatorTopic, partition_log: PartitionLog, keeper: Keeper[Contents], clock: Clock, log: Logger
    ) -> None:  # fmt: skip
        self._topic = topic
        self._partition_log = partition_log
        self._keeper = keeper
        self._clock = clock
        self._log = log
        self._ownership = Ownership()
        self._terms = self._ownership.terms
        self._partition_count: int | None = None
        self._to_read: deque[Callable[[], object]] = deque()
        self._is_reading = False

    def startup(self, partition_count: int | None) -> None:
        """With the count of partitions that ZooKeeper has, as in Kafka: what the broker has been told by the controller so
        far may be a part of them. None: the topic is not there."""
        self._partition_count = partition_count

    # ------------------------------------------------------------------------------------------------ whose key

    def partition_for(self, key: str) -> int:
        """The partition that keeps the key. Does not change once the topic is known."""
        count = self._partition_count
        if count is None:
            count = self._partition_count = self._partition_log.partition_count(self._topic.name)
        return abs_hash(key) % (count or self._topic.default_partition_count)

    def status(self, key: str) -> Errors:
        """NONE if this broker can speak for the key, else COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR."""
        term = self._terms.get(self.partition_for(key))
        if term is None:
            return Errors.NOT_COORDINATOR
        return NONE if term.state is ACTIVE else Errors.COORDINATOR_LOAD_IN_PROGRESS

    def epoch(self, key: str) -> int:
        """The newest leader epoch heard of for the key's partition: what Kafka calls the coordinator epoch. -1: none."""
        return self._ownership.newest_epoch(self.partition_for(key))

    @property
    def is_loading(self) -> bool:
        return self._ownership.is_loading

    def is_being_loaded(self, partition: int) -> bool:
        """Is it led here, but not yet known?"""
        term = self._terms.get(partition)
        return term is not None and term.state is not ACTIVE

    # ------------------------------------------------------------------------------------------------ writing

    def append(
        self, key: str, records: Sequence[Record] | bytes, done: Callable[[Errors, int], None],
        base_sequence: int = NO_SEQUENCE, producer_id: int = NO_PRODUCER_ID, producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> None:  # fmt: skip
        """One batch to the partition of the key, in the producer's transaction if there is one; bytes are what `batch` made of
        the records. `done` as in `PartitionLog.append`."""
        if not isinstance(records, bytes):
            records = self.batch(records, base_sequence, producer_id, producer_epoch)
        partition = TopicPartition(self._topic.name, self.partition_for(key))
        self._partition_log.append(partition, records, done, self._topic.append_timeout_ms)

    def batch(
        self, records: Sequence[Record],
        base_sequence: int = NO_SEQUENCE, producer_id: int = NO_PRODUCER_ID, producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> bytes:  # fmt: skip
        """The bytes of the records; on any thread."""
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
        """Is the batch small enough for the log?"""
        limit = self._partition_log.max_batch_size(TopicPartition(self._topic.name, self.partition_for(key)))
        return limit is None or len(batch) <= limit

    # ------------------------------------------------------------------------------------------------ elections

    def on_election(self, partition: int, epoch: int) -> None:
        """This broker leads the partition now: read it, then answer for it."""
        name = self._topic.name
        if not self._ownership.hear_of(partition, epoch):
            newest = self._ownership.newest_epoch(partition)
            self._log.info("Not loading %s-%d in epoch %d since current epoch is %d", name, partition, epoch, newest)
            return
        term = self._ownership.elected(partition, epoch)
        if term is None:
            self._log.info("Already loading or loaded %s-%d", name, partition)
        else:
            self._load(term)

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        """This broker leads the partition no longer. `epoch` None: the replica is gone, whatever the epoch is."""
        if epoch is not None and not self._ownership.hear_of(partition, epoch):
            newest = self._ownership.newest_epoch(partition)
            self._log.info(
                "Not unloading %s-%d in epoch %d since current epoch is %d", self._topic.name, partition, epoch, newest
            )
        elif self._ownership.resigned(partition):
            self._keeper.unload(partition)

    def _load(self, term: Term) -> None:
        partition = TopicPartition(self._topic.name, term.partition)
        start = self._clock.monotonic_ms()

        def read() -> None:
            """In the background pool."""
            result: Contents | Exception
            try:
                result = self._keeper.new_replayed()
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
                self._keeper.load_failed(partition, result)
                self._clock.schedule_once("load a partition", retry, LOAD_RETRY_MS)

        def retry() -> None:
            if self._ownership.change(term, LoadState.LOADING):
                self._load(term)

        self._to_read.append(read)
        self._read_next()

    async def _install(self, term: Term, replayed: Contents, start_ms: int) -> None:
        if not self._ownership.is_current(term):
            return
        for _ in self._keeper.install(term.partition, replayed):
            await self._clock.checkpoint()
            if not self._ownership.is_current(term):
                return
        self._ownership.change(term, ACTIVE)
        partition = TopicPartition(self._topic.name, term.partition)
        self._keeper.installed(partition, self._clock.monotonic_ms() - start_ms)

    def _read_next(self) -> None:
        if self._to_read and not self._is_reading:
            self._is_reading = True
            self._clock.schedule_in_thread("load a partition", self._to_read.popleft())


@lru_cache(maxsize=65536)
def abs_hash(text: str) -> int:
    """`Utils.abs(text.hashCode())` of Java: the hash is over UTF-16 code units, and the lowest int becomes 0."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        code = (31 * code + (units[position] << 8) + units[position + 1]) & 0xFFFFFFFF
    if code >= 0x80000000:
        code = 0x100000000 - code
    return 0 if code == 0x80000000 else code
