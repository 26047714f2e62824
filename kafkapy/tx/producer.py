"""The producer for Twisted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack, overload

from twisted.internet.defer import Deferred, fail, maybeDeferred, succeed
from twisted.python.failure import Failure

from kafkapy.clients.driver import wait_for
from kafkapy.clients.facade import shows_options
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import IllegalStateError, KafkaTimeoutError
from kafkapy.producer.arrow_send import sends_of_arrow
from kafkapy.producer.async_producer import AsyncProducer
from kafkapy.producer.batch import RECORD_OVERHEAD
from kafkapy.producer.bulk import BulkAppend, BulkSend
from kafkapy.producer.config import DEFAULT_OPTIONS, ProducerConfig, ProducerSettings
from kafkapy.producer.core import TopicView
from kafkapy.producer.future import (
    BatchMetadata,
    DeliveryFuture,
    FutureBatchMetadata,
    FutureRecordMetadata,
    RecordMetadata,
)
from kafkapy.producer.intake import Serialized
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import Bytes, GivenSerializer, Headers, K_contra, LookUpFirst, V_contra
from kafkapy.structs import ConsumerGroupMetadata, OffsetAndMetadata
from kafkapy.tx.base import run

if TYPE_CHECKING:
    import pyarrow as pa


@shows_options(DEFAULT_OPTIONS)
class KafkaProducer(AsyncProducer[K_contra, V_contra]):
    """Publishes records; `reactor` None: the global one.

    Options are those of `kafkapy.KafkaProducer`; the methods return Deferreds.

    Invariant: `_waiting` holds, in the order of the calls, sends that wait for metadata or memory. While there is
    one, later sends queue behind it, so that records stay in order.

    Args:
        reactor: Twisted's reactor. None (default): the global one.
        configs: Options of producers, docs/client_options.md.

    Example:
        >>> from twisted.internet import defer, reactor
        >>> async def main():
        ...     async with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        ...         sent = await producer.send("example-tx-producer", b"hello")
        ...     print(sent.topic, sent.offset)
        >>> done = defer.ensureDeferred(main()).addErrback(print).addBoth(lambda _: reactor.stop())
        >>> reactor.run()
        example-tx-producer 0
    """

    @overload
    def __init__(
        self: KafkaProducer[K_contra, V_contra],
        reactor: Any = None,
        *,
        key_serializer: GivenSerializer[K_contra],
        value_serializer: GivenSerializer[V_contra],
        **configs: Unpack[ProducerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaProducer[K_contra, Bytes],
        reactor: Any = None,
        *,
        key_serializer: GivenSerializer[K_contra],
        **configs: Unpack[ProducerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaProducer[Bytes, V_contra],
        reactor: Any = None,
        *,
        value_serializer: GivenSerializer[V_contra],
        **configs: Unpack[ProducerSettings],
    ) -> None: ...

    @overload
    def __init__(
        self: KafkaProducer[Bytes, Bytes],
        reactor: Any = None,
        **configs: Unpack[ProducerSettings],
    ) -> None: ...

    def __init__(self, reactor: Any = None, **configs: Any) -> None:
        super().__init__(TwistedDriver(reactor), ProducerConfig.from_options(configs))
        self._short_path = self._intake.short_path
        self._waiting: deque[tuple[Callable[[], Coroutine[Any, Any, Any]], Deferred[Any]]] = deque()
        self._pumping = False

    def start(self) -> Deferred[KafkaProducer]:
        """Connect; fires with this producer. Fails with KafkaTimeoutError after `bootstrap_timeout_ms`."""

        async def begin() -> KafkaProducer:
            await self._core.start()
            self._closed = False
            return self

        return run(begin())

    def send(
        self,
        topic: str,
        value: V_contra | None = None,
        key: K_contra | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Deferred[RecordMetadata]:
        """Publish a record; fires when it is delivered.

        Arguments are those of `kafkapy.KafkaProducer.send`; its errors come through the Deferred.

        Args:
            topic: Name of the topic.
            value: Value of the record, as the value serializer takes it: without one, bytes. None (default): a tombstone.
            key: Key of the record, as the key serializer takes it. None (default): no key.
            headers: Pairs of name (str) and value (bytes or None). None (default): no headers.
            partition: Partition number. None (default): by the key's hash; without a key, the producer's choice (KIP-480).
            timestamp_ms: Timestamp of the record in ms since the epoch. None (default): the time of the call.
        """
        if self._closed:
            return fail(IllegalStateError("KafkaProducer is not started, or closed already"))
        if key is None and headers is None and partition is None and timestamp_ms is None and type(value) is bytes:
            batch = self._short_path.get(topic)  # the open batch of the topic
            if batch is not None and not self._waiting:
                room = batch.room - len(value) - RECORD_OVERHEAD
                if room >= 0:
                    batch.room = room
                    batch.times.append(self._clock())
                    batch.values.append(value)
                    return _deferred(FutureRecordMetadata(batch, len(batch.values) - 1))

        def serialize() -> Serialized:
            return self._intake.serialize(topic, value, key, headers)

        record: Serialized | None = None
        try:
            record = serialize()
            view = self._core.topic_view(topic)
            if view is not None and not self._waiting:
                future = self._intake.append(view, topic, record, partition, timestamp_ms, (value, key))
                if future is not None:
                    return _deferred(future)
        except LookUpFirst:
            pass
        except Exception:
            return fail(Failure())

        async def send_later() -> DeliveryFuture[RecordMetadata]:
            ready = await self._intake.looked_up(serialize) if record is None else record
            view = await self._core.wait_on_metadata(topic)
            while True:
                future = self._intake.append(view, topic, ready, partition, timestamp_ms, (value, key))
                if future is not None:
                    return future
                await self._memory()

        return self._in_order(send_later)

    def send_many(
        self,
        topic: str,
        values: Sequence[V_contra | None],
        keys: Sequence[K_contra | None] | None = None,
        partition: int | None = None,
        headers: Sequence[Headers | None] | None = None,
        timestamps: Sequence[int] | None = None,
    ) -> Deferred[list[BatchMetadata]]:
        """As `kafkapy.KafkaProducer.send_many`; fires when all records are delivered.

        Args:
            topic: Name of the topic.
            values: Values of the records, in order; None is a tombstone.
            keys: Keys, one for each value. None (default): no keys.
            partition: Partition number. None (default): by the key's hash; without a key, the producer's choice (KIP-480).
            headers: Headers of each record. None (default): no headers.
            timestamps: Timestamps in ms since the epoch, one for each value. None (default): the time of the call.
        """
        columns = (values, keys, partition, headers, timestamps)
        return self._send_bulks(topic, lambda view: [BulkSend(self._intake, view, topic, *columns)])

    def send_arrow(
        self, topic: str, table: pa.Table | pa.RecordBatch, partition: int | None = None
    ) -> Deferred[list[BatchMetadata]]:
        """As `kafkapy.KafkaProducer.send_arrow`.

        Args:
            topic: Name of the topic.
            table: A `pyarrow` Table or RecordBatch.
            partition: Partition for all rows. None (default): as the column `partition` says, else as in `send`.
        """
        return self._send_bulks(topic, lambda view: sends_of_arrow(self._intake, view, topic, table, partition))

    def _send_bulks(
        self, topic: str, make: Callable[[TopicView], Sequence[BulkAppend]]
    ) -> Deferred[list[BatchMetadata]]:
        if self._closed:
            return fail(IllegalStateError("KafkaProducer is not started, or closed already"))

        async def send() -> DeliveryFuture[list[BatchMetadata]]:
            view = await self._core.wait_on_metadata(topic)
            bulks = await self._intake.looked_up(lambda: make(view))
            for bulk in bulks:
                while not bulk.append():
                    await self._memory()
            return FutureBatchMetadata([batch for bulk in bulks for batch in bulk.batches])

        return self._in_order(send)

    def _in_order(self, send: Callable[[], Coroutine[Any, Any, Any]]) -> Deferred[Any]:
        queued: Deferred[Any] = Deferred()
        self._waiting.append((send, queued))
        if not self._pumping:
            spawn(self._pump())
        return queued.addCallback(_deferred)

    async def _pump(self) -> None:
        self._pumping = True
        while self._waiting:
            send, queued = self._waiting[0]
            try:
                future = await send()
            except Exception:
                self._waiting.popleft()
                queued.errback(Failure())
            else:
                self._waiting.popleft()
                queued.callback(future)
        self._pumping = False

    async def _memory(self) -> None:
        freed: Completion[None] = Completion()
        self._core.accumulator.when_memory(lambda: freed.set_result(None))
        try:
            await wait_for(self._core.driver, freed, self.config.max_block_ms)
        except KafkaTimeoutError:
            raise self._core.out_of_memory() from None

    def flush(self, timeout: float | None = None) -> Deferred[None]:
        """Fires when all records sent before are delivered or have failed. Fails with KafkaTimeoutError after
        `timeout` seconds."""
        return run(self._flush(None if timeout is None else timeout * 1000))

    async def _flush(self, timeout_ms: float | None) -> None:
        await self._all_queued(timeout_ms)
        await self._core.flush(timeout_ms)

    async def _all_queued(self, timeout_ms: float | None) -> None:
        if self._waiting:
            queued: Completion[None] = Completion()
            self._waiting[-1][1].addBoth(_tell(queued))
            await wait_for(self._core.driver, queued, timeout_ms)

    def partitions_for(self, topic: str) -> Deferred[set[int]]:
        """The numbers of the topic's partitions.

        Args:
            topic: Name of the topic.
        """
        return run(self._core.wait_on_metadata(topic)).addCallback(lambda view: set(view.partitions))

    # --- transactions

    def init_transactions(self) -> Deferred[None]:
        """Initialize the transactional id, once, before the first transaction. Fails with KafkaTimeoutError after
        `max_block_ms`."""
        return maybeDeferred(lambda: run(self._core.transactions_for("init_transactions").initialize()))

    def begin_transaction(self) -> Deferred[None]:
        """Begin a transaction: consumers with `read_committed` see all of its records or none."""
        return maybeDeferred(lambda: self._core.transactions_for("begin_transaction").begin())

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: ConsumerGroupMetadata | str
    ) -> Deferred[None]:
        """Commit a consumer's offsets with the transaction; `group_metadata` is `KafkaConsumer.group_metadata()`.

        Args:
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`.
            group_metadata: `KafkaConsumer.group_metadata()`, or only the group's id, without fencing (KIP-447).
        """
        verb = "send_offsets_to_transaction"
        return maybeDeferred(lambda: run(self._core.transactions_for(verb).send_offsets(offsets, group_metadata)))

    def commit_transaction(self) -> Deferred[None]:
        """Flush and commit. Fails with the error of a failed record; abort the transaction then."""
        return maybeDeferred(lambda: run(self._core.transactions_for("commit_transaction").commit()))

    def abort_transaction(self) -> Deferred[None]:
        """Abort the transaction; records that are not sent yet fail with TransactionAbortedError."""
        return maybeDeferred(lambda: run(self._core.transactions_for("abort_transaction").abort()))

    def stop(self, timeout: float | None = None) -> Deferred[None]:
        """Wait for deliveries, at most `timeout` seconds, and disconnect; records that are not sent by then fail."""
        if self._closed:
            self._core.network.close()
            return succeed(None)
        self._closed = True

        async def end() -> None:
            timeout_ms = None if timeout is None else timeout * 1000
            try:
                with suppress(KafkaTimeoutError):
                    await self._all_queued(timeout_ms)
                await self._core.close(timeout_ms)
            finally:
                self._intake.close()

        return run(end())

    def close(self, timeout: float | None = None) -> Deferred[None]:
        """The same as `stop`.

        Args:
            timeout: The longest time to wait, in seconds. None (default): no limit.
        """
        return self.stop(timeout)

    def __aenter__(self) -> Deferred[KafkaProducer]:
        return self.start()

    def __aexit__(self, *_: object) -> Deferred[None]:
        return self.stop()


def _deferred(future: DeliveryFuture[Any]) -> Deferred[Any]:
    """A Deferred with the result of a delivery."""
    deferred: Deferred[Any] = Deferred()

    def done() -> None:
        error = future.exception
        if error is None:
            deferred.callback(future.value)
        else:
            deferred.errback(Failure(error))

    future._when_done(done)
    return deferred


def _tell(completion: Completion[None]) -> Callable[[Any], Any]:
    def pass_on(result: Any) -> Any:
        completion.set_result(None)
        return result

    return pass_on
