"""`KafkaConsumer` for Twisted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

from twisted.internet.defer import Deferred, ensureDeferred

from kafkapy.clients.facade import shows_options
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer import arguments
from kafkapy.consumer.async_consumer import AsyncConsumer, T
from kafkapy.consumer.group.commits import Offsets
from kafkapy.consumer.options import ConsumerSettings, default_options
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import BytesOrNone, GivenDeserializer, K_co, V_co
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp
from kafkapy.tx.base import from_deferred, run, to_deferred

if TYPE_CHECKING:
    from kafkapy.consumer.to_arrow import ArrowTable, Bound


@shows_options(default_options())
class KafkaConsumer(AsyncConsumer[K_co, V_co]):
    """Reads topics on the reactor.

        consumer = KafkaConsumer("topic", group_id="group", bootstrap_servers="host:9092")
        records = yield consumer.poll(1000)

    The methods are those of `kafkapy.KafkaConsumer`; those that take time give a Deferred. In a coroutine,
    `async with consumer` and `async for record in consumer` work too. Listeners may give Deferreds or be coroutines.

    Args:
        topics: Topics to subscribe to. None given: call `subscribe` or `assign`.
        reactor: Twisted's reactor. None (default): the global one.
        configs: Options of consumers, docs/client_options.md.

    Example:
        >>> from twisted.internet import defer, reactor
        >>> async def main():
        ...     options = {"bootstrap_servers": "localhost:9092", "auto_offset_reset": "earliest"}
        ...     async with KafkaConsumer("example-tx-consumer", **options) as consumer:
        ...         print(await consumer.poll(0))
        >>> done = defer.ensureDeferred(main()).addErrback(print).addBoth(lambda _: reactor.stop())
        >>> reactor.run()
        {}
    """

    @overload
    def __init__(
        self: KafkaConsumer[K_co, V_co],
        *topics: str,
        reactor: Any = None,
        key_deserializer: GivenDeserializer[K_co],
        value_deserializer: GivenDeserializer[V_co],
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[K_co, BytesOrNone],
        *topics: str,
        reactor: Any = None,
        key_deserializer: GivenDeserializer[K_co],
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[BytesOrNone, V_co],
        *topics: str,
        reactor: Any = None,
        value_deserializer: GivenDeserializer[V_co],
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[BytesOrNone, BytesOrNone],
        *topics: str,
        reactor: Any = None,
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    def __init__(self, *topics: str, reactor: Any = None, **configs: Any) -> None:
        super().__init__(TwistedDriver(reactor), topics, configs)

    def start(self) -> Deferred[Self]:
        """Wait until a broker has answered; fires with this consumer. Fails with KafkaTimeoutError after
        `bootstrap_timeout_ms`."""

        async def bootstrap() -> Self:
            await self._bootstrap()
            return self

        return run(bootstrap())

    def stop(self, autocommit: bool = True, timeout_ms: float | None = None) -> Deferred[None]:
        """Commit (if that is automatic and `autocommit` is True), leave the group, close connections.

        Args:
            autocommit: Whether to commit the positions first, if `enable_auto_commit` is on. Default True.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return run(self._stop(autocommit, self._timeout(timeout_ms)))

    close = stop

    def __aenter__(self) -> Deferred[Self]:
        async def enter() -> Self:
            try:
                await self._bootstrap()
            except BaseException:
                await self._stop(False, self._timeout(None))
                raise
            return self

        return run(enter())

    def __aexit__(self, kind: type[BaseException] | None, *_: object) -> Deferred[None]:
        """Stop; after an exception nothing is committed, since the record at hand may not have been processed."""
        return self.stop(autocommit=kind is None)

    # -- records

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> Deferred[dict[TopicPartition, list[ConsumerRecord[K_co, V_co]]]]:
        """Records by partition, at most `max_records` (default max_poll_records); waits up to `timeout_ms` for some.
        Cancelling it loses nothing."""
        return run(self._poll(timeout_ms, max_records))

    getmany = poll

    def getone(self) -> Deferred[ConsumerRecord[K_co, V_co]]:
        """The next record; waits without limit."""
        return run(self._getone())

    def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> Deferred[ArrowTable | None]:
        """As `poll`, but fires with a `pyarrow.Table`; None if no record came.

        Args:
            timeout_ms: The longest time to wait for records, in ms. Default 0: return at once.
            max_records: The most records to return. None (default): `max_poll_records`.
        """
        return run(self._poll_arrow(timeout_ms, max_records))

    def to_arrow(self, topic: str, start: Bound = None, end: Bound = None, **options: Any) -> Deferred[ArrowTable]:
        """The records with start <= offset < end of a topic as a `pyarrow.Table`. They are read in a separate thread.

        Args:
            topic: Name of the topic.
            start: The first offset, for all partitions or by partition number. None (default): the beginning of the log.
            end: The offset after the last record, likewise. None (default): the end of the log.
            options: Keyword arguments of `kafkapy.consumer.to_arrow.to_arrow`.
        """
        return to_deferred(self._read_range(topic, start, end, options))

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord[K_co, V_co]]:
        """Records one by one; ends when none came for consumer_timeout_ms, or the consumer is stopped."""
        while (batch := await run(self._batch())) is not None:
            for record in batch:
                yield record

    # -- what to read, and positions

    def unsubscribe(self) -> Deferred[None]:
        """Unsubscribe and leave the group."""
        self._check_open()
        return run(self._served(spawn(self._core.unsubscribe())))

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> Deferred[int | None]:
        """The offset of the record that comes next; None if it is not known in time.

        Args:
            partition: The partition.
            timeout_ms: The longest time to wait, in ms. None (default): no limit.
        """
        return run(self._position(partition, timeout_ms))

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> Deferred[dict[TopicPartition, int]]:
        """The first available offset of each partition. Fails with KafkaTimeoutError.

        Args:
            partitions: The partitions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return run(self._core.fetcher.beginning_offsets(arguments.partitions(partitions), self._timeout(timeout_ms)))

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> Deferred[dict[TopicPartition, int]]:
        """The end offset of each partition, in the consumer's isolation level. Fails with KafkaTimeoutError.

        Args:
            partitions: The partitions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return run(self._core.fetcher.end_offsets(arguments.partitions(partitions), self._timeout(timeout_ms)))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> Deferred[dict[TopicPartition, OffsetAndTimestamp | None]]:
        """Offset and time of the first record at or after a time (ms since the epoch); None where there is none.
        Raises ValueError; fails with KafkaTimeoutError.

        Args:
            timestamps: Timestamps in ms since the epoch, by partition.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        times = arguments.timestamps(timestamps)
        return run(self._core.fetcher.offsets_for_times(times, self._timeout(timeout_ms)))

    # -- commits

    def commit(self, offsets: Offsets | None = None, timeout_ms: float | None = None) -> Deferred[None]:
        """Commit offsets (default: of all records consumed), and retry retriable errors.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`. None (default): the positions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return run(self._commit(offsets, timeout_ms))

    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[False] = False, timeout_ms: float | None = None
    ) -> Deferred[int | None]: ...

    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[True], timeout_ms: float | None = None
    ) -> Deferred[OffsetAndMetadata | None]: ...

    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> Deferred[Any]:
        """The group's committed offset (with `metadata`, the `OffsetAndMetadata`); None if there is none.

        Args:
            partition: The partition.
            metadata: Return an `OffsetAndMetadata` and not only the offset. Default False.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        return run(self._committed(partition, metadata, timeout_ms))

    # -- what is known

    def topics(self) -> Deferred[set[str]]:
        """All topics that this client may see, without internal ones."""
        return run(self._topics())

    def partitions_for_topic(self, topic: str) -> Deferred[set[int]]:
        """The topic's partition numbers; empty if there is no such topic.

        Args:
            topic: Name of the topic.
        """

        async def find() -> set[int]:
            return (await self._core.topics(self._timeout(None))).get(topic, set())

        return run(find())

    # -- inside

    async def _until(self, completion: Completion[T]) -> T:
        return await completion

    def _start(self, coroutine: Coroutine[Any, Any, T]) -> Completion[T]:
        return spawn(coroutine)

    def _adopt(self, awaitable: Any) -> Completion[Any]:
        return from_deferred(awaitable if isinstance(awaitable, Deferred) else ensureDeferred(awaitable))
