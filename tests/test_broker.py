"""The main road on a real broker with a real ZooKeeper, walked by clients of others: librdkafka and kafka-python."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from kafkapy.common.free_ports import free_ports
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
Record = tuple[bytes | None, bytes | None]


@pytest.fixture(scope="session")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    yield process
    assert process.stop() == 0
    assert " ERROR " not in process.log()


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.address})


MakeTopic = Callable[..., str]


@pytest.fixture
def make_topic(admin: AdminClient) -> MakeTopic:
    """Makes a topic that no other test has."""

    def make(partitions: int = 1, **configs: str) -> str:
        name = f"t-{uuid.uuid4().hex[:8]}"
        config = {key.replace("_", "."): value for key, value in configs.items()}
        done(admin.create_topics([NewTopic(name, partitions, 1, config=config)]))
        return name

    return make


def done(futures: dict[Any, Any]) -> list[Any]:
    """The results of an admin call."""
    return [future.result(HANG_SECONDS) for future in futures.values()]


def write(producer: Producer, topic: str, values: list[bytes], partition: int = 0) -> list[int]:
    """The offsets that the producer is told."""
    offsets: list[int] = []
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is None:
            offsets.append(message.offset())
        else:
            errors.append(error)

    for value in values:
        producer.produce(topic, value, b"key", partition, on_delivery=delivered)
    assert producer.flush(HANG_SECONDS) == 0
    assert not errors, errors[0]
    return offsets


def produce(broker: BrokerProcess, topic: str, values: list[bytes], **config: Any) -> list[int]:
    """Write with a producer of its own."""
    return write(Producer({"bootstrap.servers": broker.address, "linger.ms": 0, **config}), topic, values)


def idempotent_writer(broker: BrokerProcess) -> Producer:
    return Producer({"bootstrap.servers": broker.address, "enable.idempotence": True, "batch.num.messages": 7})


def consumer(broker: BrokerProcess, group: str = "reader", **config: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 200,
            **config,
        }
    )


def read(broker: BrokerProcess, topic: str, count: int, partition: int = 0, **config: Any) -> list[Any]:
    """The first messages of a partition."""
    reader = consumer(broker, **{"enable.auto.commit": False, **config})
    reader.assign([TopicPartition(topic, partition, 0)])
    messages = poll(reader, count)
    reader.close()
    return messages


def poll(reader: Consumer, count: int) -> list[Any]:
    messages: list[Any] = []

    def all_came() -> bool:
        for message in reader.consume(count - len(messages), 0.5):
            assert message.error() is None, message.error()
            messages.append(message)
        return len(messages) >= count

    wait_until(all_came, lambda: f"{len(messages)} of {count} messages came")
    return messages


def values(messages: list[Any]) -> list[bytes]:
    return [message.value() for message in messages]


# -- produce and consume


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(broker: BrokerProcess, make_topic: MakeTopic, acks: str) -> None:
    topic = make_topic()
    written = [b"%d" % i for i in range(50)]
    offsets = produce(broker, topic, written, acks=acks)
    assert offsets == (list(range(50)) if acks != "0" else offsets)
    assert values(read(broker, topic, 50)) == written


def test_all_codecs_of_both_clients(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    from kafka import KafkaConsumer, KafkaProducer  # here, where its warnings of deprecation are ignored

    topic = make_topic()
    written: list[bytes] = []
    for codec in CODECS:
        batch = [b"librdkafka %s %d" % (codec.encode(), i) * 20 for i in range(20)]
        produce(broker, topic, batch, **{"compression.type": codec})
        written += batch
        other = KafkaProducer(
            bootstrap_servers=broker.address, compression_type=None if codec == "none" else codec, acks="all"
        )
        batch = [b"kafka-python %s %d" % (codec.encode(), i) * 20 for i in range(20)]
        for value in batch:
            other.send(topic, value, headers=[("codec", codec.encode())])
        other.close()
        written += batch
    assert values(read(broker, topic, len(written), **{"check.crcs": True})) == written
    reader = KafkaConsumer(
        topic,
        bootstrap_servers=broker.address,
        auto_offset_reset="earliest",
        consumer_timeout_ms=HANG_SECONDS * 1000,
    )
    messages = list(itertools.islice(reader, len(written)))
    reader.close()
    assert [message.value for message in messages] == written
    assert messages[-1].headers == [("codec", b"zstd")]


def test_idempotent_producers(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    written = [b"%d" % i for i in range(500)]
    first, second = idempotent_writer(broker), idempotent_writer(broker)
    for writer, partition in ((first, 0), (second, 1), (first, 1), (second, 0)):
        write(writer, topic, written, partition)
    for partition in (0, 1):
        assert values(read(broker, topic, 1000, partition)) == written + written


# -- groups


def test_a_group_shares_a_topic_commits_and_goes_on(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic(4)
    group = f"group of {topic}"
    writer = idempotent_writer(broker)
    for i in range(4):
        write(writer, topic, [b"%d" % (10 * i + j) for j in range(10)], i)
    members = [consumer(broker, group, **{"enable.auto.commit": False}) for _ in range(2)]
    for member in members:
        member.subscribe([topic])
    got: list[bytes] = []

    def shared() -> bool:
        for member in members:
            got.extend(values(member.consume(40, 0.1)))
        return [len(member.assignment()) for member in members] == [2, 2] and len(set(got)) == 40

    wait_until(shared)
    for member in members:
        member.commit(offsets=[TopicPartition(topic, p.partition, 10) for p in member.assignment()], asynchronous=False)
        member.close()
    write(writer, topic, [b"new"], 3)
    successor = consumer(broker, group)
    successor.subscribe([topic])
    assert values(poll(successor, 1)) == [b"new"]
    successor.close()


# -- offsets by time, deletion of records


def test_offsets_by_time(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic()
    writer = Producer({"bootstrap.servers": broker.address, "linger.ms": 0})
    now = int(time.time() * 1000)
    for i in range(5):
        writer.produce(topic, b"%d" % i, timestamp=now + 1000 * i)
        writer.flush(HANG_SECONDS)
    reader = consumer(broker)
    for timestamp, expected in ((0, 0), (now, 0), (now + 1, 1), (now + 3500, 4), (now + 5000, -1)):
        (found,) = reader.offsets_for_times([TopicPartition(topic, 0, timestamp)], timeout=HANG_SECONDS)
        assert found.offset == expected
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), HANG_SECONDS) == (0, 5)
    reader.close()
    (message,) = read(broker, topic, 1)
    assert message.timestamp() == (TIMESTAMP_CREATE_TIME, now)


def test_records_are_deleted(broker: BrokerProcess, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(broker, topic, [b"%d" % i for i in range(10)])
    (result,) = done(admin.delete_records([TopicPartition(topic, 0, 7)]))
    assert result.low_watermark == 7
    assert values(read(broker, topic, 3)) == [b"7", b"8", b"9"]


# -- configs


def alter(admin: AdminClient, kind: ResourceType, name: str, key: str, value: str) -> None:
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    done(admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])]))


def refused(broker: BrokerProcess, topic: str, size: int) -> KafkaError | None:
    """Why a message of that size is refused; None if it isn't."""
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 0})
    producer.produce(topic, b"x" * size, on_delivery=lambda error, message: errors.append(error))
    producer.flush(HANG_SECONDS)
    (error,) = errors
    return error


