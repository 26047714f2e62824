"""What a user of `kafkapy.tx` writes, with the types that he may rely on. It is checked, not run."""

from __future__ import annotations

from typing import assert_type

from twisted.internet.defer import Deferred

from kafkapy import OffsetAndMetadata, TopicPartition
from kafkapy.consumer import ConsumerRecord
from kafkapy.producer.future import BatchMetadata, RecordMetadata
from kafkapy.tx import KafkaConsumer, KafkaProducer

TRADES = TopicPartition("trades", 0)
Plain = ConsumerRecord[bytes | None, bytes | None]
"""What a consumer without deserializers gives."""


def produce() -> Deferred[int]:
    producer = KafkaProducer(bootstrap_servers="one:9092", enable_idempotence=False)
    assert_type(producer.start(), Deferred[KafkaProducer])
    sent = producer.send("trades", b"x", key=b"KO")
    assert_type(sent, Deferred[RecordMetadata])
    producer.send("trades", value="text")  # type: ignore[arg-type]
    assert_type(producer.send_many("trades", [b"a"]), Deferred[list[BatchMetadata]])
    return sent.addCallback(lambda metadata: metadata.offset)


async def consume() -> None:
    consumer = KafkaConsumer("trades", bootstrap_servers="one:9092", group_id="group")
    assert_type(await consumer.start(), KafkaConsumer[bytes | None, bytes | None])
    poll = consumer.poll(1000)
    assert_type(poll, Deferred[dict[TopicPartition, list[Plain]]])
    poll.addCallback(lambda records: print(sorted(records))).addErrback(print)
    assert_type(consumer.committed(TRADES, metadata=True), Deferred[OffsetAndMetadata | None])
    assert_type(await consumer.position(TRADES), int | None)
    async for record in consumer:
        assert_type(record, Plain)
        record.value.decode()  # type: ignore[union-attr]
    await consumer.stop(timeout_ms=1000)
    consumer.poll("soon")  # type: ignore[arg-type]


KafkaProducer(linger="5")  # type: ignore[call-overload]
