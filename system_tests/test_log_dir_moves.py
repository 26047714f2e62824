"""Replicas move between the log directories of their brokers (KIP-113), under load, throttled, and over a kill -9."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note
from system_tests.services import KafkaService, wait_until

PARTITIONS = 2
RATE = 1000
"""Bytes a second. The first ten seconds' worth goes at once, the rest would take long."""
IMPATIENT = {"reconnect_backoff_max_ms": 200, "topic_metadata_refresh_interval_ms": 500}


@pytest.fixture
def cluster(new_cluster: NewCluster) -> Cluster:
    """Three running brokers with two log directories each."""
    cluster = new_cluster(3)
    for broker in cluster.brokers:
        broker.properties["log.dirs"] = ",".join(map(str, dirs(broker)))
    return cluster.start()


def dirs(broker: KafkaService) -> list[Path]:
    return [broker.directory / "one", broker.directory / "two"]


def home(broker: KafkaService, partition: int) -> Path:
    """The log dir in which the broker has its replica."""
    (found,) = [directory for directory in dirs(broker) if (directory / f"t-{partition}").exists()]
    return found


@pytest.mark.long
@pytest.mark.timeout(300)
def test_replicas_move_between_log_dirs(cluster: Cluster, note: Note) -> None:
    create_topic(cluster.bootstrap, "t", PARTITIONS, {"segment.bytes": 1 << 20}, replication=3)
    producer = AckedProducer(cluster.bootstrap, "t", PARTITIONS, **IMPATIENT).start()
    producer.wait_for(20_000)

    targets = {
        (broker.broker_id, partition): next(d for d in dirs(broker) if d != home(broker, partition))
        for broker in cluster.brokers
        for partition in range(PARTITIONS)
    }
    plan = [
        {"topic": "t", "partition": partition, "replicas": view.replicas,
         "log_dirs": [str(targets[broker_id, partition]) for broker_id in view.replicas]}
        for partition, view in cluster.partitions("t").items()
    ]  # fmt: skip
    file = cluster.directory / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": plan}))

    def tool(*arguments: str) -> str:
        return cluster.tool("reassign_partitions", "--reassignment-json-file", str(file), *arguments)

    tool("--execute", "--replica-alter-log-dirs-throttle", str(RATE))
    assert "still in progress" in tool("--verify", "--preserve-throttles")
    cluster.brokers[cluster.leader("t")].hard_bounce()
    producer.wait_for(500)
    for broker in cluster.brokers:
        entity = ("--entity-type", "brokers", "--entity-name", str(broker.broker_id))
        cluster.tool("configs", "--alter", *entity, "--delete-config", "replica.alter.log.dirs.io.max.bytes.per.second")
    took = wait_until(
        lambda: tool("--verify").count("completed successfully") == len(targets), 120, lambda: tool("--verify")
    )
    producer.wait_for(500)
    producer.stop()
    assert not producer.failures, producer.failures[0]
    cluster.wait_for_isr("t")
    check_log(producer, read_topic(cluster.bootstrap, "t", PARTITIONS), exactly_once=True)
    for broker in cluster.brokers:
        broker.clean_shutdown()
    for partition in range(PARTITIONS):
        logs = []
        for broker in cluster.brokers:
            directory = home(broker, partition)
            assert directory == targets[broker.broker_id, partition]
            logs.append(b"".join(path.read_bytes() for path in sorted((directory / f"t-{partition}").glob("*.log"))))
        assert logs[0] == logs[1] == logs[2], f"the replicas of t-{partition} differ"
    note("moved after", f"{took:.1f} s")
    note("records acknowledged", f"{producer.acknowledged:,}")
