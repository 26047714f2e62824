"""kafkatest's `log_dir_failure_test`: one of a broker's two disks fails; the broker goes on with the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note
from system_tests.services import wait_until
from system_tests.workload import Workload

TOPICS = ["test_topic_1", "test_topic_2"]


@pytest.fixture
def cluster(new_cluster: NewCluster) -> Cluster:
    """Three running brokers with two log directories each, one of them on a small disk; two topics of one partition, of
    which each broker has one on each."""
    cluster = new_cluster(3)
    if not cluster.disks:
        pytest.skip("only root can mount a small file system")
    for broker in cluster.brokers:
        broker.properties["log.dirs"] = f"{broker.data},{broker.directory / 'other-disk'}"
    cluster.start()
    for topic in TOPICS:
        create_topic(cluster.bootstrap, topic, 1, replication=3)
    return cluster


def choose(cluster: Cluster, broker_type: str) -> tuple[int, str, str]:
    """(a broker that leads or follows a topic on its small disk, that topic, the topic on its other disk)."""
    for topic, other in (TOPICS, TOPICS[::-1]):
        leader = cluster.leader(topic)
        for broker in cluster.brokers:
            leads = broker.broker_id == leader
            if leads == (broker_type == "leader") and broker.partition_dir(topic).exists():
                assert (broker.directory / "other-disk" / f"{other}-0").exists()
                return broker.broker_id, topic, other
    raise AssertionError(f"no {broker_type} has one of {TOPICS} on its small disk")


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("broker_type", ["leader", "follower"])
@pytest.mark.parametrize("bounce_broker", [False, True], ids=["", "bounce"])
def test_replication_with_disk_failure(
    cluster: Cluster, bounce_broker: bool, broker_type: str, tmp_path: Path, note: Note
) -> None:
    """The broker neither leads nor is in the ISR of what was on the disk; it lives, and serves the rest even alone."""
    victim, failing, other = choose(cluster, broker_type)
    work = Workload(cluster.bootstrap, topics={failing: 1}, replication=3)
    try:
        work.start()
        cluster.fill_disk(victim)
        if bounce_broker:
            cluster.brokers[victim].clean_bounce()
        note("out of the ISR after", f"{cluster.wait_for_isr(failing, without=victim):.1f} s")
        assert cluster.leader(failing) != victim
        assert cluster.brokers[victim].is_running
        work.wait_for_progress()
        work.wait_until_settled()
        verdict = work.judge(tmp_path)
    finally:
        work.abandon()

    configs = ("--entity-type", "topics", "--entity-name", other, "--add-config", "min.insync.replicas=1")
    cluster.tool("configs", "--alter", *configs)
    for broker in cluster.brokers:
        if broker.broker_id != victim:
            broker.clean_shutdown()
    wait_until(lambda: cluster.partitions(other)[0].isr == {victim}, 60, "the broker alone is in the ISR")
    producer = AckedProducer(cluster.bootstrap, other)
    producer.send(500)
    check_log(producer, read_topic(cluster.bootstrap, other), exactly_once=True)
    note("history", f"{verdict.acknowledged:,} acknowledged, {verdict.polled:,} polled, no anomaly")
