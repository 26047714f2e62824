"""The synchronous producer: kafka-python's `KafkaProducer`."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, Unpack, overload

from kafkapy.clients.facade import shows_options
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    BrokerResponseError,
    IllegalStateError,
    KafkaTimeoutError,
)
from kafkapy.producer.arrow_send import sends_of_arrow
from kafkapy.producer.batch import RECORD_OVERHEAD, ProducerBatch
from kafkapy.producer.bulk import BulkAppend, BulkSend
from kafkapy.producer.config import DEFAULT_OPTIONS, ProducerConfig, ProducerSettings
from kafkapy.producer.core import ProducerCore, TopicView
from kafkapy.producer.future import FutureBatchMetadata, FutureRecordMetadata
from kafkapy.producer.intake import Intake
from kafkapy.producer.transaction_context import BlockingTransaction
from kafkapy.producer.transactions import Transactions
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import Bytes, GivenSerializer, Headers, K_contra, V_contra
from kafkapy.structs import ConsumerGroupMetadata, OffsetAndMetadata

if TYPE_CHECKING:
    import pyarrow as pa

_EXIT_TIMEOUT_SECONDS = 1
_GRACE_MS = 50


@shows_options(DEFAULT_OPTIONS)
class KafkaProducer(Generic[K_contra, V_contra]):
    """Publishes records. Thread-safe: one producer shared by threads is faster than one for each.

    `send` appends to a batch in memory and returns; a background thread of the producer sends batches to the leaders
    of their partitions. It retries after retriable errors, in order and without duplicates (`enable_idempotence`, the
    default), until `delivery_timeout_ms` has passed since the batch was created. Close it: `with KafkaProducer(...)`.

    Two things differ from kafka-python: the partition of records without key changes with each batch, not with each
    record (KIP-480), and if `batch_size` isn't given, batches that wait for a busy broker grow up to 256 KiB.

    Args:
        configs: Options with kafka-python's names and defaults (docs/client_options.md).

    Example:
        >>> with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        ...     sent = producer.send("example-producer", b"hello", key=b"greeting").get(timeout=10)
        >>> sent.topic, sent.offset
        ('example-producer', 0)
    """

    @overload
    def __init__(
        self: KafkaProducer[K_contra, V_contra],
        *,
        key_serializer: GivenSerializer[K_contra],
        value_serializer: GivenSerializer[V_contra],
        **configs: Unpack[ProducerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaProducer[K_contra, Bytes],
        *,
        key_serializer: GivenSerializer[K_contra],
        **configs: Unpack[ProducerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaProducer[Bytes, V_contra],
        *,
        value_serializer: GivenSerializer[V_contra],
        **configs: Unpack[ProducerSettings],
    ) -> None: ...

    @overload
    def __init__(self: KafkaProducer[Bytes, Bytes], **configs: Unpack[ProducerSettings]) -> None: ...

    def __init__(self, **configs: Any) -> None:
        """Connects, unless `api_version` is given. Raises KafkaTimeoutError if no broker answers in
        `bootstrap_timeout_ms`, ValueError and KafkaConfigurationError for options."""
        self._closed = True
        config = ProducerConfig.from_options(configs)
        self.config = config.options()
        self._driver = ThreadDriver(config.client_id)
        self._driver.start()
        try:
            self._core: ProducerCore = self._driver.call(ProducerCore, self._driver, config)
            self._driver.call(self._core.start)
            if config.pinned_versions is None:
                self.config["api_version"] = self._driver.call(self._core.network.broker_release)
        except BaseException:
            self._driver.stop()
            raise
        self._core.accumulator.wait_otherwise = partial(_turn_until_done, self._driver)
        self._intake = Intake(self._core)
        self._max_block_ms = config.max_block_ms
        self._lock = self._core.accumulator.lock
        self._short_path: Mapping[str, ProducerBatch] = self._intake.short_path
        self._clock = self._core.accumulator.clock
        self._closed = False
        self._at_exit = _close_at_exit(self)
        atexit.register(self._at_exit)
        _producers.add(self)

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = DEFAULT_OPTIONS
    DEPRECATED_CONFIGS: ClassVar[tuple[str, ...]] = ()

    # --- sending

    def send(
        self,
        topic: str,
        value: V_contra | None = None,
        key: K_contra | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        """Publish a record. Blocks only while the topic's metadata or buffer memory is missing.

        Args:
            topic: Name of the topic.
            value: Value of the record, as the value serializer takes it: without one, bytes. None (default): a tombstone.
            key: Key of the record, as the key serializer takes it. None (default): no key.
            headers: Pairs of name (str) and value (bytes or None). None (default): no headers.
            partition: Partition number. None (default): by the key's hash; without a key, the producer's choice (KIP-480).
            timestamp_ms: Timestamp of the record in ms since the epoch. None (default): the time of the call.

        Returns:
            A future of the record's `RecordMetadata`.

        Raises:
            KafkaTimeoutError: The topic isn't known or no memory is free after `max_block_ms`.
            MessageSizeTooLargeError: The record is larger than `max_request_size`.
            TypeError: A key, value or header has a wrong type.
            ValueError: There is no such partition.
            IllegalStateError: The producer is closed.
        """
        if key is None and headers is None and partition is None and timestamp_ms is None and type(value) is bytes:
            with self._lock:  # fast path: the topic's open batch has room
                batch = self._short_path.get(topic)
                if batch is not None:
                    room = batch.room - len(value) - RECORD_OVERHEAD
                    if room >= 0:
                        batch.room = room
                        batch.times.append(self._clock())
                        values = batch.values
                        index = len(values)
                        values.append(value)
                        return FutureRecordMetadata(batch, index)
        return self._send(topic, value, key, headers, partition, timestamp_ms)

    def _send(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> FutureRecordMetadata:
        self._check_open()
        record = self._intake.serialize(topic, value, key, headers)
        deadline = time.monotonic() + self._max_block_ms / 1000
        view = self._core.topic_view(topic)
        if view is None:
            try:
                view = self._wait_on_metadata(topic)
            except KafkaTimeoutError:
                raise
            except BrokerResponseError as error:
                return self._intake.failed(topic, partition, record[0], error)
        while True:
            future = self._intake.append(view, topic, record, partition, timestamp_ms, (value, key))
            if future is not None:
                return future
            self._wait_for_memory(deadline)

    def send_many(
        self,
        topic: str,
        values: Sequence[V_contra | None],
        keys: Sequence[K_contra | None] | None = None,
        partition: int | None = None,
        headers: Sequence[Headers | None] | None = None,
        timestamps: Sequence[int] | None = None,
    ) -> FutureBatchMetadata:
        """Publish many records at once, as columns of equal length.

        The same as `send` for each record, but several times faster: records are encoded column by column. It blocks
        while the buffer memory is full, for at most `max_block_ms` at a time. Raises the errors of `send`.

        Args:
            topic: Name of the topic.
            values: Values of the records, in order; None is a tombstone, which may be without a key here.
            keys: Keys, one for each value. None (default): no keys.
            partition: Partition number. None (default): by the key's hash; without a key, the producer's choice (KIP-480).
            headers: Headers of each record. None (default): no headers.
            timestamps: Timestamps in ms since the epoch, one for each value. None (default): the time of the call.

        Returns:
            One future for all, of a list of `BatchMetadata`.
        """
        self._check_open()
        view = self._core.topic_view(topic) or self._wait_on_metadata(topic)
        bulk = BulkSend(self._intake, view, topic, values, keys, partition, headers, timestamps, empty_records=True)
        self._append_bulk(bulk)
        return bulk.future()

    def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, partition: int | None = None
    ) -> FutureBatchMetadata:
        """Publish the rows of a `pyarrow` Table or RecordBatch.

        Columns: `value` and `key` (binary or string), `timestamp` (a timestamp, or an integer of ms), `partition`
        (integers), `headers` (lists of structs of key and value). At least one of `value` and `key` is needed, and
        both may be null. A table from `to_arrow` or `poll_arrow` is accepted unchanged: `topic`, `offset` and
        `timestampType` are ignored.

        Args:
            topic: Name of the topic.
            table: A `pyarrow` Table or RecordBatch.
            partition: Partition for all rows. None (default): as the column `partition` says, else as in `send`.

        Returns:
            One future for all, of a list of `BatchMetadata`.

        Raises:
            ValueError: The table has other columns.
            KafkaError: As in `send_many`.
        """
        self._check_open()
        view = self._core.topic_view(topic) or self._wait_on_metadata(topic)
        bulks = sends_of_arrow(self._intake, view, topic, table, partition)
        for bulk in bulks:
            self._append_bulk(bulk)
        return FutureBatchMetadata([batch for bulk in bulks for batch in bulk.batches])

    def _append_bulk(self, bulk: BulkAppend) -> None:
        while not bulk.append():
            self._wait_for_memory(time.monotonic() + self._max_block_ms / 1000)

    def flush(self, timeout: float | None = None) -> None:
        """Send all buffered records, and wait until every record sent before is acknowledged or has failed.

        Args:
            timeout: The longest time to wait, in seconds. None (default): no limit.

        Raises:
            KafkaTimeoutError: Some records aren't done after `timeout`.
        """
        if self._closed:
            return
        self._call_within(None if timeout is None else timeout * 1000, self._core.flush)

    def partitions_for(self, topic: str) -> set[int]:
        """Return the numbers of the topic's partitions.

        Args:
            topic: Name of the topic.

        Raises:
            KafkaTimeoutError: The topic isn't known after `max_block_ms`.
        """
        self._check_open()
        return set(self._wait_on_metadata(topic).partitions)

    def _wait_on_metadata(self, topic: str) -> TopicView:
        view: TopicView = self._call_within(self._max_block_ms, self._core.wait_on_metadata, topic)
        return view

    def _call_within(self, timeout_ms: float | None, f: Callable[..., Any], *args: Any) -> Any:
        """Call `f` on the driver's thread with `timeout_ms` as its last argument.

        `f` keeps that time-out itself; the outer limit is for a callback of the user that blocks the driver's
        thread.
        """
        patience = None if timeout_ms is None else timeout_ms + _GRACE_MS
        return self._driver.call(f, *args, timeout_ms, timeout_ms=patience)

    def _wait_for_memory(self, deadline: float) -> None:
        """Wait until memory was released; the caller checks whether it is enough."""
        freed = threading.Event()
        if not self._driver.in_driver_thread():  # a callback would wait for its own thread
            self._core.accumulator.when_memory(freed.set)
            if freed.wait(max(0.0, deadline - time.monotonic())):
                self._check_open()
                return
        raise self._core.out_of_memory()

    # --- transactions

    def init_transactions(self) -> None:
        """Get a producer id and end what a predecessor left open; call it once, before the first transaction.

        Raises KafkaTimeoutError after `max_block_ms`.
        """
        self._driver.call(self._transactions("init_transactions").initialize)

    def begin_transaction(self) -> None:
        """Begin a transaction: consumers with `read_committed` see all records sent until its end, or none."""
        self._driver.call(self._transactions("begin_transaction").begin)

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: ConsumerGroupMetadata | str
    ) -> None:
        """Commit a consumer's offsets with the transaction.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`.
            group_metadata: `KafkaConsumer.group_metadata()`, or only the group's id, without fencing (KIP-447).
        """
        transactions = self._transactions("send_offsets_to_transaction")
        self._driver.call(transactions.send_offsets, offsets, group_metadata)

    def prepare_transaction(self) -> ProducerIdAndEpoch:
        """Flush, and leave the transaction open, to be ended by another program (two-phase commit).

        With the transactional id and the returned producer id and epoch, it can send EndTxn, even after this producer
        was closed. Raises the error of a record that has failed; abort the transaction then.
        """
        prepared: ProducerIdAndEpoch = self._driver.call(self._transactions("prepare_transaction").prepare)
        return prepared

    def commit_transaction(self) -> None:
        """Flush and commit. Raises the error of a record that has failed; abort the transaction then."""
        self._driver.call(self._transactions("commit_transaction").commit)

    def abort_transaction(self) -> None:
        """Abort the transaction; its records that weren't sent yet fail with TransactionAbortedError."""
        self._driver.call(self._transactions("abort_transaction").abort)

    def transaction(self) -> BlockingTransaction[Self]:
        """Return a context manager: `with producer.transaction():` commits at its end, aborts on an exception."""
        return BlockingTransaction(self)

    def _transactions(self, verb: str) -> Transactions:
        self._check_open()
        return self._core.transactions_for(verb)

    # --- the rest

    def bootstrap_connected(self) -> bool:
        """Return whether there is a connection to any broker."""
        return not self._closed and bool(self._driver.call(self._core.network.bootstrap_connected))

    def metrics(self, raw: bool = False) -> dict[str, Any] | Any:
        """Return metrics by group and name, under the names of the Java client and kafka-python.

        None if `metrics_enabled` is off.

        Args:
            raw: Return the group `producer-metrics` alone, without the level of groups. Default False.
        """
        # The type has Any in place of None: most programs don't disable metrics, and need no check for None.
        return self._core.figures(raw) if self.config["metrics_enabled"] else None

    @classmethod
    def max_usable_produce_magic(cls, api_version: tuple[int, ...]) -> int:
        """Return the newest message format that brokers of a release accept.

        Args:
            api_version: The release, for example (2, 8).
        """
        if api_version >= (0, 11):
            return 2
        return 1 if api_version >= (0, 10, 0) else 0

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateError("KafkaProducer already closed!")
        if not self._driver.running:
            raise IllegalStateError(
                "This KafkaProducer was made before the process forked; make a new one in the child process"
            )

    def _after_fork_in_child(self) -> None:
        """Mark the producer as unusable: its thread exists only in the parent, and its lock may have been held
        there."""
        self._lock = threading.Lock()
        self._short_path = {}

    def close(self, timeout: float | None = None, null_logger: bool = False) -> None:
        """Wait for the sent records, at most `timeout` seconds, and disconnect; the remaining records fail.

        `null_logger`: kafka-python's argument to suppress logging while the interpreter exits; without effect, because
        `close` logs nothing.
        """
        if timeout is not None and not 0 <= timeout <= threading.TIMEOUT_MAX:
            raise ValueError(f"Invalid timeout: {timeout}")
        if self._closed:
            return
        self._closed = True
        self._short_path = {}
        atexit.unregister(self._at_exit)
        try:
            if self._driver.in_driver_thread():
                self._driver.call_soon(self._close_from_callback)
            elif self._driver.running:
                self._driver.call(self._core.close, None if timeout is None else timeout * 1000)
        finally:
            if not self._driver.in_driver_thread():
                self._driver.stop()
            self._intake.close()

    def _close_from_callback(self) -> None:
        """Close without waiting, because a callback can't wait for its own thread: unfinished records fail."""
        spawn(self._core.close(0)).add_callback(lambda _: self._driver.stop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close(timeout=_EXIT_TIMEOUT_SECONDS)
        except Exception:
            pass  # the constructor has failed, or the interpreter exits

    def __repr__(self) -> str:
        return (
            f"<KafkaProducer client_id={self.config['client_id']} transactional_id={self.config['transactional_id']}>"
        )


def _turn_until_done(driver: ThreadDriver, batch: ProducerBatch, seconds: float | None) -> None:
    """Run the client's loop on this thread until the batch is done, for at most `seconds`. Raises IllegalStateError in
    a callback."""
    if driver.in_driver_thread():
        raise IllegalStateError(
            "A callback waits for a delivery on the thread that would bring it; give that delivery a callback of its own"
        )

    def delivered() -> Completion[None]:
        completion: Completion[None] = Completion()
        batch.when_done(lambda: completion.set_result(None))
        return completion

    try:
        driver.call(delivered, timeout_ms=None if seconds is None else seconds * 1000)
    except (KafkaTimeoutError, IllegalStateError):
        pass  # timed out; or the client is closed, and the batch fails


_producers: weakref.WeakSet[KafkaProducer] = weakref.WeakSet()


def _forget_parents_producers() -> None:
    for producer in list(_producers):
        producer._after_fork_in_child()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_parents_producers)


def _close_at_exit(producer: KafkaProducer) -> Any:
    reference = weakref.ref(producer)

    def close() -> None:
        alive = reference()
        if alive is not None:
            alive.close(timeout=_EXIT_TIMEOUT_SECONDS)

    return close
