"""What a user of `kafkapy` writes, with the types that he may rely on. It is checked, not run."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, assert_type, cast

import kafkapy
from kafkapy import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafkapy.clients.client_options import AutoOffsetReset
from kafkapy.consumer import ConsumerRecord
from kafkapy.consumer.assignors import CooperativeStickyAssignor
from kafkapy.helpers import DeadLetterTopic, copy_topic, tail, wait_for_broker
from kafkapy.producer.future import FutureBatchMetadata, FutureRecordMetadata, RecordMetadata
from kafkapy.structs import OffsetAndTimestamp

TRADES = TopicPartition("trades", 0)


class Listener(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        print("gone", revoked)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        print("new", assigned)


def produce() -> None:
    with KafkaProducer(
        bootstrap_servers=["one:9092", "two:9092"],
        value_serializer=lambda value: json.dumps(value).encode(),
        acks="all",
        linger_ms=5,
        compression_type="zstd",
        transactional_id="trades",
    ) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        future = producer.send("trades", {"price": 3}, key=b"KO", headers=[("from", b"here")])
        assert_type(future, FutureRecordMetadata)
        assert_type(future.get(timeout=10), RecordMetadata)
        future.add_callback(lambda metadata: print(metadata.offset)).add_errback(print)
        assert_type(producer.send_many("trades", [b"a", b"b"]), FutureBatchMetadata)
        assert_type(producer.partitions_for("trades"), set[int])
        producer.send_offsets_to_transaction({TRADES: OffsetAndMetadata(3)}, "group")
        try:
            producer.commit_transaction()
        except kafkapy.errors.KafkaTimeoutError as error:
            assert_type(error.retriable, bool)
            raise kafkapy.errors.KafkaError("too late") from error
        producer.send("trades", b"x", partition="0")  # type: ignore[arg-type]
        producer.sned("trades", b"x")  # type: ignore[attr-defined]


def consume() -> None:
    with KafkaConsumer(
        "trades",
        bootstrap_servers="one:9092",
        group_id="group",
        auto_offset_reset="earliest",
        value_deserializer=json.loads,
        deserialization_policy=DeadLetterTopic("dead", bootstrap_servers="one:9092"),
        partition_assignment_strategy=[CooperativeStickyAssignor],
        consumer_timeout_ms=1000,
    ) as consumer:
        consumer.subscribe(["trades"], listener=Listener())
        records = consumer.poll(1000, max_records=10)
        assert_type(records, dict[TopicPartition, list[ConsumerRecord[bytes | None, Any]]])
        for record in consumer:
            assert_type(record.offset, int)
            KafkaProducer().send("copies", record.value, record.key, headers=record.headers)
            KafkaProducer().send_many("copies", [record.value], headers=[record.headers, None])
        assert_type(consumer.position(TRADES), int | None)
        assert_type(consumer.committed(TRADES), int | None)
        assert_type(consumer.committed(TRADES, metadata=True), OffsetAndMetadata | None)
        assert_type(consumer.end_offsets([TRADES]), dict[TopicPartition, int])
        assert_type(consumer.offsets_for_times({TRADES: 0}), dict[TopicPartition, OffsetAndTimestamp | None])
        consumer.commit({TRADES: OffsetAndMetadata(3)})
        consumer.commit_async(callback=lambda offsets, outcome: print(sorted(offsets), outcome))
        consumer.subscribe("trades", listener=print)  # type: ignore[arg-type]


def without_serializers(settings: dict[str, Any]) -> None:
    """Bytes go in, and come out if they are there."""
    producer = KafkaProducer(bootstrap_servers="one:9092")
    producer.send("trades", value=b"x", key=bytearray(b"k"))
    producer.send("trades", value="text")  # type: ignore[arg-type]
    producer.send("trades", b"x", key="KO")  # type: ignore[arg-type]
    KafkaProducer(key_serializer=str.encode).send("trades", value="text", key="KO")  # type: ignore[arg-type]
    KafkaProducer(value_serializer=str.encode).send("trades", value="text", key="KO")  # type: ignore[arg-type]
    KafkaProducer(value_serializer=lambda value: json.dumps(value).encode()).send("trades", {"price": 3})
    KafkaProducer(**settings).send("trades", {"price": 3}, key="KO")
    for record in KafkaConsumer("trades", bootstrap_servers="one:9092"):
        assert_type(record.value, bytes | None)
        record.value.decode()  # type: ignore[union-attr]
        if record.value is not None:
            print(record.value.decode())
    for named in KafkaConsumer("trades", key_deserializer=bytes.decode):
        assert_type(named.key, str)
        named.value.decode()  # type: ignore[union-attr]
    for anything in KafkaConsumer("trades", **settings):
        anything.value.whatever()


def help_oneself() -> None:
    for record in tail("trades", 10, follow=False, bootstrap_servers="one:9092", value_deserializer=int):
        assert_type(record, ConsumerRecord[Any, int])
    assert_type(copy_topic("a", "b", bootstrap_servers="one:9092", isolation_level="read_committed"), int)
    wait_for_broker(bootstrap_server="one:9092")  # type: ignore[call-arg]
    DeadLetterTopic("dead", acks="some")  # type: ignore[arg-type]


KafkaConsumer(group="g")  # type: ignore[call-overload]
KafkaConsumer(deserialization_policy="ignore")  # type: ignore[call-overload]
KafkaConsumer(auto_offset_reset="earlist")  # type: ignore[call-overload]
KafkaConsumer(isolation_level="read_commited")  # type: ignore[call-overload]
KafkaConsumer(security_protocol="TLS", sasl_mechanism="SCRAM")  # type: ignore[call-overload]
KafkaProducer(linger_ms="5")  # type: ignore[call-overload]
KafkaProducer(acks=2)  # type: ignore[call-overload]
KafkaProducer(compression_type="gz")  # type: ignore[call-overload]
kafkapy.KafkaConsummer()  # type: ignore[attr-defined]


def words_of_a_configuration(settings: dict[str, str], any_options: dict[str, Any]) -> None:
    """Where a value comes as a plain `str`."""
    KafkaConsumer(auto_offset_reset=settings["reset"])  # type: ignore[call-overload]
    KafkaConsumer(auto_offset_reset=cast(AutoOffsetReset, settings["reset"]))
    KafkaConsumer("trades", **any_options)
    KafkaProducer(**any_options)
    reset: AutoOffsetReset = "earliest"
    KafkaConsumer(auto_offset_reset=reset)


def generic_types() -> None:
    """Keys and values have the types that the serializers say; without any, and in a plain annotation, any."""
    texts = KafkaProducer(key_serializer=str.encode, value_serializer=text_of)
    assert_type(texts, KafkaProducer[str, int])
    texts.send("numbers", 1, "key")
    texts.send("numbers", None, "key")
    texts.send("numbers", "one", "key")  # type: ignore[arg-type]
    numbers = KafkaConsumer("numbers", key_deserializer=bytes.decode, value_deserializer=int)
    for record in numbers:
        assert_type(record, ConsumerRecord[str, int])
        assert_type(record.key, str)
        assert_type(record.value + 1, int)
    takes_any_consumer(numbers)
    takes_any_consumer(KafkaConsumer())
    takes_any_producer(texts)
    takes_any_producer(KafkaProducer())


def text_of(number: int) -> bytes:
    return str(number).encode()


def takes_any_consumer(consumer: KafkaConsumer) -> None:
    for record in consumer:
        record.value.anything()


def takes_any_producer(producer: KafkaProducer) -> None:
    producer.send("topic", object(), 3)
