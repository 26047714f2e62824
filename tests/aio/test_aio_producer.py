from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator

import pytest

from kafkapy.aio import KafkaProducer
from kafkapy.errors import IllegalStateError, KafkaTimeoutError, TopicAuthorizationFailedError
from tests.producing_broker import ProducingBroker


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
                await producer.send("t", "text")

    asyncio.run(main())


def test_little_memory_holds_the_sender_back(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, buffer_memory=5000, batch_size=1000) as producer:
            for i in range(200):
                await producer.send("t", b"%03d" % i + bytes(97))
            await producer.flush()
            assert len(broker.values) == 200

    asyncio.run(main())


def test_a_cancelled_wait_cancels_no_delivery(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=broker.address, linger_ms=200) as producer:
            delivery = await producer.send("t", b"x")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(_wait(delivery), 0.01)
            assert (await delivery).offset == 0

    asyncio.run(main())


async def _wait(delivery: Awaitable[object]) -> object:
    return await delivery
