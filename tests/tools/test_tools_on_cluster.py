"""The tools for replicas and leaders on a cluster of three brokers that really moves them."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.tools.cluster_local import cluster_local
from kafkapy.tools.cluster_local import layout as local_layout
from kafkapy.tools.cluster_local.layout import LocalCluster
from kafkapy.tools.partitions.replica_verification import ReplicaReader, compare
from tests.tools.programs import main_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

Run = Callable[[str, str], str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    directory = tmp_path_factory.mktemp("local") / "cluster"
    assert cluster_local.main(["start", "--dir", str(directory)]) == 0
    cluster = local_layout.load(directory)
    assert cluster is not None
    yield cluster
    assert cluster_local.main(["stop", "--dir", str(directory)]) == 0


@pytest.fixture
def run(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(tool: str, command: str) -> str:
        arguments = ["--bootstrap-server", cluster.bootstrap_servers, *command.split()]
        assert main_of(tool)(arguments) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def produce(port: int, topic: str, count: int) -> None:
    """One batch of `count` records of 1,000 bytes."""
    builder = MemoryRecordsBuilder()
    for i in range(count):
        builder.append(1_700_000_000_000 + i, b"k", b"v" * 1000)
    data = ProduceRequest.PartitionProduceData(index=0, records=builder.build())
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    )
    with BlockingClient("127.0.0.1", port) as client:
        (result,) = client.call(request).responses
    assert [p.error_code for p in result.partition_responses] == [0]


def produce_more_than_a_fetch(port: int, topic: str) -> int:
    """A throttle holds back the fetch after the one that exceeded it: a move lasts only if it needs several of 1 MiB."""
    batches, count = 6, 500
    for _ in range(batches):
        produce(port, topic, count)
    return batches * count


def reassignment(directory: Path, topic: str, replicas: list[int]) -> str:
    file = directory / f"{topic}-{'-'.join(map(str, replicas))}.json"
    file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": replicas}]}))
    return str(file)


def test_a_move_under_a_throttle(cluster: LocalCluster, run: Run, tmp_path: Path) -> None:
    run("topics", "--create --topic moved --replica-assignment 0:1")
    wait_until(lambda: "Isr: 0,1" in run("topics", "--describe --if-exists --topic moved"))
    count = produce_more_than_a_fetch(cluster.broker_ports[0], "moved")
    target = reassignment(tmp_path, "moved", [2, 1])
    run("reassign_partitions", f"--execute --throttle 1000 --reassignment-json-file {target}")
    assert run("reassign_partitions", "--list").endswith("moved-0: replicas: 2,1,0. adding: 2. removing: 0.\n")
    assert "Adding Replicas: 2\tRemoving Replicas: 0" in run("topics", "--describe --topic moved")
    run("reassign_partitions", f"--execute --additional --throttle 50000000 --reassignment-json-file {target}")

    def completed() -> bool:
        verified = run("reassign_partitions", f"--verify --reassignment-json-file {target}")
        return "Reassignment of partition moved-0 is completed.\n" in verified

    wait_until(completed)
    described = run("topics", "--describe --topic moved")
    assert "Replicas: 2,1\t" in described
    assert "throttled" not in described
    wait_until(lambda: verified_offset(cluster, TopicPartition("moved", 0)) == count)  # a bit later


def test_a_move_that_is_cancelled(cluster: LocalCluster, run: Run, tmp_path: Path) -> None:
    run("topics", "--create --topic stays --replica-assignment 0:1")
    wait_until(lambda: "Isr: 0,1" in run("topics", "--describe --if-exists --topic stays"))
    produce_more_than_a_fetch(cluster.broker_ports[0], "stays")
    target = reassignment(tmp_path, "stays", [0, 1, 2])
    run("reassign_partitions", f"--execute --throttle 1000 --reassignment-json-file {target}")
    cancelled = run("reassign_partitions", f"--cancel --reassignment-json-file {target}")
    assert cancelled.startswith("Successfully cancelled partition reassignment for: stays-0\n")
    assert "Replicas: 0,1\t" in run("topics", "--describe --topic stays")


def test_a_broker_dies_and_its_leadership_returns(cluster: LocalCluster, run: Run) -> None:
    """Its watchdog ends its ZooKeeper session, so nobody waits for that."""
    run("topics", "--create --topic led --replica-assignment 2:0:1 --config min.insync.replicas=2")
    wait_until(lambda: "Isr: 2,0,1" in run("topics", "--describe --if-exists --topic led"))
    killed = cluster.processes["broker-2"]
    killed.stop(signal.SIGKILL)
    wait_until(lambda: "Leader: 0\tReplicas: 2,0,1\tIsr: 0,1" in run("topics", "--describe --topic led"))
    assert "which has died: closed after" in (cluster.directory / "broker-2" / "broker.out").read_text()
    assert "Topic: led\t" in run("topics", "--describe --under-replicated-partitions")
    assert "Topic: led\t" in run("topics", "--describe --at-min-isr-partitions")
    assert cluster_local.main(["start", "--dir", str(cluster.directory)]) == 0
    wait_until(lambda: run("topics", "--describe --under-replicated-partitions") == "")
    elected = run("leader_election", "--election-type preferred --topic led --partition 0")
    assert elected.endswith("Successfully completed leader election (PREFERRED) for partitions led-0\n")
    assert "Leader: 2" in run("topics", "--describe --topic led")


def verified_offset(cluster: LocalCluster, partition: TopicPartition) -> int:
    """How far all replicas agree, in one round of kafka-replica-verification from the start."""
    with AdminClient(cluster.bootstrap_servers) as admin:
        reader = ReplicaReader(admin, [admin.list_topics()[partition.topic]], 4 << 20, 100)
    offsets = {partition: 0}
    try:
        with ThreadPoolExecutor(3) as threads:
            assert list(compare(partition, reader.fetch(threads, offsets)[partition], offsets)) == []
    finally:
        reader.close()
    return offsets[partition]