def test_a_listener_comes_and_goes(broker: BrokerProcess, admin: AdminClient) -> None:
    """As one moves clients to another address without a restart (KIP-226)."""
    address = f"127.0.0.1:{free_ports(1)[0]}"

    def set_configs(operation: AlterConfigOpType = AlterConfigOpType.SET, **configs: str) -> None:
        entries = [ConfigEntry(k.replace("_", "."), v, incremental_operation=operation) for k, v in configs.items()]
        done(admin.incremental_alter_configs([ConfigResource(ResourceType.BROKER, "0", incremental_configs=entries)]))

    def addresses(bootstrap: str) -> list[str]:
        brokers = (
            AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=HANG_SECONDS).brokers
        )
        return [f"{b.host}:{b.port}" for b in brokers.values()]

    both = f"PLAINTEXT://{broker.address},SECOND://{address}"
    set_configs(listeners=both, listener_security_protocol_map="PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT")
    wait_until(lambda: _listens(address) and addresses(address) == [address])
    assert addresses(broker.address) == [broker.address]
    set_configs(listeners=f"PLAINTEXT://{broker.address}")
    wait_until(lambda: not _listens(address))
    assert addresses(broker.address) == [broker.address]
    set_configs(AlterConfigOpType.DELETE, listeners="", listener_security_protocol_map="")


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
        return True
    return False


