"""The producer for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from kafkapy.aio.base import (
    AsyncClient,
    aiokafka_start_errors,
    ask,
    callback_future,
    close_abandoned,
    from_awaitable,
    until,
)
from kafkapy.aio.batch_builder import BatchBuilder
from kafkapy.aio.deliveries import BatchDelivery, Delivery
from kafkapy.aio.offsets import GivenOffsets, offsets_of
from kafkapy.aio.options import AIO_PRODUCER_DEFAULTS, AioProducerSettings, producer_options
from kafkapy.clients.facade import shows_options
from kafkapy.errors import BrokerResponseError, IllegalArgumentError, KafkaTimeoutError, ProducerClosed
from kafkapy.producer.arrow_send import sends_of_arrow
from kafkapy.producer.async_producer import AsyncProducer
from kafkapy.producer.batch import RECORD_OVERHEAD
from kafkapy.producer.bulk import BulkAppend, BulkSend
from kafkapy.producer.config import ProducerConfig
from kafkapy.producer.core import TopicView
from kafkapy.producer.future import FutureRecordMetadata, RecordMetadata
from kafkapy.producer.transaction_context import TransactionContext
from kafkapy.producer.transactions import Transactions
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import Bytes, GivenSerializer, Headers, K_contra, LookUpFirst, V_contra
from kafkapy.structs import ConsumerGroupMetadata

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

__all__ = ["BatchBuilder", "BatchDelivery", "Delivery", "KafkaProducer", "TransactionContext"]

_ABANDONED_CLOSE_MS = 1_000


@shows_options(AIO_PRODUCER_DEFAULTS)
class KafkaProducer(AsyncProducer[K_contra, V_contra], AsyncClient):
    """Publishes records: `async with KafkaProducer(bootstrap_servers=...) as producer: await producer.send(...)`.

    Options are those of `kafkapy.KafkaProducer` and of aiokafka. Use it in the loop in which it was made. Cancelling
    a method leaves the producer usable: queued records are sent, and a commit or abort that is under way continues.

    Args:
        configs: Options of producers, docs/client_options.md.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     async with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        ...         return await producer.send_and_wait("example-aio-producer", b"hello", key=b"greeting")
        >>> asyncio.run(main()).offset
        0
    """

    @overload
    def __init__(
        self: KafkaProducer[K_contra, V_contra],
        *,
        key_serializer: GivenSerializer[K_contra],
        value_serializer: GivenSerializer[V_contra],
        **configs: Unpack[AioProducerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaProducer[K_contra, Bytes],
        *,
        key_serializer: GivenSerializer[K_contra],
        **configs: Unpack[AioProducerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaProducer[Bytes, V_contra],
        *,
        value_serializer: GivenSerializer[V_contra],
        **configs: Unpack[AioProducerSettings],
    ) -> None: ...

    @overload
    def __init__(self: KafkaProducer[Bytes, Bytes], **configs: Unpack[AioProducerSettings]) -> None: ...

    def __init__(self, **configs: Any) -> None:
        config = ProducerConfig.from_options(producer_options(configs))
        AsyncClient.__init__(self)
        AsyncProducer.__init__(self, self._driver, config)
        self._stopping: Completion[None] | None = None
        self._began_batch = False

    async def start(self) -> None:
        """Connect; with a `transactional_id` also do what `init_transactions` does, as aiokafka.

        Raises KafkaTimeoutError after `bootstrap_timeout_ms` or `request_timeout_ms`, and what `init_transactions`
        raises; `start` may be called again then.
        """
        try:
            with aiokafka_start_errors():
                await ask(self._core.start(min(self.config.bootstrap_timeout_ms, self.config.request_timeout_ms)))
            if self._core.transactions is not None:
                await ask(self._core.transactions.initialize())
        except BaseException:
            self._core.network.suspend()
            raise
        self._closed = False
        self._short_path = self._intake.short_path

    async def send(
        self,
        topic: str,
        value: V_contra | None = None,
        key: K_contra | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers | None = None,
    ) -> Delivery:
        """Queue a record; returns its delivery, which can be awaited. Waits only for the topic's metadata and for
        buffer memory.

        Arguments are aiokafka's, errors those of `kafkapy.KafkaProducer.send`. If the call is cancelled, nothing was
        queued.

        Args:
            topic: Name of the topic.
            value: Value of the record, as the value serializer takes it: without one, bytes. None (default): a tombstone.
            key: Key of the record, as the key serializer takes it. None (default): no key.
            headers: Pairs of name (str) and value (bytes or None). None (default): no headers.
            partition: Partition number. None (default): by the key's hash; without a key, the producer's choice (KIP-480).
            timestamp_ms: Timestamp of the record in ms since the epoch. None (default): the time of the call.
        """
        if key is None and headers is None and partition is None and timestamp_ms is None and type(value) is bytes:
            batch = self._short_path.get(topic)
            if batch is not None:
                room = batch.room - len(value) - RECORD_OVERHEAD
                if room >= 0:
                    batch.room = room
                    batch.times.append(self._clock())
                    values = batch.values
                    index = len(values)
                    values.append(value)
                    return Delivery(batch, index)
        return await self._send(topic, value, key, headers, partition, timestamp_ms)

    async def _send(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Delivery:
        self._check_open()
        try:
            record = self._intake.serialize(topic, value, key, headers)
        except LookUpFirst:
            record = await ask(self._intake.looked_up(lambda: self._intake.serialize(topic, value, key, headers)))
            self._check_open()
        if self._began_batch:
            self._began_batch = False
            await asyncio.sleep(0)  # yield to the sender, so that a program that only sends does not starve it
        deadline = time.monotonic() + self.config.max_block_ms / 1000
        view = self._core.topic_view(topic)
        if view is None:
            try:
                view = await ask(self._core.wait_on_metadata(topic))
            except KafkaTimeoutError:
                raise
            except BrokerResponseError as error:
                return _awaitable(self._intake.failed(topic, partition, record[0], error))
        while True:
            future = self._intake.append(view, topic, record, partition, timestamp_ms, (value, key))
            if future is not None:
                self._began_batch = future._index == 0
                return _awaitable(future)
            await self._wait_for_memory(deadline)

    async def send_and_wait(
        self,
        topic: str,
        value: V_contra | None = None,
        key: K_contra | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers | None = None,
    ) -> RecordMetadata:
        """Send a record and wait for its delivery.

        Args:
            topic: Name of the topic.
            value: Value of the record, as the value serializer takes it: without one, bytes. None (default): a tombstone.
            key: Key of the record, as the key serializer takes it. None (default): no key.
            headers: Pairs of name (str) and value (bytes or None). None (default): no headers.
            partition: Partition number. None (default): by the key's hash; without a key, the producer's choice (KIP-480).
            timestamp_ms: Timestamp of the record in ms since the epoch. None (default): the time of the call.
        """
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    def create_batch(self, topic: str | None = None) -> BatchBuilder:
        """An empty batch for `send_batch`, to decide which records are sent together.

        `topic` is needed if a serializer is an object, since `serialize` takes the topic; functions do not.
        """
        return BatchBuilder(self._intake, self.config.max_batch_bytes, topic)

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> Delivery:
        """Queue a batch for a partition. Returns the delivery of its first record.

        Args:
            batch: The batch, of `create_batch`; it is closed.
            topic: Name of the topic.
            partition: Partition number.
        """
        self._check_open()
        if not batch.values:
            raise ValueError("The batch is empty")
        if batch.topic not in (None, topic):
            raise ValueError(f"The batch was made for topic {batch.topic}")
        batch.close()
        done = await self.send_many(topic, batch.values, batch.keys, partition, batch.headers, batch.timestamps)
        return Delivery(done._batches[0], 0)

    async def send_many(
        self,
        topic: str,
        values: Sequence[V_contra | None],
        keys: Sequence[K_contra | None] | None = None,
        partition: int | None = None,
        headers: Sequence[Headers | None] | None = None,
        timestamps: Sequence[int] | None = None,
    ) -> BatchDelivery:
        """As `kafkapy.KafkaProducer.send_many`; returns the delivery of all records, which can be awaited.

        Args:
            topic: Name of the topic.
            values: Values of the records, in order; None is a tombstone.
            keys: Keys, one for each value. None (default): no keys.
            partition: Partition number. None (default): by the key's hash; without a key, the producer's choice (KIP-480).
            headers: Headers of each record. None (default): no headers.
            timestamps: Timestamps in ms since the epoch, one for each value. None (default): the time of the call.
        """
        self._check_open()
        view = await self._view(topic)
        columns = (values, keys, partition, headers, timestamps)
        bulk = await self._looked_up(lambda: BulkSend(self._intake, view, topic, *columns))
        await self._append_bulk(bulk)
        return BatchDelivery(bulk.batches)

    async def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, partition: int | None = None
    ) -> BatchDelivery:
        """As `kafkapy.KafkaProducer.send_arrow`.

        Args:
            topic: Name of the topic.
            table: A `pyarrow` Table or RecordBatch.
            partition: Partition for all rows. None (default): as the column `partition` says, else as in `send`.
        """
        self._check_open()
        view = await self._view(topic)
        bulks = await self._looked_up(lambda: sends_of_arrow(self._intake, view, topic, table, partition))
        for bulk in bulks:
            await self._append_bulk(bulk)
        return BatchDelivery([batch for bulk in bulks for batch in bulk.batches])

    async def _looked_up(self, f: Callable[[], T]) -> T:
        try:
            return f()
        except LookUpFirst:
            return await ask(self._intake.looked_up(f))

    async def _append_bulk(self, bulk: BulkAppend) -> None:
        while not bulk.append():
            await self._wait_for_memory(time.monotonic() + self.config.max_block_ms / 1000)

    async def _view(self, topic: str) -> TopicView:
        known = self._core.topic_view(topic)
        return known if known is not None else await ask(self._core.wait_on_metadata(topic))

    async def _wait_for_memory(self, deadline: float) -> None:
        freed = callback_future(self._core.accumulator.when_memory)
        try:
            await asyncio.wait_for(freed, max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise self._core.out_of_memory() from None
        self._check_open()

    async def flush(self, timeout: float | None = None) -> None:
        """Wait until all records sent before are delivered or have failed. Raises KafkaTimeoutError after `timeout`
        seconds."""
        if not self._closed:
            await ask(self._core.flush(None if timeout is None else timeout * 1000))

    async def partitions_for(self, topic: str) -> set[int]:
        """The numbers of the topic's partitions.

        Args:
            topic: Name of the topic.
        """
        self._check_open()
        return set((await ask(self._core.wait_on_metadata(topic))).partitions)

    # --- transactions

    async def init_transactions(self) -> None:
        """Does what `start` has done already; for programs that also run with `kafkapy.KafkaProducer`. Raises
        KafkaTimeoutError after `max_block_ms`."""
        await ask(self._transactions("init_transactions").initialize())

    async def begin_transaction(self) -> None:
        """Begin a transaction: consumers with `read_committed` see all of its records or none."""
        transactions = self._transactions("begin_transaction")
        await ask(transactions.settled())
        transactions.begin()

    async def send_offsets_to_transaction(
        self,
        offsets: GivenOffsets,
        group_metadata: ConsumerGroupMetadata | str | None = None,
        *,
        group_id: str | None = None,
    ) -> None:
        """Commit a consumer's offsets with the transaction; `group_metadata` is `KafkaConsumer.group_metadata()`. Offsets are
        given as to `KafkaConsumer.commit`. `group_id`: aiokafka's name of it, where only the group's name is given.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`.
            group_metadata: `KafkaConsumer.group_metadata()`, or only the group's id, without fencing (KIP-447).
        """
        transactions = self._transactions("send_offsets_to_transaction")
        group = group_id if group_metadata is None else group_metadata
        if group is None:
            raise IllegalArgumentError(
                "send_offsets_to_transaction needs group_metadata (consumer.group_metadata()) or group_id"
            )
        await ask(transactions.send_offsets(offsets_of(offsets), group))

    async def commit_transaction(self) -> None:
        """Flush and commit. Raises the error of a failed record; abort the transaction then.

        Cancelling the caller does not interrupt the commit; a second call returns its outcome.
        """
        await self._end_transaction("commit_transaction", True)

    async def abort_transaction(self) -> None:
        """Abort the transaction; records that are not sent yet fail with TransactionAbortedError. Cancelling the
        caller does not interrupt it."""
        await self._end_transaction("abort_transaction", False)

    async def _end_transaction(self, verb: str, committed: bool) -> None:
        transactions = self._transactions(verb)
        ending = transactions.end(committed)
        if not ending.done:
            await callback_future(ending.add_callback)
        transactions.end_seen(ending)

    def _transactions(self, verb: str) -> Transactions:
        self._check_open()
        return self._core.transactions_for(verb)

    def _check_open(self) -> None:
        if self._closed:
            raise ProducerClosed("KafkaProducer is not started, or closed already")

    def __del__(self) -> None:
        """Send queued records for a second if the program has not called `stop`."""
        if vars(self).get("_closed", True):
            return
        core, intake = self._core, self._intake
        close_abandoned(
            self, self._driver, lambda: spawn(core.close(_ABANDONED_CLOSE_MS)).add_callback(lambda _: intake.close())
        )

    def __repr__(self) -> str:
        return f"<KafkaProducer client_id={self.config.client_id} transactional_id={self.config.transactional_id}>"

    async def stop(self, timeout: float | None = None) -> None:
        """Wait for deliveries, at most `timeout` seconds, and disconnect; records that are not sent by then fail.

        Cancelling the caller does not interrupt it.
        """
        if self._stopping is None:
            self._stopping = from_awaitable(self._stop(None if timeout is None else timeout * 1000))
        await until(self._stopping)

    async def _stop(self, timeout_ms: float | None) -> None:
        started, self._closed, self._short_path = not self._closed, True, {}
        if not started:
            self._core.network.close()
            return
        try:
            await until(spawn(self._core.close(timeout_ms)))
        finally:
            self._intake.close()

    async def close(self, timeout: float | None = None) -> None:
        """The same as `stop`.

        Args:
            timeout: The longest time to wait, in seconds. None (default): no limit.
        """
        await self.stop(timeout)


def _awaitable(future: FutureRecordMetadata) -> Delivery:
    return Delivery(future._batch, future._index)


AIOKafkaProducer = KafkaProducer
"""aiokafka's name."""
