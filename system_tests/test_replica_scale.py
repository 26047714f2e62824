"""kafkatest's `replica_scale_test`: 50 topics of 34 partitions, each on three brokers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from system_tests.clients import create_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note, Progress
from system_tests.workload import Workload

TOPICS, PARTITIONS = 50, 34


@pytest.fixture
def cluster(new_cluster: NewCluster) -> Cluster:
    """Three brokers with 5,100 replicas."""
    cluster = new_cluster(3).start()
    with ThreadPoolExecutor(5) as pool:
        for number in range(TOPICS):
            pool.submit(create_topic, cluster.bootstrap, f"topic-{number}", PARTITIONS, None, 120, 3)
    return cluster


@pytest.mark.long
@pytest.mark.timeout(900)
def test_produce_consume_and_clean_bounce(cluster: Cluster, tmp_path: Path, note: Note, progress: Progress) -> None:
    """Clients work on two of the topics while each broker is bounced; all replicas are in sync after each bounce."""
    note("all in sync after creation", f"{cluster.wait_until_healthy(300):.1f} s")
    work = Workload(cluster.bootstrap, topics={"topic-0": PARTITIONS, "topic-1": PARTITIONS})
    try:
        work.start()
        work.wait_for_progress(1000)
        for broker in cluster.brokers:
            served = broker.clean_bounce()
            healthy = cluster.wait_until_healthy(300)
            work.wait_for_progress(100)
            progress(
                f"broker {broker.broker_id} served after {served:.1f} s, all replicas were in sync {healthy:.1f} s later"
            )
            note(f"broker {broker.broker_id}", f"served after {served:.1f} s, in sync {healthy:.1f} s later")
        verdict = work.judge(tmp_path)
    finally:
        work.abandon()
    note("history", f"{verdict.acknowledged:,} acknowledged, {verdict.polled:,} polled, no anomaly")
