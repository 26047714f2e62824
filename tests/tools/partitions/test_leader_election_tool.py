"""kafka-leader-election: who is asked for, and what is said of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.tools.partitions import leader_election
from tests.tools.fake_cluster import FakeCluster

Tool = Callable[..., tuple[str, str]]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    cluster = FakeCluster(
        elections={
            TopicPartition("a", 0): Errors.NONE,
            TopicPartition("a", 1): Errors.ELECTION_NOT_NEEDED,
            TopicPartition("b", 0): Errors.NONE,
            TopicPartition("c", 0): Errors.PREFERRED_LEADER_NOT_AVAILABLE,
        }
    )
    with cluster.broker:
        yield cluster


@pytest.fixture
def tool(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Tool:
    def tool(command: str, status: int = 0) -> tuple[str, str]:
        arguments = ["--bootstrap-server", cluster.broker.address, *command.split()]
        assert leader_election.main(arguments) == status
        return capsys.readouterr()

    return tool


def test_all(cluster: FakeCluster, tool: Tool) -> None:
    printed, said = tool("--election-type preferred --all-topic-partitions", 1)
    assert printed.splitlines() == [
        "Successfully completed leader election (PREFERRED) for partitions a-0, b-0",
        "Valid replica already elected for partitions a-1",
        "Error completing leader election (PREFERRED) for partition: c-0: "
        f"org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: "
        f"{Errors.PREFERRED_LEADER_NOT_AVAILABLE.message}",
    ]
    assert said == "1 replica(s) could not be elected\n"
    (request,) = cluster.broker.asked(ApiKey.ELECT_LEADERS)
    assert (request.election_type, request.topic_partitions) == (0, None)


def test_one(cluster: FakeCluster, tool: Tool) -> None:
    assert tool("--election-type UNCLEAN --topic a --partition 0") == (
        "Successfully completed leader election (UNCLEAN) for partitions a-0\n",
        "",
    )
    (request,) = cluster.broker.asked(ApiKey.ELECT_LEADERS)
    assert request.election_type == 1


def test_some(cluster: FakeCluster, tool: Tool, tmp_path: Path) -> None:
    file = tmp_path / "election.json"
    file.write_text('{"partitions": [{"topic": "a", "partition": 0}, {"topic": "b", "partition": 0}]}')
    printed, _ = tool(f"--election-type preferred --path-to-json-file {file}")
    assert printed.endswith("for partitions a-0, b-0\n")
    file.write_text('{"partitions": [{"topic": "a", "partition": 0}, {"topic": "a", "partition": 0}]}')
    _, said = tool(f"--election-type preferred --path-to-json-file {file}", 1)
    assert said == "Replica election data contains duplicate partitions: [a-0]\n"
    file.write_text("{}")
    _, said = tool(f"--election-type preferred --path-to-json-file {file}", 1)
    assert said == 'Replica election data is missing "partitions" field\n'


def test_the_controller_moves(cluster: FakeCluster, tool: Tool) -> None:
    cluster.errors = [Errors.NOT_CONTROLLER]
    tool("--election-type preferred --topic a --partition 0")
    assert len(cluster.broker.asked(ApiKey.ELECT_LEADERS)) == 2


def test_not_authorized(cluster: FakeCluster, tool: Tool) -> None:
    cluster.errors = [Errors.CLUSTER_AUTHORIZATION_FAILED]
    _, said = tool("--election-type preferred --topic a --partition 0", 1)
    assert said == "Not authorized to perform leader election\n"


def test_no_answer_in_time(cluster: FakeCluster, tool: Tool, tmp_path: Path) -> None:
    cluster.errors = [Errors.NOT_CONTROLLER] * 1000
    config = tmp_path / "admin.properties"
    config.write_text("default.api.timeout.ms=50\n")
    _, said = tool(f"--election-type preferred --topic a --partition 0 --admin.config {config}", 1)
    assert said == "Timeout waiting for election results\n"
