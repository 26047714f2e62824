"""Base of the consumers for asyncio and for Twisted: all waiting methods, independent of the loop.

The methods are coroutines that await `_until`, which each loop implements: asyncio's run in the caller's task,
Twisted's are spawned over completions. Nothing is awaited between taking records and returning them, so that a
cancelled task loses no records.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kafkapy.clients.driver import Driver
from kafkapy.common.topic_names import INTERNAL_TOPICS
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer import arguments
from kafkapy.consumer.consumer_face import ConsumerFace
from kafkapy.consumer.core import ConsumerCore, UserCall
from kafkapy.consumer.group.commits import CommitCallback, Offsets
from kafkapy.consumer.options import config_of, default_options
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import Cancelled, IllegalStateError, NoOffsetForPartitionError
from kafkapy.protocol.errors import Errors
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import K_co, V_co

if TYPE_CHECKING:
    from kafkapy.consumer.to_arrow import ArrowTable, Bound

T = TypeVar("T")

_JOIN_PATIENCE_MS = 5_000
_BEING_MADE = (Errors.LEADER_NOT_AVAILABLE, Errors.UNKNOWN_TOPIC_OR_PARTITION)
"""Metadata's errors for a topic that is being created; the second also means that it does not exist."""


class AsyncConsumer(ConsumerFace, Generic[K_co, V_co]):
    """A consumer on a loop. Everything runs on the loop's thread.

    Listeners and commit callbacks are called while a poll waits for records; if one returns an awaitable, that is
    awaited. `_called` is set exactly while one of them runs. It keeps running if the poll that called it is cancelled,
    and no task gets records until it has ended.
    """

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = default_options()

    def __init__(self, driver: Driver, topics: Sequence[str], configs: Mapping[str, Any]) -> None:
        self.config, config = config_of(self.DEFAULT_CONFIG, configs)
        self._core = ConsumerCore(driver, config)
        self._closed = False
        self._called: Completion[None] | None = None
        self._stopping: Completion[None] | None = None
        if topics:
            self._core.subscribe(topics, None, None)

    # -- how it waits

    async def _until(self, completion: Completion[T]) -> T:
        """Wait for a completion and return its result. Cancelling the caller does not cancel the completion."""
        raise NotImplementedError

    def _start(self, coroutine: Coroutine[Any, Any, T]) -> Completion[T]:
        """Run a coroutine of this class, independent of the caller's cancellation."""
        raise NotImplementedError

    def _adopt(self, awaitable: Awaitable[T]) -> Completion[T]:
        """Convert the awaitable that a user's listener returned into a completion."""
        raise NotImplementedError

    def _check_started(self) -> None:
        """Raise IllegalStateError for calls that need `start` first."""

    async def _ask(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a query to the cluster, a coroutine over completions; it is cancelled with the caller."""
        try:
            self._check_started()
        except IllegalStateError:
            coroutine.close()
            raise
        return await self._ending_with_caller(coroutine)

    async def _ending_with_caller(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = spawn(coroutine)
        try:
            return await self._until(task)
        finally:
            if not task.done:
                task.cancel()

    # -- life

    async def _bootstrap(self) -> None:
        config = self._core.config
        await self._ending_with_caller(
            self._core.client.start(min(config.bootstrap_timeout_ms, config.request_timeout_ms))
        )

    async def _joined(self) -> None:
        """Wait until subscribed topics that are being created exist, then for the first assignment: at most
        `_JOIN_PATIENCE_MS`, because other members may be slow to join."""
        core = self._core
        coordinator, metadata = core.coordinator, core.client.metadata
        deadline = self._now() + core.config.request_timeout_ms
        wanted = core.subscriptions.subscription
        while self._now() < deadline and any(metadata.topic_error(t) in _BEING_MADE for t in wanted):
            await self._until(core.driver.sleep(core.config.retry_backoff_ms))
            await self._until(metadata.request_update())
        if core.subscriptions.auto_assigned:
            until = min(deadline, self._now() + (0 if coordinator is None else _JOIN_PATIENCE_MS))
            try:
                await self._next(None, lambda: coordinator is None or coordinator.rebalances.count > 0, until)
            except NoOffsetForPartitionError:
                pass  # without a reset policy the program may seek before the first poll

    async def _stop(self, autocommit: bool, timeout_ms: float) -> None:
        if self._stopping is None:
            self._closed = True
            self._stopping = self._start(self._served(spawn(self._core.close(autocommit, timeout_ms))))
        await self._until(self._stopping)

    # -- records

    async def _poll(
        self, timeout_ms: float, max_records: int | None, only: Collection[TopicPartition] = ()
    ) -> dict[TopicPartition, list[ConsumerRecord[K_co, V_co]]]:
        count = arguments.max_records(max_records, self._core.config.max_poll_records)
        deadline = self._now() + arguments.timeout(timeout_ms)
        core = self._core
        held = core.held_but(only)
        found = await self._next(lambda: core.pending.take(count, held), lambda: core.collect(only), deadline, only)
        return found or {}

    async def _batch(self) -> Iterator[ConsumerRecord[K_co, V_co]] | None:
        """Return the next records to iterate over; None after consumer_timeout_ms without records, or if the consumer
        is closed."""
        core = self._core
        timeout, count = core.config.consumer_timeout_ms, core.config.max_poll_records
        deadline = self._now() + (timeout if timeout >= 0 else float("inf"))
        try:
            batch: Iterator[ConsumerRecord[K_co, V_co]] | None = await self._next(
                lambda: core.pending.walk(count, core.held), core.collect, deadline
            )
        except IllegalStateError:
            if not self._closed:
                raise
            return None
        return batch

    async def _getone(self, only: Collection[TopicPartition] = ()) -> ConsumerRecord[K_co, V_co]:
        core = self._core
        if only:
            while True:
                for found in (await self._poll(float("inf"), 1, only)).values():
                    return found[0]
        count = core.config.max_poll_records
        batch = await self._next(lambda: core.pending.walk(count, core.held), core.collect, float("inf"))
        record: ConsumerRecord[K_co, V_co] = next(batch)
        return record

    async def _poll_arrow(self, timeout_ms: float, max_records: int | None) -> ArrowTable | None:
        deadline = self._now() + arguments.timeout(timeout_ms)
        return await self._next(None, lambda: self._core.collect_arrow(max_records), deadline)

    async def _next(
        self,
        take: Callable[[], Any] | None,
        collect: Callable[[], Any],
        deadline: float,
        only: Collection[TopicPartition] = (),
    ) -> Any:
        """Return what `take` finds in the pending records, or, without `take`, what `collect` returns; None after
        `deadline`."""
        self._check_started()
        core = self._core
        gave_way = False
        while True:
            if self._called is not None or core.calls:
                await self._serve()
            self._check_open()
            core.last_poll_ms = now = self._now()
            if take is not None and not core.needs_poll and (found := take()):
                return found
            core.enter()
            try:
                found = core.look(collect)
                if found:
                    return found if take is None else take()
                if core.calls:
                    continue
                if now < deadline:
                    await self._ending_with_caller(core.news(min(deadline - now, 1e9), only))
                elif gave_way:
                    return None
                else:  # a program that only polls, without waiting, must yield to the loop
                    gave_way = True
                    await self._until(core.driver.sleep(0))
            finally:
                core.leave()

    def _read_range(self, topic: str, start: Bound, end: Bound, options: Mapping[str, Any]) -> Completion[ArrowTable]:
        from kafkapy.consumer.to_arrow import to_arrow

        self._check_open()
        config = self._core.config
        chosen = {"isolation_level": config.isolation_level, **options}
        return self._core.driver.run_in_thread(lambda: to_arrow(config, topic, start, end, **chosen))

    # -- the user's code

    async def _serve(self) -> None:
        """Call the user's pending listeners and callbacks, one after the other."""
        while self._called is not None or self._core.calls:
            if self._called is None:
                self._call_user(self._core.calls.popleft())
            else:
                await self._until(self._called)

    def _call_user(self, call: UserCall) -> None:
        ended = self._called = Completion[None]()

        def finished(done: Completion[Any]) -> None:
            self._called = None
            error = done.exception()
            if error is None:
                call.completion.set_result(done.result())
            else:
                call.completion.set_exception(error if isinstance(error, Exception) else Cancelled(repr(error)))
            ended.set_result(None)

        try:
            result = call.f(*call.args)
        except Exception as error:
            finished(Completion.failed(error))
        except BaseException as error:
            finished(Completion.failed(error))
            raise
        else:
            (self._adopt(result) if inspect.isawaitable(result) else Completion.of(result)).add_callback(finished)

    async def _served(self, task: Completion[T]) -> T:
        """Return the result of a task of the core; serve the user's listeners and callbacks meanwhile."""
        while not task.done:
            await self._ending_with_caller(self._core.until_call(task))
            await self._serve()
        await self._serve()
        return task.result()

    # -- what to read

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions, without a group's help.

        Args:
            partitions: The partitions; none: stop reading.
        """
        self._check_open()
        self._core.assign(arguments.partitions(partitions))

    # -- positions and commits

    async def _position(self, partition: TopicPartition, timeout_ms: float | None) -> int | None:
        self._check_assigned(arguments.partition(partition))
        return await self._ask(self._core.position(partition, timeout_ms))

    async def _commit(self, offsets: Offsets | None, timeout_ms: float | None) -> None:
        """Commit and wait. If cancelled, it does not retry, but a request that was sent is completed before the next
        commit."""
        self._require_group()
        arguments.offsets(offsets)
        await self._ask(self._core.commit(offsets, self._timeout(timeout_ms)))

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> None:
        """Commit once, in the background; `callback(offsets, response or error)` is called in a later `poll`.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`. None (default): the positions.
            callback: Called as `callback(offsets, response or error)`. None (default): no call.
        """
        self._check_started()
        self._require_group()
        arguments.offsets(offsets)
        self._core.commit_async(offsets, callback)

    async def _committed(self, partition: TopicPartition, metadata: bool, timeout_ms: float | None) -> Any:
        self._require_group()
        arguments.partition(partition)
        found = (await self._ask(self._core.committed([partition], timeout_ms))).get(partition)
        return found if found is None or metadata else found.offset

    # -- what is known

    async def _topics(self) -> set[str]:
        return (await self._ask(self._core.topics(self._timeout(None)))).keys() - INTERNAL_TOPICS

    def metrics(self) -> dict[str, dict[str, float]]:
        """Figures by group and name, named as the Java client's."""
        return self._core.metrics()

    # -- inside

    def _call(self, f: Callable[..., Any], *args: Any) -> Any:
        return f(*args)

    def _now(self) -> float:
        return self._core.driver.time.monotonic_ms()
