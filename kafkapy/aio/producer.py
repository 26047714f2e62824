"""The producer for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from kafkapy.aio.base import AsyncClient, run
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import BrokerResponseError, IllegalStateError
from kafkapy.producer.batch import RECORD_OVERHEAD, ProducerBatch
from kafkapy.producer.bulk import BulkSend, columns_of_arrow
from kafkapy.producer.config import ProducerConfig, ProducerOptions
from kafkapy.producer.core import ProducerCore, TopicView
from kafkapy.producer.future import BatchMetadata, FutureBatchMetadata, FutureRecordMetadata, RecordMetadata
from kafkapy.producer.intake import Intake
from kafkapy.producer.transactions import Transactions
from kafkapy.serializer import Headers
from kafkapy.structs import ConsumerGroupMetadata, OffsetAndMetadata

if TYPE_CHECKING:
    import pyarrow as pa


class Delivery(FutureRecordMetadata):
    """What `send` gives: awaiting it gives the `RecordMetadata`, or raises. Nobody has to."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        yield from _until_done(self.is_done, self._when_done)
        return self.get(0)


class BatchDelivery(FutureBatchMetadata):
    """What `send_many` gives: awaiting it gives the `BatchMetadata`s."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, list[BatchMetadata]]:
        yield from _until_done(self.is_done, self._when_done)
        return self.get(0)


def _until_done(done: bool, when_done: Callable[[Callable[[], object]], None]) -> Generator[Any, None, None]:
    if not done:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        when_done(lambda: None if future.done() else future.set_result(None))
        yield from future


class KafkaProducer(AsyncClient):
    """Publishes records: `async with KafkaProducer(bootstrap_servers=...) as producer: await producer.send(...)`.

    Options are those of `kafkapy.KafkaProducer`. For use in the loop it was made in.
    """

    def __init__(self, **configs: Unpack[ProducerOptions]) -> None:
        self.config = ProducerConfig.from_options(configs)
        super().__init__()
        self._core = ProducerCore(self._driver, self.config)
        self._intake = Intake(self._core)
        self._short_path: Mapping[str, ProducerBatch] = {}
        self._clock = self._core.accumulator.clock
        self._closed = True

    async def start(self) -> None:
        """Connect. Raises KafkaTimeoutError after `bootstrap_timeout_ms`."""
        try:
            await run(self._core.start())
        except BaseException:
            self._core.network.close()
            raise
        self._closed = False
        self._short_path = self._intake.short_path

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Queue a record. Waits only for the topic's metadata and for memory; await what it gives for the delivery.

        Arguments and errors are those of `kafkapy.KafkaProducer.send`.
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
        record = self._intake.serialize(topic, value, key, headers)
        deadline = time.monotonic() + self.config.max_block_ms / 1000
        view = self._core.topic_view(topic)
        if view is None:
            try:
                view = await run(self._core.wait_on_metadata(topic))
            except BrokerResponseError as error:
                return _awaitable(self._intake.failed(topic, partition, record[0], error))
        while True:
            future = self._intake.append(view, topic, record, partition, timestamp_ms, (value, key))
            if future is not None:
                if future._index == 0:
                    await asyncio.sleep(0)  # a loop that only sends must let the sender have its turn
                return _awaitable(future)
            await self._wait_for_memory(deadline)

    async def send_and_wait(self, topic: str, value: Any = None, **arguments: Any) -> RecordMetadata:
        """`send`, and wait for the delivery."""
        return await (await self.send(topic, value, **arguments))

    async def send_many(
        self,
        topic: str,
        values: Sequence[Any],
        keys: Sequence[Any] | None = None,
        partition: int | None = None,
        headers: Sequence[Headers | None] | None = None,
        timestamps: Sequence[int] | None = None,
    ) -> BatchDelivery:
        """As `kafkapy.KafkaProducer.send_many`; await what it gives for the delivery of all."""
        self._check_open()
        view = await self._view(topic)
        bulk = BulkSend(self._intake, view, topic, values, keys, partition, headers, timestamps)
        await self._append_bulk(bulk)
        return BatchDelivery(bulk.batches)

    async def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, partition: int | None = None
    ) -> BatchDelivery:
        """As `kafkapy.KafkaProducer.send_arrow`."""
        self._check_open()
        view = await self._view(topic)
        bulks = [BulkSend(self._intake, view, topic, **columns) for columns in columns_of_arrow(table, partition)]
        for bulk in bulks:
            await self._append_bulk(bulk)
        return BatchDelivery([batch for bulk in bulks for batch in bulk.batches])

    async def _append_bulk(self, bulk: BulkSend) -> None:
        while not bulk.append():
            await self._wait_for_memory(time.monotonic() + self.config.max_block_ms / 1000)

    async def _view(self, topic: str) -> TopicView:
        known = self._core.topic_view(topic)
        return known if known is not None else await run(self._core.wait_on_metadata(topic))

    async def _wait_for_memory(self, deadline: float) -> None:
        freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._core.accumulator.when_memory(lambda: None if freed.done() else freed.set_result(None))
        try:
            await asyncio.wait_for(freed, max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise self._core.out_of_memory() from None
        self._check_open()

    async def flush(self, timeout: float | None = None) -> None:
        """Wait until every record sent before is done. Raises KafkaTimeoutError after `timeout` seconds."""
        if not self._closed:
            await run(self._core.flush(None if timeout is None else timeout * 1000))

    async def partitions_for(self, topic: str) -> set[int]:
        """The topic's partitions."""
        self._check_open()
        return set((await run(self._core.wait_on_metadata(topic))).partitions)

    # --- transactions

    async def init_transactions(self) -> None:
        """Once, before the first transaction. Raises KafkaTimeoutError after `max_block_ms`."""
        await run(self._transactions("init_transactions").initialize())

    async def begin_transaction(self) -> None:
        """Records sent from here on are seen together, or not at all, by consumers that read committed records."""
        self._transactions("begin_transaction").begin()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: ConsumerGroupMetadata | str
    ) -> None:
        """Commit a consumer's offsets with the transaction; `group_metadata` is `KafkaConsumer.group_metadata()`."""
        await run(self._transactions("send_offsets_to_transaction").send_offsets(offsets, group_metadata))

    async def commit_transaction(self) -> None:
        """Flush and commit. Raises what a record of the transaction has failed with; abort it then."""
        await run(self._transactions("commit_transaction").commit())

    async def abort_transaction(self) -> None:
        """Abort; records that wait to be sent fail with TransactionAbortedError."""
        await run(self._transactions("abort_transaction").abort())

    def transaction(self) -> TransactionContext:
        """`async with producer.transaction():` commits at its end, aborts on an exception."""
        return TransactionContext(self)

    def _transactions(self, verb: str) -> Transactions:
        self._check_open()
        return self._core.transactions_for(verb)

    # --- the rest

    def bootstrap_connected(self) -> bool:
        """Is there a connection to any broker?"""
        return self._core.network.bootstrap_connected()

    def metrics(self, raw: bool = False) -> dict[str, Any]:
        """As in `kafkapy.KafkaProducer`."""
        figures = self._core.metrics.snapshot()
        return dict(figures) if raw else {"producer-metrics": figures}

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateError("KafkaProducer is not started, or closed already")

    async def stop(self, timeout: float | None = None) -> None:
        """Wait for what was sent, at most `timeout` seconds, and disconnect; then what is left fails."""
        if self._closed:
            self._core.network.close()
            return
        self._closed = True
        self._short_path = {}
        try:
            await run(self._core.close(None if timeout is None else timeout * 1000))
        finally:
            self._intake.close()

    async def close(self, timeout: float | None = None) -> None:
        """As `stop`."""
        await self.stop(timeout)


class TransactionContext:
    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer

    async def __aenter__(self) -> KafkaProducer:
        await self._producer.begin_transaction()
        return self._producer

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        end: Callable[[], Awaitable[None]] = self._producer.commit_transaction
        if error is not None:
            end = self._producer.abort_transaction
        await end()


def _awaitable(future: FutureRecordMetadata) -> Delivery:
    return Delivery(future._batch, future._index)
