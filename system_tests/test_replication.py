"""Three brokers, replication factor 3: leaders go in every way, and nothing that was acknowledged with acks=all is lost."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.conftest import Note, Progress
from system_tests.services import KafkaService, Service, ZooKeeperService, wait_until

IMPATIENT = {"reconnect_backoff_max_ms": 200, "topic_metadata_refresh_interval_ms": 500}
"""librdkafka looks for a new leader by itself only every five minutes, if the old one is just gone."""


class Cluster:
    """Brokers that share a chroot."""

    def __init__(
        self, directory: Path, zookeeper: ZooKeeperService, configs: Mapping[str, object] | None = None, size: int = 3
    ) -> None:
        chroot = f"/cluster-{uuid.uuid4().hex[:8]}"
        settings = {
            "offsets.topic.replication.factor": size,
            "min.insync.replicas": 2,
            "replica.lag.time.max.ms": 5000,
            "unclean.leader.election.enable": "false",
            "auto.leader.rebalance.enable": "false",
            **(configs or {}),
        }
        self.brokers = [
            KafkaService(directory / f"broker-{broker_id}", zookeeper, settings, broker_id, chroot)
            for broker_id in range(size)
        ]

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.address for broker in self.brokers)

    def start(self) -> None:
        for broker in self.brokers:
            broker.start()

    def states(self, topic: str) -> dict[int, tuple[int, set[int]]]:
        """partition → (leader, ISR), as any of the brokers says."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return {
            p: (state.leader, set(state.isrs))
            for p, state in admin.list_topics(topic, 10).topics[topic].partitions.items()
        }

    def leader(self, topic: str, partition: int) -> KafkaService:
        wait_until(lambda: self.states(topic)[partition][0] >= 0, 30, f"{topic}-{partition} has no leader")
        return self.brokers[self.states(topic)[partition][0]]

    def wait_for_full_isr(self, topic: str, seconds: float = 30) -> float:
        """How long it took."""
        return wait_until(
            lambda: all(len(isr) == len(self.brokers) for _, isr in self.states(topic).values()),
            seconds,
            lambda: f"not all replicas of {topic} are in sync: {self.states(topic)}",
        )

    def logs(self, topic: str, partition: int) -> list[bytes]:
        """Each broker's log files, joined."""
        return [
            b"".join(path.read_bytes() for path in sorted(broker.partition_dir(topic, partition).glob("*.log")))
            for broker in self.brokers
        ]


@pytest.fixture
def cluster(tmp_path: Path, zookeeper: ZooKeeperService, services: list[Service]) -> Cluster:
    """Three running brokers."""
    made = Cluster(tmp_path, zookeeper)
    services.extend(made.brokers)
    made.start()
    return made


@pytest.mark.timeout(900)
def test_leaders_are_killed_in_turn_under_load(cluster: Cluster, kills: int, note: Note, progress: Progress) -> None:
    """kafkatest's `replication_test` with hard_bounce of the leader; in between a clean bounce."""
    create_topic(cluster.bootstrap, "t", 3, {"segment.bytes": 1 << 20}, replication=3)
    producer = AckedProducer(cluster.bootstrap, "t", 3, **IMPATIENT).start()
    slowest = 0.0
    for kill in range(1, kills + 1):
        producer.wait_for(2000)
        broker = cluster.leader("t", kill % 3)
        if kill % 3:
            broker.hard_kill()
        else:
            broker.clean_shutdown()
        producer.wait_for(500)
        broker.start()
        slowest = max(slowest, cluster.wait_for_full_isr("t"))
        progress(f"leader {kill} of {kills} is gone and back: {producer.acknowledged:,} records acknowledged")
    producer.wait_for(500)
    producer.stop()

    assert not producer.failures, producer.failures[0]
    check_log(producer, read_topic(cluster.bootstrap, "t", 3), exactly_once=True)
    cluster.wait_for_full_isr("t")
    for broker in cluster.brokers:
        broker.clean_shutdown()
    for partition in range(3):
        first, second, third = cluster.logs("t", partition)
        assert first == second == third, f"the replicas of t-{partition} differ"
    note("leaders lost", kills)
    note("records acknowledged", f"{producer.acknowledged:,}")
    note("slowest return of a replica into the ISR", f"{slowest:.1f} s")


def test_a_replica_that_is_cut_off_leaves_the_isr(cluster: Cluster) -> None:
    """kafkatest's `replication_replica_failure_test`: a follower that hangs holds nobody up for long."""
    create_topic(cluster.bootstrap, "t", 1, replication=3)
    producer = AckedProducer(cluster.bootstrap, "t", **IMPATIENT).start()
    producer.wait_for(500)
    leader = cluster.states("t")[0][0]
    with cluster.brokers[(leader + 1) % 3].paused():
        wait_until(lambda: cluster.states("t")[0][1] == {leader, (leader + 2) % 3}, 30, "the ISR does not shrink")
        producer.wait_for(500)
    cluster.wait_for_full_isr("t")
    producer.wait_for(500)
    producer.stop()
    assert not producer.failures, producer.failures[0]
    check_log(producer, read_topic(cluster.bootstrap, "t"), exactly_once=True)
