"""What a user of `kafkapy.aio` writes, with the types that he may rely on. It is checked, not run."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import assert_type

from kafkapy import AsyncConsumerRebalanceListener, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from kafkapy.aio import KafkaConsumer, KafkaProducer
from kafkapy.aio.producer import BatchDelivery, Delivery
from kafkapy.consumer import ConsumerRecord
from kafkapy.producer.future import RecordMetadata

TRADES = TopicPartition("trades", 0)
Plain = ConsumerRecord[bytes | None, bytes | None]
"""What a consumer without deserializers gives."""


class AsInAiokafka(ConsumerRebalanceListener):
    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await asyncio.sleep(0)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        await asyncio.sleep(0)


class Listener(AsyncConsumerRebalanceListener):
    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await asyncio.sleep(0)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        await asyncio.sleep(0)


async def produce() -> None:
    async with KafkaProducer(bootstrap_servers="one:9092", acks=1) as producer:
        delivery = await producer.send("trades", b"x", key=b"KO")
        await producer.send("trades", value="text")  # type: ignore[arg-type]
        await producer.send_and_wait("trades", b"x", key="KO")  # type: ignore[arg-type]
        assert_type(delivery, Delivery)
        assert_type(await delivery, RecordMetadata)
        assert_type(await producer.send_many("trades", [b"a", b"b"]), BatchDelivery)
        assert_type(await producer.partitions_for("trades"), set[int])


async def consume() -> None:
    async with KafkaConsumer("trades", bootstrap_servers="one:9092", group_id="group") as consumer:
        assert_type(consumer, KafkaConsumer[bytes | None, bytes | None])
        consumer.subscribe(pattern="trades.*", listener=Listener())
        async for record in consumer:
            assert_type(record, Plain)
            record.value.decode()  # type: ignore[union-attr]
        poll = asyncio.create_task(consumer.poll(1000))
        assert_type(await asyncio.wait_for(poll, 2), dict[TopicPartition, list[Plain]])
        assert_type(await consumer.getmany(TRADES, timeout_ms=10), dict[TopicPartition, list[Plain]])
        assert_type(await consumer.getone(TRADES), Plain)
        consumer.poll(1000)  # type: ignore[unused-coroutine]
        assert_type(await consumer.committed(TRADES), int | None)
        assert_type(await consumer.committed(TRADES, metadata=True), OffsetAndMetadata | None)
        assert_type(await consumer.topics(), set[str])
        await consumer.commit({TRADES: OffsetAndMetadata(3)})
        await consumer.commit({TRADES: 3})
        await consumer.commit({TRADES: (3, "mine")})
        assert_type(await consumer.seek_to_end(TRADES), bool)
        assert_type(consumer.partitions_for_topic("trades"), set[int] | None)
        await consumer.stop(autocommit="no")  # type: ignore[arg-type]


KafkaConsumer(group="g")  # type: ignore[call-overload]
