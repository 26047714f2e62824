"""kafkatest's `fetch_from_follower_test` (KIP-392): a consumer reads from the replica in its own rack."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from kafkapy import KafkaConsumer
from system_tests.clients import create_topic, fill
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note
from system_tests.recording_clients import IMPATIENT
from system_tests.services import wait_until

TOPIC = "test_topic"
SIZE = 4 << 20


@pytest.fixture
def cluster(new_cluster: NewCluster) -> Cluster:
    """Three brokers, each in a rack of its own, with a topic of one partition of `SIZE` bytes."""
    cluster = new_cluster(3, {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"})
    for broker in cluster.brokers:
        broker.properties["broker.rack"] = f"rack-{broker.broker_id}"
    cluster.start()
    create_topic(cluster.bootstrap, TOPIC, 1, replication=3)
    fill(cluster.bootstrap, TOPIC, 1, SIZE)
    return cluster


def read_by_kafkapy(cluster: Cluster, rack: str) -> int:
    """The number of bytes of values."""
    size = 0
    with KafkaConsumer(
        TOPIC, bootstrap_servers=cluster.bootstrap, client_rack=rack, auto_offset_reset="earliest", **IMPATIENT
    ) as consumer:

        def read_on() -> bool:
            nonlocal size
            for records in consumer.poll(timeout_ms=200).values():
                size += sum(len(record.value) for record in records)
            return size >= SIZE

        wait_until(read_on, 60, lambda: f"{SIZE} bytes are read (there are {size})")
    return size


def read_by_librdkafka(cluster: Cluster, rack: str) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": rack,
            "client.rack": rack,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([TOPIC])
    size = 0

    def read_on() -> bool:
        nonlocal size
        size += sum(len(message.value() or b"") for message in consumer.consume(100, timeout=0.2))
        return size >= SIZE

    wait_until(read_on, 60, lambda: f"{SIZE} bytes are read (there are {size})")
    consumer.close()
    return size


@pytest.mark.long
@pytest.mark.parametrize("read", [read_by_kafkapy, read_by_librdkafka])
def test_consumer_preferred_read_replica(cluster: Cluster, read: object, note: Note) -> None:
    """Nearly all bytes come from the replica in the rack; without one in the rack, from the leader."""
    assert callable(read)
    leader = cluster.leader(TOPIC)
    near = (leader + 1) % 3
    for rack, expected in ((f"rack-{near}", near), ("nowhere", leader)):
        before = [lines.clients.bytes_to_clients for lines in cluster.lines]
        size = read(cluster, rack)
        sent = [lines.clients.bytes_to_clients - b for lines, b in zip(cluster.lines, before, strict=True)]
        assert sent[expected] > 0.95 * size, f"{size} bytes for {rack} came from {sent} (leader {leader})"
        assert sum(sent) - sent[expected] < 0.3 * size, f"{size} bytes for {rack} came from {sent} (leader {leader})"
        note(rack, f"bytes from each broker: {sent}")
