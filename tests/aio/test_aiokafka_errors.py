"""Exceptions that programs of aiokafka catch by name are caught by that name."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import aiokafka.errors
import pytest

from kafkapy import aio
from kafkapy.aio import errors
from kafkapy.protocol.api_keys import ApiKey
from tests.producing_broker import ProducingBroker


@pytest.fixture
def broker() -> Iterator[ProducingBroker]:
    with ProducingBroker() as broker:
        yield broker


def _classes() -> dict[str, type[BaseException]]:
    return {
        name: found
        for name, found in vars(aiokafka.errors).items()
        if inspect.isclass(found) and issubclass(found, BaseException)
    }


def test_each_class_is_there_and_is_what_it_is_there() -> None:
    theirs = _classes()
    ours = {name: getattr(errors, name) for name in theirs}
    for name, found in theirs.items():
        bases = {base for base in theirs if issubclass(found, theirs[base])}
        assert [base for base in sorted(bases) if not issubclass(ours[name], ours[base])] == [], name


@pytest.mark.parametrize("face", [aio.AIOKafkaProducer, aio.AIOKafkaConsumer, aio.AIOKafkaAdminClient])
def test_no_broker(face: Any) -> None:
    async def main() -> None:
        client = face(bootstrap_servers="127.0.0.1:1", request_timeout_ms=20)
        for caught in (errors.KafkaConnectionError, errors.KafkaTimeoutError, errors.NoBrokersAvailable):
            with pytest.raises(caught):
                await client.start()
        await client.stop()

    asyncio.run(main())


def test_a_topic_that_does_not_come(broker: ProducingBroker) -> None:
    broker.unknown_error = 3

    async def main() -> None:
        async with aio.AIOKafkaProducer(bootstrap_servers=broker.address, max_block_ms=20) as producer:
            for caught in (errors.UnknownTopicOrPartitionError, errors.KafkaTimeoutError):
                with pytest.raises(caught, match="no topic missing"):
                    await producer.send("missing", b"x")

    asyncio.run(main())


def test_a_broker_that_says_nothing(broker: ProducingBroker) -> None:
    async def main() -> None:
        async with aio.AIOKafkaAdminClient(bootstrap_servers=broker.address, request_timeout_ms=100) as admin:
            broker.handlers[ApiKey.METADATA] = lambda request: b""
            for caught in (errors.RequestTimedOutError, errors.KafkaTimeoutError):
                with pytest.raises(caught, match="timed out after 100 ms"):
                    await admin.list_topics()

    asyncio.run(main())


def test_what_is_stopped_or_not_started(broker: ProducingBroker) -> None:
    async def main() -> None:
        producer = aio.AIOKafkaProducer(bootstrap_servers=broker.address)
        consumer = aio.AIOKafkaConsumer(bootstrap_servers=broker.address)
        await producer.start()
        await consumer.start()
        with pytest.raises(errors.IllegalOperation):
            await producer.begin_transaction()
        with pytest.raises(errors.IllegalOperation):
            await consumer.commit()
        await producer.stop()
        await consumer.stop()
        with pytest.raises(errors.ProducerClosed):
            await producer.send("t", b"x")
        with pytest.raises(errors.ConsumerStoppedError):
            await consumer.getone()

    asyncio.run(main())
