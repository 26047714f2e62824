"""The helpers, against a real broker."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafkapy.admin import ConfigResource, NewTopic
from kafkapy.aio import KafkaConsumer as AioConsumer
from kafkapy.errors import MessageSizeTooLargeError, NoBrokersAvailable, UnknownTopicOrPartitionError
from kafkapy.helpers import DeadLetterTopic, copy_topic, read_in_parallel, tail, wait_for_broker
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def servers(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    wait_for_broker(bootstrap_servers=process.address)
    with KafkaAdminClient(bootstrap_servers=process.address) as admin:
        admin.create_topics([NewTopic(name, 2, 1) for name in ("from", "to", "bad", "dead")], wait_for_metadata=True)
    with KafkaProducer(bootstrap_servers=process.address) as producer:
        for number in range(20):
            producer.send("from", b"%d" % number, b"k", [("h", b"x")], number % 2, timestamp_ms=1_000 + number)
    yield process.address
    assert process.stop() == 0


def test_no_broker() -> None:
    with pytest.raises(NoBrokersAvailable):
        wait_for_broker(50, bootstrap_servers="127.0.0.1:1")


def test_the_last_records_and_then_those_that_come(servers: str) -> None:
    last = tail("from", 2, follow=False, bootstrap_servers=servers)
    assert sorted(int(record.value) for record in last) == [16, 17, 18, 19]
    following = tail("from", 1, bootstrap_servers=servers)
    assert {next(following).value, next(following).value} == {b"18", b"19"}
    following.close()  # type: ignore[attr-defined]
    with pytest.raises(UnknownTopicOrPartitionError):
        next(tail("nowhere", bootstrap_servers=servers, allow_auto_create_topics=False))


def test_a_range_of_all_partitions(servers: str) -> None:
    pytest.importorskip("pyarrow")
    table = read_in_parallel("from", 2, {0: 4, 1: 5}, bootstrap_servers=servers)
    assert table["value"].to_pylist() == [b"4", b"6", b"5", b"7", b"9"]


def test_dead_letters_on_a_thread_and_on_a_loop(servers: str) -> None:
    with KafkaProducer(bootstrap_servers=servers) as producer:
        for key, value in ((b"k", b"1"), (None, b"x"), (b"k", b"2"), (None, b"y"), (b"k", b"3")):
            producer.send("bad", value, key, [("h", b"v")], 0, timestamp_ms=5)
    policy = DeadLetterTopic("dead", bootstrap_servers=servers)
    options: dict[str, Any] = {
        "bootstrap_servers": servers,
        "auto_offset_reset": "earliest",
        "value_deserializer": int,
        "deserialization_policy": policy,
    }

    async def on_a_loop() -> list[int]:
        async with AioConsumer("bad", **options) as consumer:
            return [(await consumer.getone()).value for _ in range(3)]

    with policy, KafkaConsumer("bad", **options) as consumer:
        assert [next(consumer).value for _ in range(3)] == [1, 2, 3]
        assert asyncio.run(on_a_loop()) == [1, 2, 3]
    dead = list(tail("dead", 100, follow=False, bootstrap_servers=servers))
    assert sorted((record.key, record.value) for record in dead) == [(None, b"x")] * 2 + [(None, b"y")] * 2
    headers = dict(next(record.headers for record in dead if record.value == b"y"))
    assert headers.pop("__dlq.error") == b"ValueError: invalid literal for int() with base 10: b'y'"
    assert headers == {
        "h": b"v",
        "__dlq.topic": b"bad",
        "__dlq.partition": b"0",
        "__dlq.offset": b"3",
        "__dlq.timestamp": b"5",
        "__dlq.origin": b"value",
    }


def test_a_dead_letter_that_cannot_be_delivered_leaves_the_consumer_at_the_record(servers: str) -> None:
    with (
        DeadLetterTopic("dead", bootstrap_servers=servers, max_request_size=100) as policy,
        KafkaProducer(bootstrap_servers=servers) as producer,
    ):
        offset = producer.send("bad", bytes(1_000), partition=1).get(HANG_SECONDS).offset
        with KafkaConsumer(
            bootstrap_servers=servers,
            value_deserializer=int,
            deserialization_policy=policy,
            consumer_timeout_ms=HANG_SECONDS * 1000,
        ) as consumer:
            partition = TopicPartition("bad", 1)
            consumer.assign([partition])
            consumer.seek(partition, offset)
            with pytest.raises(MessageSizeTooLargeError):
                next(consumer)
            assert consumer.position(partition) == offset


def test_a_copy_has_all_of_each_record(servers: str) -> None:
    assert copy_topic("from", "to", bootstrap_servers=servers, isolation_level="read_committed") == 20
    there = {
        name: sorted(
            (r.partition, r.offset, r.timestamp, r.key, r.value, tuple(r.headers))
            for r in tail(name, 100, follow=False, bootstrap_servers=servers)
        )
        for name in ("from", "to")
    }
    assert len(there["to"]) == 20
    assert there["from"] == there["to"]


def test_the_target_of_a_copy_is_made_as_the_source_is(servers: str) -> None:
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_topics(
            [NewTopic("three", 3, 1, topic_configs={"cleanup.policy": "compact"})], wait_for_metadata=True
        )
        assert copy_topic("three", "three-copy", bootstrap_servers=servers) == 0
        (made,) = admin.describe_topics(["three-copy"])
        described = admin.describe_configs([ConfigResource("topic", "three-copy")])["topic"]["three-copy"]
    assert len(made["partitions"]) == 3
    assert {name: config["value"] for name, config in described.items()} == {"cleanup.policy": "compact"}
    with pytest.raises(ValueError, match=r"Topic three has 3 partition\(s\), and from has 2"):
        copy_topic("from", "three", bootstrap_servers=servers)
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic("not-compacted", 3, 1)], wait_for_metadata=True)
    with pytest.raises(ValueError, match=r"cleanup.policy of topic not-compacted is delete, of three compact"):
        copy_topic("three", "not-compacted", bootstrap_servers=servers)
    assert copy_topic("three", "not-compacted", same_configs=False, bootstrap_servers=servers) == 0
    with pytest.raises(ValueError, match="copied to itself"):
        copy_topic("from", "from", bootstrap_servers=servers)
    with pytest.raises(UnknownTopicOrPartitionError, match="no topic nowhere"):
        copy_topic("nowhere", "to", bootstrap_servers=servers)
