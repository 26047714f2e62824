"""`with producer.transaction():` blocking and on asyncio; tests/tx has Twisted's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import kafkapy.aio
from kafkapy.errors import IllegalStateError, ProducerFencedError, TransactionAbortableError
from kafkapy.protocol.errors import Errors
from tests.transactional_broker import TransactionalBroker
from tests.waiting import HANG_SECONDS


@pytest.fixture
def broker() -> Iterator[TransactionalBroker]:
    with TransactionalBroker() as broker:
        broker.may_end.set()
        yield broker


@pytest.fixture
def producer(broker: TransactionalBroker) -> Iterator[kafkapy.KafkaProducer]:
    with kafkapy.KafkaProducer(bootstrap_servers=broker.address, transactional_id="tx") as producer:
        producer.init_transactions()
        yield producer


def test_a_block_that_ends_is_committed(broker: TransactionalBroker, producer: kafkapy.KafkaProducer) -> None:
    for value in (b"a", b"b"):
        with producer.transaction() as same:
            assert same is producer
            producer.send("t", value)
    assert broker.values == [b"a", b"b"]
    assert broker.ended == [True, True]


def test_a_block_that_fails_is_aborted(broker: TransactionalBroker, producer: kafkapy.KafkaProducer) -> None:
    with pytest.raises(ZeroDivisionError), producer.transaction():
        producer.send("t", b"a").get(HANG_SECONDS)
        raise ZeroDivisionError
    assert broker.ended == [False]
    with producer.transaction():
        producer.send("t", b"b")
    assert broker.ended == [False, True]


def test_a_commit_that_fails_is_aborted(broker: TransactionalBroker, producer: kafkapy.KafkaProducer) -> None:
    broker.refusal = Errors.TRANSACTION_ABORTABLE
    with pytest.raises(TransactionAbortableError), producer.transaction():
        producer.send("t", b"a")
    assert broker.ended == [False]


def test_a_producer_that_is_fenced_hears_that_and_not_that_it_cannot_abort(
    broker: TransactionalBroker, producer: kafkapy.KafkaProducer
) -> None:
    broker.refusal = Errors.PRODUCER_FENCED
    with pytest.raises(ProducerFencedError), producer.transaction():
        producer.send("t", b"a")
    assert broker.ended == []


def test_a_transaction_needs_an_id(broker: TransactionalBroker) -> None:
    with kafkapy.KafkaProducer(bootstrap_servers=broker.address) as producer:  # noqa: SIM117
        with pytest.raises(IllegalStateError, match="transactional_id"), producer.transaction():
            raise AssertionError("the block is not entered")


def test_on_asyncio(broker: TransactionalBroker) -> None:
    async def main() -> None:
        async with kafkapy.aio.KafkaProducer(bootstrap_servers=broker.address, transactional_id="tx") as producer:
            await producer.init_transactions()
            async with producer.transaction() as same:
                assert same is producer
                await producer.send("t", b"a")
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction():
                    await producer.send_and_wait("t", b"b")
                    raise ZeroDivisionError
            broker.refusal = Errors.TRANSACTION_ABORTABLE
            with pytest.raises(TransactionAbortableError):
                async with producer.transaction():
                    await producer.send("t", b"c")

    asyncio.run(main())
    assert broker.ended == [True, False, False]
