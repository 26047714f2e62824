"""Three brokers, replication factor 3: leaders and controllers go in every way, replicas hang, and nothing that was
acknowledged with acks=all is lost.

kafkatest's `replication_test` and `replication_replica_failure_test`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note, Progress
from system_tests.services import KafkaService
from system_tests.workload import Workload

IMPATIENT = {"reconnect_backoff_max_ms": 200, "topic_metadata_refresh_interval_ms": 500}
"""librdkafka looks for a new leader by itself only every five minutes, if the old one is just gone."""
BOUNCES = 5


@pytest.fixture
def cluster(new_cluster: NewCluster) -> Cluster:
    """Three running brokers."""
    return new_cluster(3, {"auto.leader.rebalance.enable": "false"}).start()


def _bounces(bounce: Callable[[KafkaService], float]) -> Callable[[Cluster, Callable[[], int]], None]:
    def do(cluster: Cluster, victim: Callable[[], int]) -> None:
        """The one that leads then, each time; the others have caught up before."""
        for _ in range(BOUNCES):
            bounce(cluster.brokers[victim()])
            cluster.wait_until_healthy()

    return do


FAILURES: dict[str, Callable[[Cluster, Callable[[], int]], object]] = {
    "clean_shutdown": lambda cluster, victim: cluster.brokers[victim()].clean_shutdown(),
    "hard_shutdown": lambda cluster, victim: cluster.brokers[victim()].hard_kill(),
    "clean_bounce": _bounces(KafkaService.clean_bounce),
    "hard_bounce": _bounces(KafkaService.hard_bounce),
}


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("broker_type", ["leader", "controller"])
@pytest.mark.parametrize("failure_mode", FAILURES)
def test_replication_with_broker_failure(
    cluster: Cluster, failure_mode: str, broker_type: str, tmp_path: Path, note: Note
) -> None:
    """A broker goes for good, or comes back five times, under producers and a group; what it led is led by others."""
    work = Workload(cluster.bootstrap, "test", topics={"test_topic": 3}, replication=3)
    try:
        work.start()
        victim = cluster.controller if broker_type == "controller" else lambda: cluster.leader("test_topic")
        FAILURES[failure_mode](cluster, victim)
        note("progress after", f"{work.wait_for_progress():.1f} s")
        work.wait_until_settled()
        verdict = work.judge(tmp_path)
    finally:
        work.abandon()
    note("history", f"{verdict.acknowledged:,} acknowledged, {verdict.polled:,} polled, no anomaly")


@pytest.mark.timeout(900)
def test_leaders_are_killed_in_turn_under_load(cluster: Cluster, kills: int, note: Note, progress: Progress) -> None:
    """In between a clean shutdown; at the end the replicas are the same, byte by byte."""
    create_topic(cluster.bootstrap, "t", 3, {"segment.bytes": 1 << 20}, replication=3)
    producer = AckedProducer(cluster.bootstrap, "t", 3, **IMPATIENT).start()
    slowest = 0.0
    for kill in range(1, kills + 1):
        producer.wait_for(2000)
        broker = cluster.brokers[cluster.leader("t", kill % 3)]
        if kill % 3:
            broker.hard_kill()
        else:
            broker.clean_shutdown()
        producer.wait_for(500)
        broker.start()
        slowest = max(slowest, cluster.wait_for_isr("t"))
        progress(f"leader {kill} of {kills} is gone and back: {producer.acknowledged:,} records acknowledged")
    producer.wait_for(500)
    producer.stop()

    assert not producer.failures, producer.failures[0]
    check_log(producer, read_topic(cluster.bootstrap, "t", 3), exactly_once=True)
    cluster.wait_for_isr("t")
    for broker in cluster.brokers:
        broker.clean_shutdown()
    for partition in range(3):
        first, second, third = cluster.logs("t", partition)
        assert first == second == third, f"the replicas of t-{partition} differ"
    note("leaders lost", kills)
    note("records acknowledged", f"{producer.acknowledged:,}")
    note("slowest return of a replica into the ISR", f"{slowest:.1f} s")


@pytest.mark.parametrize("failure", ["pause", pytest.param("partition", marks=pytest.mark.long)])
def test_replication_with_replica_failure(cluster: Cluster, failure: str, note: Note) -> None:
    """A follower that hangs, or that nobody reaches, leaves the ISR and holds nobody up for long."""
    create_topic(cluster.bootstrap, "t", 1, replication=3)
    producer = AckedProducer(cluster.bootstrap, "t", **IMPATIENT).start()
    producer.wait_for(500)
    follower = (cluster.leader("t") + 1) % 3
    if failure == "pause":
        cluster.brokers[follower].pause()
    else:
        cluster.network.partition(follower, ("brokers", "zookeeper", "clients"))
    note("out of the ISR after", f"{cluster.wait_for_isr('t', without=follower):.1f} s")
    producer.wait_for(500)
    cluster.heal()
    note("back after", f"{cluster.wait_for_isr('t'):.1f} s")
    producer.wait_for(500)
    producer.stop()
    assert not producer.failures, producer.failures[0]
    check_log(producer, read_topic(cluster.bootstrap, "t"), exactly_once=True)
