from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Iterator
from typing import Any

import pytest

from kafkapy.aio import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafkapy.errors import IllegalArgumentError, IllegalStateError, KafkaTimeoutError, TopicAuthorizationFailedError
from kafkapy.serializer import Headers, LookUpFirst, Serializer
from tests.producing_broker import ProducingBroker
from tests.transactional_broker import TransactionalBroker
from tests.waiting import HANG_SECONDS


@pytest.fixture
def broker() -> Iterator[ProducingBroker]:
    with ProducingBroker() as broker:
        yield broker


def test_send_and_wait_for_delivery(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address) as producer:
            deliveries = [await producer.send("t", b"%d" % i) for i in range(3000)]
            assert (await deliveries[0]).offset == 0
            assert [metadata.offset for metadata in await asyncio.gather(*deliveries)] == list(range(3000))
            assert (await producer.send_and_wait("t", b"x", key=b"k")).offset == 3000
            assert [batch.offset for batch in await (await producer.send_many("t", [b"a", b"b"]))] == [3001]
            assert await producer.partitions_for("t") == {0}
            await producer.send("t", b"last")
        with pytest.raises(IllegalStateError):
            await producer.send("t", b"late")

    asyncio.run(main())
    assert len(broker.values) == 3004
    assert broker.values[-1] == b"last"


def test_errors(broker: ProducingBroker) -> None:
    async def main() -> None:
        with pytest.raises(KafkaTimeoutError):
            await KafkaProducer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=100).start()
        async with KafkaProducer(bootstrap_servers=broker.address) as producer:
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send_and_wait("secret", b"x")
            with pytest.raises(IllegalStateError, match="transactional_id"):
                await producer.init_transactions()
            with pytest.raises(TypeError):
                await producer.send("t", "text")  # type: ignore[arg-type]

    asyncio.run(main())


def test_little_memory_holds_the_sender_back(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, buffer_memory=5000, batch_size=1000) as producer:
            for i in range(200):
                await producer.send("t", b"%03d" % i + bytes(97))
            await producer.flush()
            assert len(broker.values) == 200

    asyncio.run(main())


def test_a_producer_that_is_forgotten_warns_and_sends_what_waits(broker: ProducingBroker) -> None:
    async def main() -> None:
        producer: KafkaProducer[bytes, bytes] | None = KafkaProducer(bootstrap_servers=broker.address, linger_ms=60_000)
        assert producer is not None
        await producer.start()
        delivery = await producer.send("t", b"x")
        with pytest.warns(ResourceWarning, match="KafkaProducer .* was not stopped"):
            producer = None
            gc.collect()
        assert (await delivery).offset == 0

    asyncio.run(main())


