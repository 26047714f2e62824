"""Serializers that ask a registry, in the producers of all three faces: nothing blocks a loop, order holds, nothing is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import defer

pytest.importorskip("fastavro")

from kafkapy import KafkaProducer, aio, tx
from kafkapy.schemas import (
    AvroSerializer,
    SchemaRegistryClient,
    SchemaRegistryUnavailableError,
    SchemaSerializationError,
)
from tests.producing_broker import ProducingBroker
from tests.schemas.registry_server import RegistryServer
from tests.waiting import HANG_SECONDS


@pytest.fixture
def broker() -> Iterator[ProducingBroker]:
    with ProducingBroker() as broker:
        yield broker


@pytest.fixture
def options(broker: ProducingBroker, registry: SchemaRegistryClient) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.address,
        "key_serializer": AvroSerializer(registry, "string"),
        "value_serializer": AvroSerializer(registry, "long"),
    }


def encoded(number: int) -> bytes:
    return b"\x00\x00\x00\x00\x01" + bytes([number * 2])


def test_blocking(broker: ProducingBroker, options: dict[str, Any], registry: SchemaRegistryClient) -> None:
    with KafkaProducer(**options) as producer:
        producer.send("t", 1).get(HANG_SECONDS)
        producer.send("t", 2, key="k").get(HANG_SECONDS)
        producer.send_many("t", [3, 4]).get(HANG_SECONDS)
        with pytest.raises(SchemaSerializationError, match="topic t"):
            producer.send("t", "no number")
    assert broker.values == [encoded(i) for i in (1, 2, 3, 4)]
    assert registry.get_subjects() == ["t-value", "t-key"]


def test_blocking_without_a_registry(broker: ProducingBroker, options: dict[str, Any], server: RegistryServer) -> None:
    with KafkaProducer(**options) as producer:
        server.state.failures.append((503, {}))
        with pytest.raises(SchemaRegistryUnavailableError, match=server.url):
            producer.send("t", 1)
        producer.send("t", 2).get(HANG_SECONDS)
    assert broker.values == [encoded(2)]


def test_a_loop_goes_on_while_the_registry_is_asked(
    broker: ProducingBroker, options: dict[str, Any], server: RegistryServer
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def hold() -> None:
        asked.set()
        answer.wait()

    server.state.barrier = hold

    async def main() -> None:
        async with aio.KafkaProducer(**options) as producer:
            sending = asyncio.create_task(producer.send("t", 1))
            while not asked.is_set():
                await asyncio.sleep(0)
            assert not sending.done()
            answer.set()
            await (await sending)
            await producer.send_and_wait("t", 2, key="k")
            await (await producer.send_many("t", [3, 4]))
            with pytest.raises(SchemaSerializationError):
                await producer.send("t", "no number")

    asyncio.run(main())
    assert broker.values == [encoded(i) for i in (1, 2, 3, 4)]


def test_asyncio_without_a_registry(broker: ProducingBroker, options: dict[str, Any], server: RegistryServer) -> None:
    async def main() -> None:
        async with aio.KafkaProducer(**options) as producer:
            for send in (lambda: producer.send("t", 1), lambda: producer.send_many("t", [1])):
                server.state.failures.append((503, {}))
                with pytest.raises(SchemaRegistryUnavailableError, match=server.url):
                    await send()
            await producer.send_and_wait("t", 2)

    asyncio.run(main())
    assert broker.values == [encoded(2)]


@pytest_twisted.ensureDeferred
async def test_deferreds_stay_in_order(broker: ProducingBroker, options: dict[str, Any], server: RegistryServer) -> Any:
    """Records whose schemas are known wait behind one whose schema is asked for."""
    producer = await tx.KafkaProducer(**options).start()
    await producer.send("t", 0)
    answer = threading.Event()
    server.state.barrier = answer.wait
    sent: list[Any] = [producer.send("t", 1, key="k"), producer.send("t", 2), producer.send_many("t", [3, 4])]
    assert not any(deferred.called for deferred in sent)
    answer.set()
    await defer.gatherResults(sent)
    await producer.stop()
    assert broker.values == [encoded(i) for i in range(5)]


@pytest_twisted.ensureDeferred
async def test_twisted_without_a_registry(
    broker: ProducingBroker, options: dict[str, Any], server: RegistryServer
) -> Any:
    producer = await tx.KafkaProducer(**options).start()
    server.state.failures.append((503, {}))
    with pytest.raises(SchemaRegistryUnavailableError, match=server.url):
        await producer.send("t", 1)
    await producer.send("t", 2)
    await producer.stop()
    assert broker.values == [encoded(2)]
