"""What the consumers for asyncio and for Twisted have in common: everything but the kind of promise they hand out."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, overload

from kafkapy.clients.completion import Completion, spawn
from kafkapy.clients.driver import Driver
from kafkapy.common.topic_names import INTERNAL_TOPICS
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer import arguments
from kafkapy.consumer.consumer_face import ConsumerFace
from kafkapy.consumer.core import ConsumerCore
from kafkapy.consumer.group.commits import CommitCallback, Offsets
from kafkapy.consumer.options import config_of, default_options
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import Cancelled
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp

if TYPE_CHECKING:
    from kafkapy.consumer.to_arrow import ArrowTable, Bound

T = TypeVar("T")

Promise = Awaitable
"""What takes time gives one of these: a future, a Deferred. Each face says which (`async_faces.py`)."""


class AsyncConsumer(ConsumerFace):
    """`KafkaConsumer` without waiting: what takes time gives a promise (a future, a Deferred), the rest is as it was.

    Everything runs on the event loop's thread. Listeners and commit callbacks are called while a `poll` is awaited, and
    are awaited themselves if they give something to wait for.
    """

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = default_options()

    def __init__(self, driver: Driver, topics: Sequence[str], configs: Mapping[str, Any]) -> None:
        self.config, config = config_of(self.DEFAULT_CONFIG, configs)
        self._core = ConsumerCore(driver, config)
        self._closed = False
        if topics:
            self._core.subscribe(topics, None, None)

    def _promise(self, coroutine: Coroutine[Any, Any, T]) -> Promise[T]:
        """Start a coroutine over completions."""
        raise NotImplementedError

    def _adopt(self, awaitable: Any) -> Completion[Any]:
        """What a listener of the user gave, as a completion."""
        raise NotImplementedError

    # -- life

    def start(self) -> Promise[Self]:
        """Wait until a broker has answered; gives this consumer. Raises KafkaTimeoutError after bootstrap_timeout_ms."""

        async def bootstrap() -> Self:
            await self._core.client.bootstrap()
            return self

        return self._promise(bootstrap())

    def stop(self, autocommit: bool = True, timeout_ms: float | None = None) -> Promise[None]:
        """Commit (if that is automatic and wanted), leave the group, close connections."""
        return self._promise(self._stop(autocommit, self._timeout(timeout_ms)))

    close = stop

    async def _stop(self, autocommit: bool, timeout_ms: float) -> None:
        if not self._closed:
            self._closed = True
            await self._run(self._core.close(autocommit, timeout_ms))

    # -- records

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> Promise[dict[TopicPartition, list[ConsumerRecord]]]:
        """Records by partition, at most `max_records` (default max_poll_records); waits up to `timeout_ms` for some.
        Cancelling it loses nothing."""
        count = arguments.max_records(max_records, self._core.config.max_poll_records)
        return self._promise(self._poll(arguments.timeout(timeout_ms), count))

    getmany = poll

    def getone(self) -> Promise[ConsumerRecord]:
        """The next record, however long it takes."""
        return self._promise(self._getone())

    def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> Promise[ArrowTable | None]:
        """The same as a `pyarrow.Table`; None if nothing came."""
        return self._promise(self._poll_arrow(arguments.timeout(timeout_ms), max_records))

    def to_arrow(self, topic: str, start: Bound = None, end: Bound = None, **options: Any) -> Promise[ArrowTable]:
        """The records with start <= offset < end of a topic as a `pyarrow.Table`; read in a thread of its own."""
        from kafkapy.consumer.to_arrow import to_arrow

        self._check_open()
        config = self._core.config
        chosen = {"isolation_level": config.isolation_level, **options}
        table = self._core.driver.run_in_thread(lambda: to_arrow(config, topic, start, end, **chosen))
        return self._promise(_result(table))

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Records one by one; ends when none came for consumer_timeout_ms, or the consumer is stopped."""
        return self._records()

    async def _records(self) -> AsyncIterator[ConsumerRecord]:
        while (batch := await self._promise(self._batch())) is not None:
            for record in batch:
                yield record

    async def _batch(self) -> Iterator[ConsumerRecord] | None:
        timeout = self._core.config.consumer_timeout_ms
        deadline = self._now() + (timeout if timeout >= 0 else float("inf"))
        count = self._core.config.max_poll_records
        while not self._closed and self._now() < deadline:
            batch = await self._ready(lambda core: core.pending.walk(count, core.held), deadline)
            if batch is not None:
                return batch  # type: ignore[no-any-return]
        return None

    async def _getone(self) -> ConsumerRecord:
        while True:
            records = await self._poll(float("inf"), 1)
            for found in records.values():
                return found[0]

    async def _poll(self, timeout_ms: float, count: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        deadline = self._now() + timeout_ms
        while True:
            records = await self._ready(lambda core: core.pending.take(count, core.held), deadline)
            if records is not None:
                return records  # type: ignore[no-any-return]
            if self._now() >= deadline:
                return {}

    async def _poll_arrow(self, timeout_ms: float, max_records: int | None) -> ArrowTable | None:
        deadline = self._now() + timeout_ms
        while True:
            self._check_open()
            table = await self._core.poll_arrow(self._remaining(deadline), max_records)
            if table is not None:
                return table
            if not await self._serve() and self._now() >= deadline:
                return None

    async def _ready(self, take: Callable[[ConsumerCore], Any], deadline: float) -> Any:
        """What `take` finds, after one poll of the core if need be; None if it finds nothing."""
        self._check_open()
        core = self._core
        core.last_poll_ms = self._now()
        if not core.needs_poll:
            found = take(core)
            if found:
                return found
        await core.poll(self._remaining(deadline))
        await self._serve()
        return take(core) or None

    async def _serve(self) -> bool:
        """Call listeners and callbacks of the user's."""
        calls = self._core.take_calls()
        for call in calls:
            try:
                result = call.f(*call.args)
                if inspect.isawaitable(result):
                    result = await self._adopt(result)
            except Exception as error:
                call.completion.set_exception(error)
            except BaseException as error:
                call.completion.set_exception(Cancelled(repr(error)))
                raise
            else:
                call.completion.set_result(result)
        return bool(calls)

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """A coroutine of the core in which the user may be called."""
        task = spawn(coroutine)
        while not task.done:
            self._core.calls.extend(await self._core.next_calls(task))
            await self._serve()
        await self._serve()
        return task.result()

    # -- what to read

    def unsubscribe(self) -> Promise[None]:
        """Stop reading, and leave the group."""
        self._check_open()
        return self._promise(self._run(self._core.unsubscribe()))

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions, without a group's help."""
        self._check_open()
        self._core.assign(arguments.partitions(partitions))

    # -- positions

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> Promise[int | None]:
        """The offset of the record that comes next; None if it is not known in time."""
        self._check_assigned(arguments.partition(partition))
        return self._promise(self._core.position(partition, timeout_ms))

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> Promise[dict[TopicPartition, int]]:
        """The first offset of each. Raises KafkaTimeoutError."""
        return self._promise(self._core.fetcher.beginning_offsets(list(partitions), self._timeout(timeout_ms)))

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> Promise[dict[TopicPartition, int]]:
        """The offset after the last one of each, in the consumer's isolation level. Raises KafkaTimeoutError."""
        return self._promise(self._core.fetcher.end_offsets(list(partitions), self._timeout(timeout_ms)))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> Promise[dict[TopicPartition, OffsetAndTimestamp | None]]:
        """The first record at or after a time (ms since the epoch); None where there is none. Raises ValueError,
        KafkaTimeoutError."""
        times = arguments.timestamps(timestamps)
        return self._promise(self._core.fetcher.offsets_for_times(times, self._timeout(timeout_ms)))

    # -- commits

    def commit(self, offsets: Offsets | None = None, timeout_ms: float | None = None) -> Promise[None]:
        """Commit (default: all that was consumed), repeating what may be repeated."""
        self._require_group()
        arguments.offsets(offsets)
        return self._promise(self._core.commit(offsets, self._timeout(timeout_ms)))

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> None:
        """Commit once, in the background; `callback(offsets, response or error)` is called in a later `poll`."""
        self._require_group()
        arguments.offsets(offsets)
        self._core.commit_async(offsets, callback)

    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[False] = False, timeout_ms: float | None = None
    ) -> Promise[int | None]: ...

    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[True], timeout_ms: float | None = None
    ) -> Promise[OffsetAndMetadata | None]: ...

    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> Promise[Any]:
        """The group's offset (or, with `metadata`, the `OffsetAndMetadata`); None if there is none."""
        self._require_group()
        return self._promise(self._committed(arguments.partition(partition), metadata, timeout_ms))

    async def _committed(self, partition: TopicPartition, metadata: bool, timeout_ms: float | None) -> Any:
        found = (await self._core.committed([partition], timeout_ms)).get(partition)
        return found if found is None or metadata else found.offset

    # -- what is known

    def topics(self) -> Promise[set[str]]:
        """All topics that this client may see, but for the cluster's own."""
        return self._promise(self._topics())

    async def _topics(self) -> set[str]:
        return (await self._core.topics(self._timeout(None))).keys() - INTERNAL_TOPICS

    def partitions_for_topic(self, topic: str) -> Promise[set[int]]:
        """Numbers of the partitions; empty if there is no such topic."""
        return self._promise(self._partitions_for_topic(topic))

    async def _partitions_for_topic(self, topic: str) -> set[int]:
        return (await self._core.topics(self._timeout(None))).get(topic, set())

    def metrics(self) -> dict[str, dict[str, float]]:
        """Figures by group and name, named as the Java client's."""
        return self._core.metrics()

    # -- inside

    def _call(self, f: Callable[..., Any], *args: Any) -> Any:
        return f(*args)

    def _now(self) -> float:
        return self._core.driver.time.monotonic_ms()

    def _remaining(self, deadline: float) -> float:
        return max(0.0, min(deadline - self._now(), 1e9))


async def _result(completion: Completion[T]) -> T:
    return await completion
