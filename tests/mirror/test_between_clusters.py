"""The dedicated mode between two brokers: records, configs, groups, and what a program asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.admin.topics import NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.consumer import KafkaConsumer
from kafkapy.mirror import MirrorClient, MirrorMaker
from kafkapy.mirror.config.maker_config import MirrorMakerConfig
from kafkapy.mirror.flow_worker import UNUSED_URL, make_flow_worker
from kafkapy.producer import KafkaProducer
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import OffsetAndMetadata, TopicPartition
from kafkapy.testing import KafkaCluster
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

T0, A0 = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
FACTORS = ("offset.storage", "status.storage", "config.storage", "checkpoints.topic", "offset-syncs.topic")


@pytest.fixture
def clusters() -> Iterator[tuple[str, str]]:
    with KafkaCluster() as source, KafkaCluster() as target:
        yield source.bootstrap_servers, target.bootstrap_servers


def maker_of(source: str, target: str) -> MirrorMaker:
    config = MirrorMakerConfig(
        {
            "clusters": "A,B",
            "A.bootstrap.servers": source,
            "B.bootstrap.servers": target,
            "A->B.enabled": "true",
            "A->B.emit.heartbeats.enabled": "false",
            "B->A.emit.heartbeats.enabled": "false",
            "A->B.sync.topic.acls.enabled": "false",
            "replication.factor": "1",
            **{f"{name}.replication.factor": "1" for name in FACTORS},
            "heartbeats.topic.replication.factor": "1",
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            "offset.lag.max": "0",
            "refresh.topics.interval.seconds": "2",
            "refresh.groups.interval.seconds": "2",
            "emit.checkpoints.interval.seconds": "1",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
        }
    )
    return MirrorMaker(config, lambda pair, failed: make_flow_worker(config, pair, UNUSED_URL, failed))


def fill(source: str) -> None:
    with AdminClient(source) as admin:
        admin.create_topics([NewTopic("orders", 1, 1, topic_configs={"retention.ms": "7654321"})])
        with KafkaProducer(bootstrap_servers=source) as producer:
            producer.send("orders", b"v", key=b"k", headers=[("h", b"1")], timestamp_ms=1000)
            producer.send("orders", None, key=b"k", timestamp_ms=2000)
        admin.alter_group_offsets("billing", {T0: OffsetAndMetadata(2)})


def copies(target: str) -> list[tuple[object, ...]]:
    with KafkaConsumer(bootstrap_servers=target, group_id=None, auto_offset_reset="earliest") as consumer:
        consumer.assign([A0])
        found = [record for records in consumer.poll(timeout_ms=5_000).values() for record in records]
    return [(each.key, each.value, list(each.headers), each.timestamp) for each in found]


def committed(admin: AdminClient) -> int | None:
    try:
        found = admin.list_group_offsets("billing").get(A0)
    except KafkaError:
        return None
    return None if found is None else found.offset


def test_a_topic_and_a_group_are_copied(clusters: tuple[str, str]) -> None:
    source, target = clusters
    fill(source)
    maker = maker_of(source, target)
    maker.start()
    try:
        with AdminClient(target) as admin:
            wait_until(lambda: committed(admin) == 2)
            (entries,) = admin.describe_configs([ConfigResource("topic", "A.orders")]).values()
    finally:
        maker.stop()
    assert not isinstance(entries, KafkaError)
    assert {entry.name: entry.value for entry in entries}["retention.ms"] == "7654321"
    assert copies(target) == [(b"k", b"v", [("h", b"1")], 1000), (b"k", None, [], 2000)]
    with MirrorClient({"bootstrap.servers": target}) as client:
        assert client.remote_topics("A") == {"A.orders"}
        assert client.remote_consumer_offsets("billing", "A", timeout_s=30)[A0].offset == 2
