"""`KafkaConsumer` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

from kafkapy.aio.base import aiokafka_start_errors, close_abandoned, from_awaitable, until
from kafkapy.aio.offsets import GivenOffsets, offsets_of
from kafkapy.aio.options import AIO_CONSUMER_DEFAULTS, AioConsumerSettings, consumer_options
from kafkapy.clients.asyncio_driver import AsyncioDriver
from kafkapy.clients.facade import shows_options
from kafkapy.common.patterns import TranslatedPattern
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer import arguments
from kafkapy.consumer.async_consumer import AsyncConsumer, T
from kafkapy.consumer.listener import RebalanceListener
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import ConsumerStoppedError, IllegalStateError, UnknownTopicOrPartitionError
from kafkapy.protocol.errors import Errors
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import BytesOrNone, GivenDeserializer, K_co, V_co
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp, OffsetResetStrategy

if TYPE_CHECKING:
    from kafkapy.consumer.to_arrow import ArrowTable, Bound

_ABANDONED_CLOSE_MS = 1_000
"""How long a consumer that is garbage-collected without `stop` tries to leave its group."""


@shows_options(AIO_CONSUMER_DEFAULTS)
class KafkaConsumer(AsyncConsumer[K_co, V_co]):
    """Reads topics on the running event loop.

        async with KafkaConsumer("topic", group_id="group", bootstrap_servers="host:9092") as consumer:
            async for record in consumer:
                ...

    Make it inside a coroutine. Methods are those of `kafkapy.KafkaConsumer` and of aiokafka; those that take time are
    coroutines. Cancelling one loses no record: records that were not returned come with the next call. Listeners may be
    coroutines; a listener that has begun is not cancelled, and no record is returned before it has ended.

    Args:
        topics: Topics to subscribe to. None given: call `subscribe` or `assign`.
        configs: Options of consumers, docs/client_options.md.

    Example:
        >>> import asyncio
        >>> from kafkapy.aio import KafkaProducer
        >>> async def main():
        ...     async with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        ...         await producer.send_and_wait("example-aio-consumer", b"hello")
        ...     options = {"bootstrap_servers": "localhost:9092", "auto_offset_reset": "earliest"}
        ...     async with KafkaConsumer("example-aio-consumer", **options) as consumer:
        ...         return (await consumer.getone()).value
        >>> asyncio.run(main())
        b'hello'
    """

    @overload
    def __init__(
        self: KafkaConsumer[K_co, V_co],
        *topics: str,
        key_deserializer: GivenDeserializer[K_co],
        value_deserializer: GivenDeserializer[V_co],
        **configs: Unpack[AioConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[K_co, BytesOrNone],
        *topics: str,
        key_deserializer: GivenDeserializer[K_co],
        **configs: Unpack[AioConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[BytesOrNone, V_co],
        *topics: str,
        value_deserializer: GivenDeserializer[V_co],
        **configs: Unpack[AioConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[BytesOrNone, BytesOrNone],
        *topics: str,
        **configs: Unpack[AioConsumerSettings],
    ) -> None: ...

    def __init__(self, *topics: str, **configs: Any) -> None:
        self._driver = AsyncioDriver()
        super().__init__(self._driver, topics, consumer_options(configs))
        self._started = False
        self._listener: asyncio.Task[Any] | None = None
        self._leaving: Completion[None] | None = None

    async def start(self) -> Self:
        """Connect, and wait for the partitions of topics that are subscribed (at most 5 s for a group); gives this consumer.
        Raises KafkaTimeoutError if no broker answers within `bootstrap_timeout_ms` or `request_timeout_ms`, and
        UnknownTopicOrPartitionError if one of the topics does not exist by then, as aiokafka."""
        with aiokafka_start_errors():
            await self._bootstrap()
        self._started = True
        await self._joined()
        for topic in sorted(self._core.subscriptions.subscription):
            if self._core.client.metadata.topic_error(topic) is Errors.UNKNOWN_TOPIC_OR_PARTITION:
                raise UnknownTopicOrPartitionError(f"There is no topic {topic}")
        return self

    async def stop(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Commit (if that is automatic and `autocommit` is True), leave the group, close connections.

        Cancelling the caller does not interrupt it.

        Args:
            autocommit: Whether to commit the positions first, if `enable_auto_commit` is on. Default True.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        await self._stop(autocommit, self._timeout(timeout_ms))

    async def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """The same as `stop`.

        Args:
            autocommit: Whether to commit the positions first, if `enable_auto_commit` is on. Default True.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        await self.stop(autocommit, timeout_ms)

    def __del__(self) -> None:
        """Leave the group if the program has not called `stop`, so that the group need not wait for the session
        time-out."""
        if not vars(self).get("_started") or self._closed:
            return
        core = self._core

        def close() -> None:
            core.subscriptions.listener = None
            spawn(core.close(False, _ABANDONED_CLOSE_MS))

        close_abandoned(self, self._driver, close)

    def __repr__(self) -> str:
        return f"<KafkaConsumer client_id={self.config['client_id']} group_id={self.config['group_id']}>"

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop(autocommit=False)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop; after an exception nothing is committed, since the record at hand may not have been processed."""
        await self.stop(autocommit=kind is None)

    # -- records

    async def poll(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[K_co, V_co]]]:
        """Records by partition, at most `max_records` (default max_poll_records); waits up to `timeout_ms` for some."""
        return await self._poll(timeout_ms, max_records)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[K_co, V_co]]]:
        """As `poll`, for these partitions only, if any are given. Returns no records if the consumer is stopped
        meanwhile.

        Args:
            partitions: Return records of these alone. None given: of all that are assigned.
            timeout_ms: The longest time to wait for records, in ms. Default 0: return at once.
            max_records: The most records to return. None (default): `max_poll_records`.
        """
        self._check_open()
        try:
            return await self._poll(timeout_ms, max_records, frozenset(arguments.partitions(partitions)))
        except ConsumerStoppedError:
            return {}

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord[K_co, V_co]:
        """The next record (of these partitions, if any are given); waits without limit.

        Args:
            partitions: Return a record of these alone. None given: of all that are assigned.
        """
        return await self._getone(frozenset(arguments.partitions(partitions)))

    async def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> ArrowTable | None:
        """As `poll`, but returns a `pyarrow.Table`; None if no record came.

        Args:
            timeout_ms: The longest time to wait for records, in ms. Default 0: return at once.
            max_records: The most records to return. None (default): `max_poll_records`.
        """
        return await self._poll_arrow(timeout_ms, max_records)

    async def to_arrow(self, topic: str, start: Bound = None, end: Bound = None, **options: Any) -> ArrowTable:
        """The records with start <= offset < end of a topic as a `pyarrow.Table`. They are read in a separate thread.

        Args:
            topic: Name of the topic.
            start: The first offset, for all partitions or by partition number. None (default): the beginning of the log.
            end: The offset after the last record, likewise. None (default): the end of the log.
            options: Keyword arguments of `kafkapy.consumer.to_arrow.to_arrow`.
        """
        return await until(self._read_range(topic, start, end, options))

    def __aiter__(self) -> AsyncIterator[ConsumerRecord[K_co, V_co]]:
        """Records one by one; ends when none came for consumer_timeout_ms, or the consumer is stopped."""
        self._check_open()
        return self._records()

    async def __anext__(self) -> ConsumerRecord[K_co, V_co]:
        batch = await self._batch()
        if batch is None:
            raise StopAsyncIteration
        return next(batch)

    async def _records(self) -> AsyncIterator[ConsumerRecord[K_co, V_co]]:
        while (batch := await self._batch()) is not None:
            for record in batch:
                yield record

    # -- what to read

    def subscribe(
        self,
        topics: Sequence[str] = (),
        pattern: str | TranslatedPattern | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Subscribe to these topics, or to all that match `pattern`; replaces the previous subscription.

        Raises IllegalStateError (partitions were assigned by `assign`), ValueError (an invalid name or regular
        expression), TypeError (no list; or topics and a pattern, or neither: as aiokafka).

        Args:
            topics: Names of topics. Default: none, with a `pattern`.
            pattern: A regular expression that a topic's name must match from its beginning. None (default): `topics` count.
            listener: Is called when partitions are assigned, revoked or lost. None (default): no calls.
        """
        if bool(topics) == bool(pattern):
            raise TypeError("subscribe takes either topics or a pattern")
        self._when_left(lambda: super(KafkaConsumer, self).subscribe(topics, pattern, listener))

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions, without group management.

        Args:
            partitions: The partitions; none: stop reading.
        """
        self._when_left(lambda: super(KafkaConsumer, self).assign(partitions))

    def unsubscribe(self) -> asyncio.Future[None]:
        """Unsubscribe and leave the group. It begins at once; await the result to know that it is done."""
        self._check_open()
        self._leaving = self._start(self._served(spawn(self._core.unsubscribe())))
        return asyncio.ensure_future(until(self._leaving))

    def _when_left(self, f: Callable[[], None]) -> None:
        """Call `f` now, or after an `unsubscribe` that is under way, which would undo it."""
        if self._leaving is None or self._leaving.done:
            f()
        else:
            self._leaving.add_callback(lambda _: f())

    # -- positions

    async def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int | None:
        """The offset of the record that comes next; None if it is not known in time.

        Args:
            partition: The partition.
            timeout_ms: The longest time to wait, in ms. None (default): no limit.
        """
        return await self._position(partition, timeout_ms)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at `offset`. Raises TypeError, ValueError, IllegalStateError.

        Args:
            partition: The partition.
            offset: The offset, from 0.
        """
        if isinstance(offset, int) and offset >= 0:
            self._check_assigned(arguments.partition(partition))
        super().seek(partition, offset)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:  # type: ignore[override]  # as in aiokafka
        """Continue at the first available offset; without arguments in all assigned partitions. Returns True when the
        positions are known.

        Args:
            partitions: The partitions; none: all that are assigned.
        """
        return await self._seek_to(OffsetResetStrategy.EARLIEST, partitions)

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:  # type: ignore[override]  # as in aiokafka
        """Continue after the last offset, as `seek_to_beginning`.

        Args:
            partitions: The partitions; none: all that are assigned.
        """
        return await self._seek_to(OffsetResetStrategy.LATEST, partitions)

    async def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        """Continue at the group's committed offsets, which are returned. A partition without one keeps its position.

        Args:
            partitions: The partitions; none: all that are assigned.
        """
        wanted = self._assigned(partitions)
        self._require_group()
        found = await self._ask(self._core.committed(wanted, None))
        offsets = {partition: found[partition].offset if partition in found else None for partition in wanted}
        for partition, offset in offsets.items():
            if offset is not None and partition in self._core.subscriptions.assignment:
                self._core.seek(partition, offset)
        return offsets

    async def _seek_to(self, strategy: OffsetResetStrategy, partitions: Collection[TopicPartition]) -> bool:
        self._check_started()
        wanted = self._assigned(partitions)
        self._core.seek_to(strategy, wanted)
        for partition in wanted:
            await self._position(partition, None)
        return True

    def _assigned(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        """The given partitions, or all that are assigned."""
        wanted = arguments.partitions(partitions) or list(self.assignment())
        if not wanted:
            raise IllegalStateError("No partitions are currently assigned")
        for partition in wanted:
            self._check_assigned(partition)
        return wanted

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first available offset of each partition. Raises KafkaTimeoutError.

        Args:
            partitions: The partitions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return await self._ask(
            self._core.fetcher.beginning_offsets(arguments.partitions(partitions), self._timeout(timeout_ms))
        )

    async def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The end offset of each partition, in the consumer's isolation level. Raises KafkaTimeoutError.

        Args:
            partitions: The partitions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return await self._ask(
            self._core.fetcher.end_offsets(arguments.partitions(partitions), self._timeout(timeout_ms))
        )

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Offset and time of the first record at or after a time (ms since the epoch); None where there is none.
        Raises ValueError, KafkaTimeoutError.

        Args:
            timestamps: Timestamps in ms since the epoch, by partition.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        times = arguments.timestamps(timestamps)
        return await self._ask(self._core.fetcher.offsets_for_times(times, self._timeout(timeout_ms)))

    # -- commits

    async def commit(self, offsets: GivenOffsets | None = None, timeout_ms: float | None = None) -> None:
        """Commit offsets (default: of all records consumed), and retry retriable errors. `offsets`: the next offset
        of each partition, as a number, with metadata as a tuple, or as `OffsetAndMetadata`.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`. None (default): the positions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        await self._commit(None if offsets is None else offsets_of(offsets), timeout_ms)

    @overload
    async def committed(
        self, partition: TopicPartition, metadata: Literal[False] = False, timeout_ms: float | None = None
    ) -> int | None: ...

    @overload
    async def committed(
        self, partition: TopicPartition, metadata: Literal[True], timeout_ms: float | None = None
    ) -> OffsetAndMetadata | None: ...

    async def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> Any:
        """The group's committed offset (with `metadata`, the `OffsetAndMetadata`); None if there is none.

        Raises KafkaTimeoutError if transactions stay undecided for `timeout_ms` (default: request_timeout_ms).

        Args:
            partition: The partition.
            metadata: Return an `OffsetAndMetadata` and not only the offset. Default False.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return await self._committed(partition, metadata, timeout_ms)

    # -- what is known

    async def topics(self) -> set[str]:
        """All topics that this client may see, without internal ones."""
        return await self._topics()

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The topic's partition numbers; None if the consumer does not know the topic. Does not wait.

        Args:
            topic: Name of the topic.
        """
        known = self._core.client.metadata.partitions_of(topic)
        return {partition.partition for partition in known} if known else None

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """The last stable offset of the last fetch: all transactions below it are decided.

        Args:
            partition: The partition.
        """
        self._check_assigned(arguments.partition(partition))
        return self._core.subscriptions.state(partition).last_stable_offset

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """Time of the last fetch that updated `highwater` and `last_stable_offset` (ms since the epoch).

        Args:
            partition: The partition.
        """
        self._check_assigned(arguments.partition(partition))
        return self._core.subscriptions.state(partition).answered_ms

    # -- inside

    def _check_open(self) -> None:
        if self._closed:
            raise ConsumerStoppedError("KafkaConsumer is closed")

    def _check_started(self) -> None:
        if not self._started and not self._closed:
            raise IllegalStateError("KafkaConsumer is not started: await its start(), or use it in async with")

    async def _until(self, completion: Completion[T]) -> T:
        return await until(completion)

    def _start(self, coroutine: Coroutine[Any, Any, T]) -> Completion[T]:
        return from_awaitable(coroutine)

    def _adopt(self, awaitable: Any) -> Completion[Any]:
        async def listen() -> Any:
            self._listener = asyncio.current_task()
            return await awaitable

        return from_awaitable(listen())

    async def _serve(self) -> None:
        if self._called is not None and asyncio.current_task() is self._listener:
            raise IllegalStateError("A listener cannot wait for records: they come when it has ended")
        await super()._serve()


AIOKafkaConsumer = KafkaConsumer
"""aiokafka's name."""