def test_a_cancelled_wait_cancels_no_delivery(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
            delivery = await producer.send("t", b"x")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(_wait(delivery), 0.01)
            await producer.flush()
            assert (await delivery).offset == 0

    asyncio.run(main())


def test_a_cancelled_send_has_queued_nothing_and_leaves_the_producer_usable(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address) as producer:
            sent = []
            await producer.partitions_for("t")  # else all may be cancelled before the topic is known
            for i in range(300):
                task = asyncio.create_task(producer.send("t", b"%d" % i, key=b"k"))
                for _ in range(i % 3):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    sent.append((await task, b"%d" % i))
                except asyncio.CancelledError:
                    pass
            await asyncio.gather(*(delivery for delivery, _ in sent))
            assert 0 < len(sent) < 300
            assert broker.values == [value for _, value in sent]
            for call in (producer.flush(), producer.partitions_for("t"), producer.stop()):
                task = asyncio.create_task(call)  # type: ignore[arg-type]
                await asyncio.sleep(0)
                task.cancel()
            await producer.stop()

    asyncio.run(main())


def test_a_delivery_is_awaited_on_the_loop_and_got_elsewhere(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
            delivery = await producer.send("t", b"x")
            with pytest.raises(IllegalStateError, match="await"):
                delivery.get()
            with pytest.raises(IllegalStateError, match="await"):
                delivery.get(HANG_SECONDS)
            with pytest.raises(asyncio.InvalidStateError):
                delivery.result()
            with pytest.raises(asyncio.InvalidStateError):
                delivery.exception()
            assert (delivery.done(), delivery.cancelled()) == (False, False)
            assert await asyncio.wait([delivery], timeout=0) == (set(), {delivery})  # type: ignore[type-var]
            called: list[Any] = []
            delivery.add_done_callback(called.append)
            flushing = asyncio.create_task(producer.flush())
            assert (await asyncio.to_thread(delivery.get, HANG_SECONDS)).offset == 0
            await flushing
            await asyncio.sleep(0)
            assert called == [delivery]
            assert (delivery.done(), delivery.exception(), delivery.result().offset) == (True, None, 0)
            assert await asyncio.wait([delivery]) == ({delivery}, set())  # type: ignore[type-var]
            refused = await producer.send("secret", b"x")
            assert isinstance(refused.exception(), TopicAuthorizationFailedError)

    asyncio.run(main())


def test_aiokafkas_send_and_batches(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, max_batch_size=200) as producer:
            metadata = await producer.send_and_wait("t", b"x", b"k", 0, 1234, [("h", b"v")])
            assert (metadata.serialized_key_size, metadata.partition, metadata.timestamp) == (1, 0, 1234)
            batch = producer.create_batch()
            count = 0
            while batch.append(timestamp=None, key=None, value=b"%02d" % count + bytes(30)) is not None:
                count += 1
            assert (batch.record_count(), batch.size() <= 200) == (count, True)
            assert (await (await producer.send_batch(batch, "t", partition=0))).offset == 1
            assert batch.append(timestamp=1, key=b"k", value=b"v") is None
            assert [value[:2] for value in broker.values[1:] if value] == [b"%02d" % i for i in range(count)]
            with pytest.raises(ValueError, match="empty"):
                await producer.send_batch(producer.create_batch(), "t", partition=0)

    asyncio.run(main())


class NamingSerializer(Serializer):
    """Names the topic before the value; a value "?" must be looked up first."""

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes:
        if data == "?":
            raise LookUpFirst(lambda: None)
        return f"{topic}: {data}".encode()


def test_a_batch_for_serializers_that_are_told_the_topic(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, value_serializer=NamingSerializer()) as producer:
            with pytest.raises(IllegalStateError, match=r"create_batch\(topic\)"):
                producer.create_batch().append(timestamp=None, key=None, value="x")
            batch, same = producer.create_batch("t"), producer.create_batch("topic")
            sizes = [each.append(timestamp=None, key=None, value="x") for each in (batch, same)]
            assert sizes[0] is not None and sizes[1] is not None
            assert sizes[1].size - sizes[0].size == len("opic")
            with pytest.raises(IllegalStateError, match="send a record to the topic before"):
                batch.append(timestamp=None, key=None, value="?")
            with pytest.raises(ValueError, match="made for topic t"):
                await producer.send_batch(batch, "other", partition=0)
            await (await producer.send_batch(batch, "t", partition=0))
            assert broker.values[-1] == b"t: x"

    asyncio.run(main())


def test_a_client_made_outside_of_a_loop_is_told_so() -> None:
    for make in (KafkaProducer, KafkaConsumer, KafkaAdminClient):
        with pytest.raises(RuntimeError, match=r"inside a coroutine"):
            make()


def test_start_initializes_transactions_as_aiokafka() -> None:
    async def main(broker: TransactionalBroker) -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, transactional_id="tx") as producer:
            await producer.begin_transaction()
            with pytest.raises(IllegalArgumentError, match="group_metadata"):
                await producer.send_offsets_to_transaction({})

    with TransactionalBroker() as broker:
        asyncio.run(main(broker))


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("then", ["the same again", "the next"])
def test_a_transaction_whose_end_was_cancelled(committed: bool, then: str) -> None:
    async def main(broker: TransactionalBroker) -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, transactional_id="tx") as producer:
            await producer.init_transactions()
            end = producer.commit_transaction if committed else producer.abort_transaction
            for again in (True, False):
                await producer.begin_transaction()
                await producer.send_and_wait("t", b"x")
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(end(), 0.02)
                broker.may_end.set()
                if then == "the next":
                    break
                if not again:  # it has ended before somebody asks
                    while len(broker.ended) < 2:
                        await asyncio.sleep(0.001)
                    await asyncio.sleep(0.01)
                await end()
                broker.may_end.clear()
            broker.may_end.set()
            await producer.begin_transaction()
            await producer.abort_transaction()
            with pytest.raises(IllegalStateError):
                await end()

    with TransactionalBroker() as broker:
        asyncio.run(main(broker))
        assert broker.ended == [committed] * (1 if then == "the next" else 2)


async def _wait(delivery: Awaitable[object]) -> object:
    return await delivery