def test_changed_configs_take_effect(broker: BrokerProcess, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert refused(broker, topic, 5000) is None
    alter(admin, ResourceType.TOPIC, topic, "max.message.bytes", "1000")

    def is_refused() -> bool:
        error = refused(broker, topic, 5000)
        return error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE

    wait_until(is_refused)
    assert refused(broker, topic, 500) is None
    other = make_topic()
    alter(admin, ResourceType.BROKER, "0", "message.max.bytes", "2000")
    wait_until(lambda: refused(broker, other, 5000) is not None)
    alter(admin, ResourceType.TOPIC, topic, "max.message.bytes", "10000")
    wait_until(lambda: refused(broker, topic, 5000) is None)
    alter(admin, ResourceType.BROKER, "0", "message.max.bytes", "1048588")
    wait_until(lambda: refused(broker, other, 5000) is None)


# -- restart and deletion


def test_all_is_there_after_a_restart(broker: BrokerProcess, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(2, segment_bytes="100000", retention_ms="86400000")
    group = f"group of {topic}"
    written = [b"%04d" % i + b"x" * 500 for i in range(1000)]
    writer = idempotent_writer(broker)
    assert write(writer, topic, written) == list(range(1000))
    done(admin.delete_records([TopicPartition(topic, 0, 10)]))
    reader = consumer(broker, group)
    reader.commit(offsets=[TopicPartition(topic, 0, 500)], asynchronous=False)
    reader.close()
    before = describe(admin, topic)

    assert broker.stop() == 0
    broker.start()

    wait_until(lambda: describe(admin, topic) == before)
    reader = consumer(broker, group)
    (committed,) = reader.committed([TopicPartition(topic, 0)], 10)
    assert committed.offset == 500
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), HANG_SECONDS) == (10, 1000)
    reader.close()
    assert values(read(broker, topic, 990)) == written[10:]
    assert write(writer, topic, [b"after"]) == [1000]


def describe(admin: AdminClient, topic: str) -> object:
    """What the broker says of a topic: its cluster, partitions, retention."""
    metadata = admin.list_topics(topic, 10)
    (configs,) = done(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
    partitions = [(p.id, p.leader, p.replicas, p.isrs) for p in metadata.topics[topic].partitions.values()]
    return metadata.cluster_id, sorted(partitions), configs["retention.ms"].value, configs["segment.bytes"].value


def test_a_deleted_topic_goes_with_its_files(broker: BrokerProcess, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(broker, topic, [b"a"])
    assert (broker.data / f"{topic}-0").is_dir()
    done(admin.delete_topics([topic]))
    wait_until(lambda: topic not in admin.list_topics(timeout=HANG_SECONDS).topics)
    wait_until(lambda: not (broker.data / f"{topic}-0").exists())
    with pytest.raises(KafkaException) as refusal:
        done(admin.delete_topics([topic]))
    assert refusal.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_topic_is_made_by_its_first_use(broker: BrokerProcess) -> None:
    topic = f"made-{uuid.uuid4().hex[:8]}"
    produce(broker, topic, [b"a"])
    assert values(read(broker, topic, 1)) == [b"a"]
