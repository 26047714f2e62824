"""Idempotent producers, without transactions, write each record once and in order, whoever leads and whatever is harmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.common.wire_enums import ElectionType
from kafkapy.structs import TopicPartition
from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note, Progress
from system_tests.faults import NotHere, inflict, sequence
from system_tests.workload import Workload

BROKERS = 3
TOPICS = {"ours-many": 3, "ours-one": 1}
FOREIGN = "foreign"
FOREIGN_PARTITIONS = 3
SMALL_SEGMENTS = {"segment.bytes": 1 << 20}
"""So that what a broker knows of producers comes from snapshots, too, and not from whole logs alone."""
LIBRDKAFKA = {"reconnect_backoff_max_ms": 200, "topic_metadata_refresh_interval_ms": 500}
"""It looks for a new leader by itself only every five minutes, if the old one is just gone."""


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_each_record_once_and_in_order(
    pytestconfig: pytest.Config, new_cluster: NewCluster, tmp_path: Path, note: Note, progress: Progress
) -> None:
    """Four producers of kafkapy and librdkafka's; before each fault all partitions get other leaders, so that batches which
    are sent again meet brokers that know their producer from its followers' days only."""
    seed, count = pytestconfig.getoption("--seed"), pytestconfig.getoption("--faults")
    cluster = new_cluster(BROKERS, {"auto.leader.rebalance.enable": "false"}).start()
    work = Workload(cluster.bootstrap, "ours", 4, 1, BROKERS, topics=TOPICS, topic_configs=SMALL_SEGMENTS)
    create_topic(cluster.bootstrap, FOREIGN, FOREIGN_PARTITIONS, SMALL_SEGMENTS, replication=BROKERS)
    foreign = AckedProducer(cluster.bootstrap, FOREIGN, FOREIGN_PARTITIONS, 1000, **LIBRDKAFKA)
    try:
        work.start()
        foreign.start()
        done = moves = 0
        for number, fault in enumerate(sequence(seed, count, BROKERS), 1):
            moves += move_leaders(cluster, [*TOPICS, FOREIGN])
            try:
                inflict(cluster, work, fault)
            except NotHere as error:
                progress(f"{fault} is left out: {error}")
                continue
            done += 1
            work.wait_for_progress()
            foreign.wait_for(100)
            cluster.wait_until_healthy()
            progress(f"fault {number} of {count}: {fault}; {work.acknowledged + foreign.acknowledged:,} acknowledged")
        foreign.stop()
        verdict = work.judge(tmp_path)
    finally:
        work.abandon()
    note("faults", done)
    note("leaders moved", moves)
    note("records", f"{verdict.acknowledged:,} of kafkapy's producers, {foreign.acknowledged:,} of librdkafka's")
    assert not foreign.failures, foreign.failures[0]
    check_log(foreign, read_topic(cluster.bootstrap, FOREIGN, FOREIGN_PARTITIONS), exactly_once=True)


def move_leaders(cluster: Cluster, topics: list[str]) -> int:
    """Each partition's next replica becomes its leader; returns how many did."""
    with AdminClient(cluster.bootstrap) as admin:
        replicas = {
            TopicPartition(topic, number): [*view.replicas[1:], view.replicas[0]]
            for topic in topics
            for number, view in cluster.partitions(topic).items()
        }
        admin.alter_partition_reassignments(replicas)
        elected = admin.elect_leaders(ElectionType.PREFERRED, replicas)
    return sum(error is None for error in elected.values())
