from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import defer
from twisted.python import threadable

from kafkapy import TopicPartition
from kafkapy.errors import (
    IllegalStateError,
    KafkaTimeoutError,
    RecordDeserializationError,
    TopicAuthorizationFailedError,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.tx import KafkaAdminClient, KafkaConsumer, KafkaProducer
from tests.producing_broker import ProducingBroker
from tests.transactional_broker import TransactionalBroker


@pytest.fixture
def broker() -> Iterator[ProducingBroker]:
    with ProducingBroker() as broker:
        yield broker


@pytest_twisted.ensureDeferred
async def test_deferreds_fire_with_the_delivery_in_order(broker: ProducingBroker) -> Any:
    producer = await KafkaProducer(bootstrap_servers=broker.address).start()
    deferreds = [producer.send("t", b"%d" % i) for i in range(500)]  # the topic isn't known yet
    deferreds += [producer.send("t", b"%d" % i) for i in range(500, 1000)]
    results = await defer.gatherResults(deferreds)
    assert [metadata.offset for metadata in results] == list(range(1000))
    assert broker.values == [b"%d" % i for i in range(1000)]
    assert [batch.offset for batch in await producer.send_many("t", [b"a", b"b"])] == [1000]
    assert await producer.partitions_for("t") == {0}
    last = producer.send("t", b"last")
    await producer.stop()
    assert (await last).offset == 1002


@pytest_twisted.ensureDeferred
async def test_a_consumer_that_has_started_is_given_back(broker: ProducingBroker) -> Any:
    made = KafkaConsumer(bootstrap_servers=broker.address)
    assert await made.start() is made
    await made.stop()


@pytest_twisted.ensureDeferred
async def test_async_with_connects_and_closes(broker: ProducingBroker) -> Any:
    async with KafkaProducer(bootstrap_servers=broker.address) as producer:
        last = producer.send("t", b"last")
    assert (await last).offset == 0
    with pytest.raises(IllegalStateError):
        await producer.send("t", b"late")
    async with KafkaConsumer(bootstrap_servers=broker.address) as consumer:
        assert consumer.subscription() is None
    with pytest.raises(IllegalStateError):
        await consumer.poll()
    async with KafkaAdminClient(bootstrap_servers=broker.address) as admin:
        assert (await admin.list_topics()) == []


@pytest_twisted.ensureDeferred
async def test_a_policy_for_what_cannot_be_read_does_not_hold_up_the_reactor(broker: ProducingBroker) -> Any:
    builder = MemoryRecordsBuilder()
    for value in (b"1", b"x", b"2"):
        builder.append(0, None, value)
    records = builder.build()

    def fetch(request: FetchRequest) -> FetchResponse:
        wanted = request.topics[0].partitions[0].fetch_offset
        data = FetchResponse.PartitionData(partition_index=0, high_watermark=3, records=records if wanted < 3 else b"")
        return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[data])])

    heard: list[tuple[int, bytes | None, bool]] = []

    def policy(error: RecordDeserializationError) -> None:
        heard.append((error.offset, error.value_buffer, threadable.isInIOThread()))  # type: ignore[no-untyped-call]

    broker.handlers[ApiKey.FETCH] = fetch
    options: dict[str, Any] = {"deserialization_policy": policy, "enable_incremental_fetch_sessions": False}
    async with KafkaConsumer(bootstrap_servers=broker.address, value_deserializer=int, **options) as consumer:
        partition = TopicPartition("t", 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        assert [record.value for record in (await consumer.poll(5_000))[partition]] == [1]
        assert [record.value for record in (await consumer.poll(5_000))[partition]] == [2]
    assert heard == [(1, b"x", False)]


@pytest_twisted.ensureDeferred
async def test_a_listener_goes_on_without_a_cancelled_poll(broker: ProducingBroker) -> Any:
    async with KafkaConsumer(bootstrap_servers=broker.address) as consumer:
        release: defer.Deferred[None] = defer.Deferred()
        ended = consumer._core.call_user(lambda: release)
        poll = consumer.poll(10_000)
        poll.cancel()
        with pytest.raises(defer.CancelledError):
            await poll
        assert not ended.done
        waiting = consumer.poll(0)
        assert not waiting.called
        release.callback(None)
        assert ended.result() is None
        assert (await waiting) == {}


@pytest_twisted.ensureDeferred
async def test_little_memory(broker: ProducingBroker) -> Any:
    producer = await KafkaProducer(bootstrap_servers=broker.address, buffer_memory=5000, batch_size=1000).start()
    deferreds = [producer.send("t", b"%03d" % i + bytes(97)) for i in range(300)]
    await producer.flush()
    assert all(deferred.called for deferred in deferreds)
    assert [value[:3] for value in broker.values if value] == [b"%03d" % i for i in range(300)]
    await producer.stop()


@pytest_twisted.ensureDeferred
async def test_errors_come_through_deferreds(broker: ProducingBroker) -> Any:
    with pytest.raises(KafkaTimeoutError):
        await KafkaProducer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=100).start()
    producer = KafkaProducer(bootstrap_servers=broker.address)
    with pytest.raises(IllegalStateError):
        await producer.send("t", b"early")
    await producer.start()
    with pytest.raises(TopicAuthorizationFailedError):
        await producer.send("secret", b"x")
    with pytest.raises(TypeError):
        await producer.send("t", "text")  # type: ignore[arg-type]
    with pytest.raises(IllegalStateError):
        await producer.begin_transaction()
    await producer.stop()


@pytest_twisted.ensureDeferred
async def test_a_block_is_a_transaction() -> Any:
    with TransactionalBroker() as broker:
        broker.may_end.set()
        await _two_transactions(broker)
        assert broker.ended == [True, False]


async def _two_transactions(broker: TransactionalBroker) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.address, transactional_id="tx")
    await producer.start()
    await producer.init_transactions()
    async with producer.transaction():
        await producer.send("t", b"a")
    with pytest.raises(ZeroDivisionError):
        async with producer.transaction():
            await producer.send("t", b"b")
            raise ZeroDivisionError
    await producer.stop()
