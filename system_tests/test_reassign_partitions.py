"""kafkatest's `reassign_partitions_test` and `throttling_test`: partitions move to other brokers under load."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from system_tests.clients import AckedProducer, create_topic, delete_records, fill
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note
from system_tests.reassignment import Reassignment
from system_tests.workload import Workload

PARTITIONS = 20


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("from_offset_zero", [True, False], ids=["from-zero", "from-later"])
@pytest.mark.parametrize("bounce_brokers", [False, True], ids=["", "bounces"])
def test_reassign_partitions(
    new_cluster: NewCluster, bounce_brokers: bool, from_offset_zero: bool, tmp_path: Path, note: Note
) -> None:
    """20 partitions change their replicas among four brokers; min.insync.replicas = 3 lets no replica be missed."""
    cluster = new_cluster(4).start()
    configs = {"min.insync.replicas": 3}
    create_topic(cluster.bootstrap, "test_topic", PARTITIONS, configs, replication=3)
    if not from_offset_zero:
        AckedProducer(cluster.bootstrap, "test_topic", PARTITIONS).send(100 * PARTITIONS)
        delete_records(cluster.bootstrap, "test_topic", 100, PARTITIONS)
    work = Workload(cluster.bootstrap, topics={"test_topic": PARTITIONS})
    try:
        work.start()
        moves = shuffled(cluster, "test_topic", Random(f"{bounce_brokers} {from_offset_zero}"))
        reassignment = Reassignment(cluster, "test_topic", moves)
        reassignment.execute()
        if bounce_brokers:
            for broker in cluster.brokers[::2]:
                broker.clean_bounce()
        note("moved after", f"{reassignment.wait_until_complete():.1f} s")
        work.wait_for_progress()
        verdict = work.judge(tmp_path, allowed=() if from_offset_zero else ("gap",))
    finally:
        work.abandon()
    cluster.wait_until_healthy()
    note("history", f"{verdict.acknowledged:,} acknowledged, {verdict.polled:,} polled, no anomaly")


def shuffled(cluster: Cluster, topic: str, chance: Random) -> dict[int, list[int]]:
    """Each partition gets the replicas of another."""
    replicas = [view.replicas for _, view in sorted(cluster.partitions(topic).items())]
    chance.shuffle(replicas)
    return dict(enumerate(replicas))


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("bounce_brokers", [False, True], ids=["", "bounces"])
def test_throttled_reassignment(new_cluster: NewCluster, bounce_brokers: bool, tmp_path: Path, note: Note) -> None:
    """Partitions of a known size move to a broker that has none of them, as slowly as the throttle says."""
    size, throttle = 16 << 20, 2 << 20
    cluster = new_cluster(4, {"min.insync.replicas": 1}).start()
    create_topic(cluster.bootstrap, "test_topic", 3, {"segment.bytes": 8 << 20}, replication=2)
    first = {0: [0, 1], 1: [1, 2], 2: [2, 0]}
    if {p: view.replicas for p, view in cluster.partitions("test_topic").items()} != first:
        placed = Reassignment(cluster, "test_topic", first)
        placed.execute()
        placed.wait_until_complete()
    fill(cluster.bootstrap, "test_topic", 3, size)
    work = Workload(cluster.bootstrap, topics={"other_topic": 3}, replication=2)
    try:
        work.start()
        reassignment = Reassignment(cluster, "test_topic", {p: [3, replicas[1]] for p, replicas in first.items()})
        reassignment.execute(throttle)
        begin = time.monotonic()
        if bounce_brokers:
            for broker in cluster.brokers[::2]:
                broker.clean_bounce()
        expected = 3 * size / throttle
        reassignment.wait_until_complete(seconds=2 * expected)
        took = time.monotonic() - begin
        note("moved after", f"{took:.1f} s (expected {expected:.0f} s)")
        assert took >= 0.9 * expected
        work.wait_for_progress()
        work.judge(tmp_path)
    finally:
        work.abandon()
