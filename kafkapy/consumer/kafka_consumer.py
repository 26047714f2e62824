"""`KafkaConsumer`: kafka-python's consumer, over a core that runs on its own thread."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, Unpack, overload

from kafkapy.clients.facade import shows_options
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.common.topic_names import INTERNAL_TOPICS
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer import arguments
from kafkapy.consumer.consumer_face import ConsumerFace
from kafkapy.consumer.core import ConsumerCore, UserCall
from kafkapy.consumer.group.commit_future import CommitFuture
from kafkapy.consumer.group.commits import CommitCallback, Offsets
from kafkapy.consumer.options import ConsumerSettings, config_of, default_options
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import Cancelled
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import BytesOrNone, GivenDeserializer, K_co, V_co
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.consumer.to_arrow import Bound


_LAST_WORDS_MS = 1_000
"""How long a consumer that was garbage-collected without `close` may take to leave its group."""


@shows_options(default_options())
class KafkaConsumer(ConsumerFace, Generic[K_co, V_co]):
    """Reads topics, alone or as a member of a group that shares them.

    One thread uses it at a time; `health`, `assignment` and the like may be asked from others. Heartbeats, fetches and
    metadata go on in the background, so a record may take its time, up to max_poll_interval_ms; listeners and commit
    callbacks are called inside `poll` (or `next`), on the thread that polls. Iterate over it, or `poll`: each goes on
    where the other stopped. Positions follow each record that an iterator gives out.

    Args:
        topics: Topics to subscribe to. None given: call `subscribe` or `assign`.
        configs: Options with kafka-python's names and defaults (`DEFAULT_CONFIG`, docs/client_options.md).

    Raises:
        KafkaConfigurationError: An option is unknown or has a wrong value.
        KafkaTimeoutError: No broker answers in `bootstrap_timeout_ms`; with `api_version` it does not wait for one.

    Example:
        >>> from kafkapy import KafkaProducer
        >>> with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        ...     sent = producer.send("example-consumer", b"hello", key=b"greeting")
        >>> options = {"group_id": "example", "auto_offset_reset": "earliest", "consumer_timeout_ms": 10_000}
        >>> with KafkaConsumer("example-consumer", bootstrap_servers="localhost:9092", **options) as consumer:
        ...     record = next(consumer)
        >>> record.key, record.value, record.offset
        (b'greeting', b'hello', 0)
    """

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = default_options()
    DEFAULT_SESSION_TIMEOUT_MS_PRE_KIP_735: ClassVar[int] = 30_000
    """Session timeout that replaces the default if the coordinator rejects it, as brokers before 3.0 may (KIP-735)."""

    @overload
    def __init__(
        self: KafkaConsumer[K_co, V_co],
        *topics: str,
        key_deserializer: GivenDeserializer[K_co],
        value_deserializer: GivenDeserializer[V_co],
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[K_co, BytesOrNone],
        *topics: str,
        key_deserializer: GivenDeserializer[K_co],
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[BytesOrNone, V_co],
        *topics: str,
        value_deserializer: GivenDeserializer[V_co],
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaConsumer[BytesOrNone, BytesOrNone],
        *topics: str,
        **configs: Unpack[ConsumerSettings],
    ) -> None: ...

    def __init__(self, *topics: str, **configs: Any) -> None:
        self.config, config = config_of(self.DEFAULT_CONFIG, configs)
        self._driver = ThreadDriver(f"kafkapy-consumer-{config.client_id}")
        self._closed = False
        self._closing = False
        self._iterator: Iterator[ConsumerRecord[K_co, V_co]] | None = None
        self._driver.start()
        try:
            self._core: ConsumerCore = self._driver.call(ConsumerCore, self._driver, config)
            if topics:
                self._driver.call(self._core.subscribe, topics, None, None)
            if config.pinned_versions is None:
                self._driver.call(self._core.client.start, config.bootstrap_timeout_ms)
                self.config["api_version"] = self._driver.call(self._core.client.broker_release)
        except BaseException:
            self._closed = True
            self._driver.stop()
            raise

    # -- records

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> dict[TopicPartition, list[ConsumerRecord[K_co, V_co]]]:
        """Return the records that were fetched, by partition; wait for some if there are none.

        Args:
            timeout_ms: The longest time to wait for records, in ms. Default 0: return at once.
            max_records: The most records to return. None (default): `max_poll_records`.
            update_offsets: Whether positions move behind the records. Default True; else the same records come again.

        Raises:
            ValueError: An argument is out of range.
            IllegalStateError: The consumer is closed.
            KafkaError: What a program must know: an error of a listener, NoOffsetForPartitionError, OffsetOutOfRangeError,
                authorization errors, FencedInstanceIdError.
        """
        count = arguments.max_records(max_records, self._core.config.max_poll_records)
        deadline = time.monotonic() + arguments.timeout(timeout_ms) / 1000
        while True:
            records = self._ready(lambda core: core.pending.take(count, core.held), deadline)
            if records is not None:
                if not update_offsets:
                    for partition, found in records.items():
                        self.seek(partition, found[0].offset)
                return records  # type: ignore[no-any-return]
            if time.monotonic() >= deadline:
                return {}

    def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> pa.Table | None:
        """As `poll`, with the records as a `pyarrow.Table`, without a Python object for any record.

        Keys and values are bytes: deserializers are not called.

        Args:
            timeout_ms: The longest time to wait for records, in ms. Default 0: return at once.
            max_records: The most records to return. None (default): `max_poll_records`.

        Returns:
            The table; None if no record came.
        """
        deadline = time.monotonic() + arguments.timeout(timeout_ms) / 1000
        while True:
            self._check_open()
            table = self._call(self._core.poll_arrow, _remaining_ms(deadline), max_records)
            if table is not None:
                return table
            served = self._serve(self._core.take_calls())
            if not served and time.monotonic() >= deadline:
                return None

    def to_arrow(self, topic: str, start: Bound = None, end: Bound = None, **options: Any) -> pa.Table:
        """Return records of a topic as a `pyarrow.Table`, without the group and without moving a position.

        Args:
            topic: Name of the topic.
            start: The first offset, for all partitions or by partition number. None (default): the beginning of the log.
            end: The offset after the last record, likewise. None (default): the end of the log.
            options: Keyword arguments of `kafkapy.consumer.to_arrow.to_arrow`.

        Raises:
            OffsetRangeError: `start` lies outside the log.
            UnknownTopicOrPartitionError: There is no such topic or partition.
        """
        from kafkapy.consumer.to_arrow import to_arrow

        self._check_open()
        config = self._core.config
        return to_arrow(config, topic, start, end, **{"isolation_level": config.isolation_level, **options})

    def __iter__(self) -> Iterator[ConsumerRecord[K_co, V_co]]:
        """Iterate over records; ends after consumer_timeout_ms without one, or if the consumer is closed."""
        return self._records()

    def __next__(self) -> ConsumerRecord[K_co, V_co]:
        if self._iterator is None:
            self._iterator = self._records()
        try:
            return next(self._iterator)
        except BaseException:
            self._iterator = None
            raise

    def _records(self) -> Iterator[ConsumerRecord[K_co, V_co]]:
        count = self._core.config.max_poll_records
        timeout = self._core.config.consumer_timeout_ms / 1000
        while not self._closing:
            deadline = time.monotonic() + timeout if timeout >= 0 else float("inf")
            batch = None
            while batch is None:
                if self._closing or time.monotonic() >= deadline:
                    return
                batch = self._ready(lambda core: core.pending.walk(count, core.held), deadline)
            yield from batch

    def _ready(self, take: Callable[[ConsumerCore], Any], deadline: float) -> Any:
        """Return what `take` finds, after one poll of the core if necessary; None if it finds nothing."""
        self._check_open()
        core = self._core
        core.last_poll_ms = core.driver.time.monotonic_ms()
        if not core.needs_poll:
            found = take(core)
            if found:
                return found
        self._call(core.poll, _remaining_ms(deadline))
        self._serve(core.take_calls())
        return take(core) or None

    def _serve(self, calls: list[UserCall]) -> bool:
        """Call the user's listeners and callbacks on this thread."""
        for call in calls:
            completion: Completion[Any] = call.completion
            try:
                result = call.f(*call.args)
                if inspect.isawaitable(result):
                    import asyncio  # only for listeners that are coroutines

                    result = asyncio.run(_awaited(result))
            except BaseException as error:
                outcome = error if isinstance(error, Exception) else Cancelled(repr(error))
                self._call(completion.set_exception, outcome)
                if not isinstance(error, Exception):
                    raise
            else:
                self._call(completion.set_result, result)
        return bool(calls)

    # -- what to read

    def unsubscribe(self) -> None:
        """Stop reading, and leave the group."""
        self._check_open()
        self._run(self._core.unsubscribe)

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions, without a group's assignment.

        Args:
            partitions: The partitions; none: stop reading.

        Raises:
            IllegalStateError: The consumer has subscribed.
        """
        if not partitions:
            self.unsubscribe()
            return
        self._check_open()
        self._call(self._core.assign, arguments.partitions(partitions))

    # -- positions

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int | None:
        """Return the offset of the next record.

        Args:
            partition: An assigned partition.
            timeout_ms: The longest time to wait, in ms. None (default): no limit.

        Returns:
            The offset; None if it is not known in time.

        Raises:
            IllegalStateError: The partition is not assigned.
        """
        arguments.partition(partition)
        self._check_assigned(partition)
        position: int | None = self._call(self._core.position, partition, timeout_ms)
        return position

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset of each partition's log.

        Args:
            partitions: The partitions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.

        Raises:
            KafkaTimeoutError: The brokers have not answered in time.
        """
        wanted = arguments.partitions(partitions)
        return self._call(self._core.fetcher.beginning_offsets, wanted, self._timeout(timeout_ms))  # type: ignore[no-any-return]

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each partition; with `read_committed`, the last stable offset.

        Args:
            partitions: The partitions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.

        Raises:
            KafkaTimeoutError: The brokers have not answered in time.
        """
        wanted = arguments.partitions(partitions)
        return self._call(self._core.fetcher.end_offsets, wanted, self._timeout(timeout_ms))  # type: ignore[no-any-return]

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Look up the first record at or after a timestamp; None where there is none.

        Args:
            timestamps: Timestamps in ms since the epoch, by partition.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.

        Raises:
            ValueError: A timestamp is negative.
            KafkaTimeoutError: The brokers have not answered in time.
        """
        times = arguments.timestamps(timestamps)
        return self._call(self._core.fetcher.offsets_for_times, times, self._timeout(timeout_ms))  # type: ignore[no-any-return]

    # -- commits

    def commit(self, offsets: Offsets | None = None, timeout_ms: float | None = None) -> None:
        """Commit and wait; retry retriable errors.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`. None (default): the positions.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.

        Raises:
            IllegalStateError: There is no `group_id`.
            CommitFailedError: Other members have the partitions now.
            RebalanceInProgressError: The group is rebalancing: poll first.
            KafkaTimeoutError: The coordinator has not answered in time.
        """
        self._require_group()
        self._check_open()
        arguments.offsets(offsets)
        self._call(self._core.commit, offsets, self._timeout(timeout_ms))
        self._serve(self._core.take_calls())

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> CommitFuture:
        """Commit without waiting, once.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`. None (default): the positions.
            callback: Called as `callback(offsets, response or error)` in a later `poll`. None (default): no call.

        Returns:
            A future of the response.
        """
        self._require_group()
        self._check_open()
        arguments.offsets(offsets)
        future = CommitFuture()
        self._call(lambda: future.follow(self._core.commit_async(offsets, callback)))
        return future

    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[False] = False, timeout_ms: float | None = None
    ) -> int | None: ...

    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[True], timeout_ms: float | None = None
    ) -> OffsetAndMetadata | None: ...

    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> int | OffsetAndMetadata | None:
        """Return the group's committed offset; None if there is none.

        Args:
            partition: The partition.
            metadata: Return an `OffsetAndMetadata` and not only the offset. Default False.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.

        Raises:
            KafkaTimeoutError: Transactions that commit offsets are undecided for so long.
        """
        self._require_group()
        arguments.partition(partition)
        found: OffsetAndMetadata | None = self._call(self._core.committed, [partition], timeout_ms).get(partition)
        return found if found is None or metadata else found.offset

    # -- what is known

    def topics(self) -> set[str]:
        """Return all topics that this client may describe, without internal ones; sends a Metadata request."""
        topics: dict[str, set[int]] = self._call(self._core.topics, self._timeout(None))
        return topics.keys() - INTERNAL_TOPICS

    def partitions_for_topic(self, topic: str) -> set[int]:
        """Return the numbers of the topic's partitions; empty if there is no such topic.

        Args:
            topic: Name of the topic.
        """
        known = self._core.client.metadata.partitions_of(topic)
        if known:
            return {partition.partition for partition in known}
        found: dict[str, set[int]] = self._call(self._core.topics, self._timeout(None))
        return found.get(topic, set())

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]] | Any:
        """Return figures by group and name; None if `metrics_enabled` is off.

        Args:
            raw: Only for compatibility with kafka-python: has no effect. Default False.
        """
        # Any, not None, in the type: most programs don't disable them and need no check.
        return self._core.metrics() if self.config["metrics_enabled"] else None

    def bootstrap_connected(self) -> bool:
        """Return whether there is a connection to any broker."""
        return not self._closed and bool(self._call(self._core.client.bootstrap_connected))

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = False) -> None:
        """Wait until the cluster's metadata is known.

        Args:
            timeout_ms: The longest time to wait, in ms. None (default): no limit.
            refresh: Ask again, even if it is known. Default False.

        Raises:
            KafkaTimeoutError: No broker has answered in time.
        """
        if refresh or not self._core.client.metadata.version:
            self._call(self._core.client.bootstrap, timeout_ms)

    def wakeup(self) -> None:
        """Make the waiting `poll` (or `next`), else the next one, raise WakeupException. Thread-safe. The consumer
        stays usable."""
        self._core.woken = True
        self._driver.call_soon_threadsafe(self._core.wake)

    # -- the end

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Commit, leave the group, close connections. Listeners are called, and may commit.

        Args:
            autocommit: Whether to commit the positions first, if `enable_auto_commit` is on. Default True.
            timeout_ms: The longest time to wait, in ms. None (default): `request_timeout_ms`.
        """
        if self._closed or self._closing:
            return
        self._closing = True
        try:
            if self._driver.running:
                self._run(self._core.close, autocommit, self._timeout(timeout_ms))
        finally:
            self._closed = True
            self._driver.stop()
            for deserializer in (self._core.config.key_deserializer, self._core.config.value_deserializer):
                close = getattr(deserializer, "close", None)
                if close is not None:
                    close()

    def __del__(self) -> None:
        """Leave the group if `close` was not called, so that the group need not wait for the session timeout."""
        driver: ThreadDriver | None = vars(self).get("_driver")
        if driver is None or self._closing or not driver.running:
            return
        warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self, stacklevel=2)
        core = self._core

        def close() -> None:
            core.subscriptions.listener = None  # no thread is left to call it
            spawn(core.close(False, _LAST_WORDS_MS)).add_callback(lambda _: driver.stop())

        driver.call_soon_threadsafe(close)  # without waiting: this may be any thread

    def __repr__(self) -> str:
        return f"<KafkaConsumer client_id={self.config['client_id']} group_id={self.config['group_id']}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close; after an exception without a commit, because the current record may not have been processed."""
        self.close(autocommit=kind is None)

    # -- inside

    def _call(self, f: Callable[..., Any], *args: Any) -> Any:
        return self._driver.call(f, *args)

    def _run(self, f: Callable[..., Any], *args: Any) -> Any:
        """Run a coroutine of the core; serve the user's listeners and callbacks meanwhile."""
        tasks: list[Completion[Any]] = self._call(lambda: [spawn(f(*args))])
        try:
            while self._serve(self._call(self._core.next_calls, tasks[0])):
                pass
        except BaseException:
            self._driver.call_soon_threadsafe(tasks[0].cancel)
            raise
        return tasks[0].result()


def _remaining_ms(deadline: float) -> float:
    return max(0.0, min((deadline - time.monotonic()) * 1000, 1e9))


async def _awaited(awaitable: Any) -> Any:
    return await awaitable
