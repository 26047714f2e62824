"""kafkatest's `truncation_test`: a stale replica is made leader, and consumers learn that records are gone (KIP-320)."""

from __future__ import annotations

import pytest

from kafkapy import KafkaConsumer, KafkaProducer
from system_tests.clients import create_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note
from system_tests.recording_clients import IMPATIENT
from system_tests.services import wait_until

TOPIC = "test_topic"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_offset_truncate(new_cluster: NewCluster, note: Note) -> None:
    """The consumer goes back to where its log and the new leader's part, not to the beginning, and reads no record twice."""
    cluster = new_cluster(3, {"unclean.leader.election.enable": "false"}).start()
    create_topic(cluster.bootstrap, TOPIC, 1, {"min.insync.replicas": 1}, replication=2)
    leader = cluster.leader(TOPIC)
    (follower,) = set(cluster.partitions(TOPIC)[0].replicas) - {leader}

    consumer = KafkaConsumer(
        TOPIC,
        bootstrap_servers=cluster.bootstrap,
        group_id="truncation-test",
        auto_offset_reset="earliest",
        **IMPATIENT,
    )
    values: list[bytes] = []
    offsets: list[int] = []

    def read(count: int) -> None:
        """Until there are `count` more values."""
        goal = len(values) + count

        def enough() -> bool:
            for records in consumer.poll(timeout_ms=200).values():
                values.extend(record.value for record in records)
                offsets.extend(record.offset for record in records)
            return len(values) >= goal

        wait_until(enough, 60, lambda: f"{goal} records are read (there are {len(values)})")

    with consumer:
        produce(cluster, b"both", 20)
        read(20)
        cluster.brokers[follower].clean_shutdown()
        cluster.wait_for_isr(TOPIC, without=follower)
        produce(cluster, b"leader", 15)
        read(15)
        cluster.brokers[leader].hard_kill()
        cluster.brokers[follower].start()
        assert cluster.partitions(TOPIC)[0].leader == -1, "a replica that is not in sync has become leader"

        cluster.tool(
            "configs", "--alter", "--entity-type", "topics", "--entity-name", TOPIC,
            "--add-config", "unclean.leader.election.enable=true",
        )  # fmt: skip
        wait_until(lambda: cluster.partitions(TOPIC)[0].leader == follower, 30, "the stale replica leads")
        produce(cluster, b"stale", 5)
        read(5)
        assert values[35:] == [b"stale-%d" % number for number in range(5)]
        assert offsets[35:] == list(range(20, 25)), "where the logs part"
        assert len(set(values)) == len(values), "a record was read twice"

        cluster.brokers[leader].start()
        cluster.wait_for_isr(TOPIC)
        produce(cluster, b"again", 5)
        read(5)
    expected = [value for value in values if not value.startswith(b"leader")]
    assert read_all(cluster) == expected
    for broker in cluster.brokers:
        broker.clean_shutdown()
    first, second = cluster.logs(TOPIC, 0)
    assert first == second, "the replicas differ"
    note("records truncated", len(values) - len(expected))


def produce(cluster: Cluster, name: bytes, count: int) -> None:
    with KafkaProducer(bootstrap_servers=cluster.bootstrap, **IMPATIENT) as producer:
        for number in range(count):
            producer.send(TOPIC, b"%s-%d" % (name, number)).get(timeout=60)


def read_all(cluster: Cluster) -> list[bytes]:
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap, group_id="group2", **IMPATIENT) as consumer:
        return [bytes(value.as_py()) for value in consumer.to_arrow(TOPIC)["value"]]
