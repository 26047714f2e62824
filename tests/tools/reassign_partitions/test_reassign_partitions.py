"""kafka-reassign-partitions: reassignments from their start to their end or cancellation, throttles, files, options."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.admin.replicas import PartitionReassignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.tools.reassign_partitions import reassign_partitions
from kafkapy.tools.reassign_partitions.reassignment_json import format_reassignment, read_reassignment
from kafkapy.tools.reassign_partitions.throttles import PartitionMove, proposed_moves, throttled_replicas
from tests.tools.fake_cluster import FakeCluster, Move

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPIC, BROKER = 2, 4

Tool = Callable[..., str]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    cluster = FakeCluster(replicas={A0: [0, 1], A1: [1, 0], B0: [0]})
    with cluster.broker:
        yield cluster


@pytest.fixture
def tool(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs the tool; a keyword is written to the file of its option. Its output, or its sentence if it fails."""

    def tool(command: str, status: int = 0, partitions: Any = None, topics: Any = None) -> str:
        arguments = ["--bootstrap-server", cluster.broker.address, *command.split()]
        if partitions is not None:
            (tmp_path / "partitions.json").write_text(json.dumps({"partitions": partitions}))
            arguments += ["--reassignment-json-file", str(tmp_path / "partitions.json")]
        if topics is not None:
            (tmp_path / "topics.json").write_text(json.dumps({"topics": topics}))
            arguments += ["--topics-to-move-json-file", str(tmp_path / "topics.json")]
        assert reassign_partitions.main(arguments) == status
        printed = capsys.readouterr()
        return printed.err if status else printed.out

    return tool


def move(partition: TopicPartition, replicas: list[int], log_dirs: list[str] | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"topic": partition.topic, "partition": partition.partition, "replicas": replicas}
    return entry if log_dirs is None else {**entry, "log_dirs": log_dirs}


def test_from_start_to_end(cluster: FakeCluster, tool: Tool) -> None:
    target = [move(A0, [2, 1]), move(B0, [0, 2])]
    assert tool("--execute --throttle 5000", partitions=target).splitlines() == [
        "Current partition replica assignment",
        "",
        '{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[0,1],"log_dirs":["any","any"]},'
        '{"topic":"b","partition":0,"replicas":[0],"log_dirs":["any"]}]}',
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
        "Warning: You must run --verify periodically, until the reassignment completes, "
        "to ensure the throttle is removed.",
        "The inter-broker throttle limit was set to 5000 B/s",
        "Successfully started partition reassignments for a-0,b-0",
    ]
    assert cluster.configs == {
        (TOPIC, "a", "leader.replication.throttled.replicas"): "0:0,0:1",
        (TOPIC, "a", "follower.replication.throttled.replicas"): "0:2",
        (TOPIC, "b", "leader.replication.throttled.replicas"): "0:0",
        (TOPIC, "b", "follower.replication.throttled.replicas"): "0:2",
        **{
            (BROKER, str(broker), f"{side}.replication.throttled.rate"): "5000"
            for broker in range(3)
            for side in ("leader", "follower")
        },
    }
    assert tool("--list") == (
        "Current partition reassignments:\na-0: replicas: 2,1,0. adding: 2. removing: 0.\n"
        "b-0: replicas: 0,2. adding: 2.\n"
    )
    assert tool("--verify", partitions=target).splitlines() == [
        "Status of partition reassignment:",
        "Reassignment of partition a-0 is still in progress.",
        "Reassignment of partition b-0 is still in progress.",
        "",
    ]
    assert cluster.configs
    cluster.finish_moves()
    assert tool("--verify --preserve-throttles", partitions=target).count("is completed") == 2
    assert cluster.configs
    assert tool("--verify", partitions=target).splitlines()[-2:] == [
        "Clearing broker-level throttles on brokers 0,1,2",
        "Clearing topic-level throttles on topics a,b",
    ]
    assert cluster.configs == {}
    assert tool("--list") == "No partition reassignments found.\n"


def test_additional(cluster: FakeCluster, tool: Tool) -> None:
    tool("--execute", partitions=[move(A0, [2, 1])])
    assert "Cannot execute because there is an existing partition assignment." in tool(
        "--execute", 1, partitions=[move(B0, [1])]
    )
    tool("--execute --additional --throttle 7000", partitions=[move(B0, [1])])
    assert cluster.moves == {A0: Move([2], [0]), B0: Move([1], [0])}
    # the move that was under way before is throttled too
    assert cluster.configs[TOPIC, "a", "follower.replication.throttled.replicas"] == "0:2"


def test_cancel(cluster: FakeCluster, tool: Tool) -> None:
    target = [move(A0, [2, 1]), move(B0, [0, 2])]  # b only gets a replica: Apache's 3.9.1 would let that go on
    tool("--execute --throttle 5000", partitions=target)
    assert tool("--cancel --preserve-throttles", partitions=target) == (
        "Successfully cancelled partition reassignments for: a-0,b-0\n"
        "None of the specified partition moves are active.\n"
    )
    assert cluster.moves == {}
    assert cluster.replicas == {A0: [1, 0], A1: [1, 0], B0: [0]}
    assert cluster.configs
    assert tool("--cancel", partitions=target).startswith("None of the specified partition reassignments are active.\n")
    assert cluster.configs == {}


def test_what_the_controller_refuses(cluster: FakeCluster, tool: Tool) -> None:
    cluster.refused[B0] = Errors.INVALID_REPLICA_ASSIGNMENT
    assert tool("--execute", 1, partitions=[move(A0, [2]), move(B0, [1])]) == (
        f"Error reassigning partition(s): b-0: {Errors.INVALID_REPLICA_ASSIGNMENT.message}\n"
    )
    assert list(cluster.moves) == [A0]


def test_the_controller_moves(cluster: FakeCluster, tool: Tool) -> None:
    cluster.errors = [Errors.NONE, Errors.NOT_CONTROLLER]
    tool("--execute", partitions=[move(A0, [2])])
    assert list(cluster.moves) == [A0]
    assert len(cluster.broker.asked(ApiKey.ALTER_PARTITION_REASSIGNMENTS)) == 2


def test_log_dirs(cluster: FakeCluster, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker has the replica only after a while; then it is moved, then it is there."""
    monkeypatch.setattr("kafkapy.common.time.SystemTime.sleep", lambda self, seconds: None)
    cluster.log_dir_errors = [Errors.REPLICA_NOT_AVAILABLE] * 2
    target = [move(A0, [2, 1], ["/d2", "any"])]
    printed = tool("--execute --replica-alter-log-dirs-throttle 9000", partitions=target)
    assert printed.endswith(
        "The replica-alter-dir throttle limit was set to 9000 B/s\n"
        "Successfully started partition reassignment for a-0\n"
        "Successfully started moving log directory to /d2 for replica a-0 with broker 2 \n"
    )
    assert cluster.configs == {(BROKER, "2", "replica.alter.log.dirs.io.max.bytes.per.second"): "9000"}
    cluster.finish_moves()

    def state() -> str:
        return tool("--verify --preserve-throttles", partitions=target).splitlines()[-1]

    assert state() == (
        "Partition a-0 is not found in any live log dir on broker 2. "
        "There is likely an offline log directory on the broker."
    )
    cluster.log_dirs[A0] = "/d1"
    assert state() == "Reassignment of replica a-0-2 is still in progress."
    tool("--verify", partitions=target)
    assert cluster.configs, "throttles stay while a move is under way"
    cluster.future_log_dirs[A0] = "/d3"
    assert state() == "Partition a-0 on broker 2 is being moved to log dir /d3 instead of /d2."
    printed = tool("--cancel", partitions=target)
    assert "Successfully started moving log directory to /d1 for replica a-0 with broker 2 \n" in printed
    cluster.future_log_dirs.clear()
    assert state() == "Partition a-0 on broker 2 is not being moved from log dir /d1 to /d2."
    cluster.log_dirs[A0] = "/d2"
    assert state() == "Reassignment of replica a-0-2 completed successfully."


def test_log_dirs_that_do_not_begin(cluster: FakeCluster, tool: Tool) -> None:
    target = [move(A0, [0, 1], ["/d", "any"])]
    cluster.log_dir_errors = [Errors.REPLICA_NOT_AVAILABLE]
    assert tool("--execute --timeout 0", 1, partitions=target) == (
        "Timed out before log directory move could be started for: a-0-0\n"
    )
    cluster.log_dir_errors = [Errors.LOG_DIR_NOT_FOUND]
    assert tool("--execute", 1, partitions=target).startswith("Error: Failed to alter dir for a-0-0: ")


def test_generate(cluster: FakeCluster, tool: Tool) -> None:
    lines = tool("--generate --broker-list 0,1,2", topics=[{"topic": "a"}]).splitlines()
    assert [lines[0], *lines[2:4]] == [
        "Current partition replica assignment",
        "",
        "Proposed partition reassignment configuration",
    ]
    assert json.loads(lines[1])["partitions"] == [move(A0, [0, 1], ["any"] * 2), move(A1, [1, 0], ["any"] * 2)]
    proposed = json.loads(lines[4])["partitions"]
    assert [entry["partition"] for entry in proposed] == [0, 1]
    assert all(len(set(entry["replicas"])) == 2 for entry in proposed)
    assert "larger than available brokers: 1" in tool("--generate --broker-list 2", 1, topics=[{"topic": "a"}])


def test_generate_with_racks(cluster: FakeCluster, tool: Tool) -> None:
    cluster.racks = {0: "x", 1: "x", 2: "y"}
    proposed = json.loads(tool("--generate --broker-list 0,1,2", topics=[{"topic": "a"}]).splitlines()[4])
    assert all(2 in entry["replicas"] for entry in proposed["partitions"])
    cluster.racks[1] = None
    assert "Not all brokers have rack information." in tool("--generate --broker-list 0,1", 1, topics=[{"topic": "a"}])
    tool("--generate --broker-list 0,1 --disable-rack-aware", topics=[{"topic": "a"}])


@pytest.mark.parametrize(
    ("partitions", "sentence"),
    [
        ([], "Partition reassignment list cannot be empty"),
        ([move(A0, [])], "Partition replica list cannot be empty"),
        ([move(A0, [1]), move(A0, [2])], "Partition reassignment contains duplicate topic partitions: a-0"),
        (
            [move(A0, [1, 1])],
            "Partition replica lists may not contain duplicate entries: a-0 contains multiple entries for 1",
        ),
        (
            [move(A0, [1, 2], ["any"])],
            "Size of replicas list [1, 2] is different from size of log dirs list [any] for partition a-0",
        ),
        ([move(A0, [1, 9])], "Unknown broker id 9"),
        (
            [move(TopicPartition("a", 7), [1])],
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: Unable to find partition: a-7",
        ),
        (
            [move(TopicPartition("c", 0), [1])],
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: Topic c not found.",
        ),
        ([{"topic": "a", "partition": 0}], "No such field exists: `replicas`"),
        ([move(A0, ["1"])], 'Expected `Integer` value, received "1"'),  # type: ignore[list-item]
        ([{"topic": "a", "partition": 0, "replicas": 3}], "Expected `JSON array` value, received 3"),
        ([3], "Expected JSON object, received 3"),
        ({}, "Expected JSON array, received {}"),
    ],
)
def test_files_that_make_no_sense(tool: Tool, partitions: Any, sentence: str, cluster: FakeCluster) -> None:
    assert tool("--execute --throttle 1", 1, partitions=partitions) == f"Error: {sentence}\n"
    assert cluster.configs == {}


def test_topics_files_that_make_no_sense(tool: Tool, tmp_path: Path) -> None:
    twice = [{"topic": "a"}, {"topic": "a"}]
    assert "contains duplicate entries: [a]" in tool("--generate --broker-list 0", 1, topics=twice)
    assert "Broker list contains duplicate entries: [0]" in tool("--generate --broker-list 0,0", 1, topics=[])
    assert 'For input string: "x"' in tool("--generate --broker-list x", 1, topics=[])
    (tmp_path / "x.json").write_text('{"version": 2}')
    assert "Not supported version field value 2" in tool(f"--verify --reassignment-json-file {tmp_path}/x.json", 1)
    for text, sentence in (
        (b'{"version": 1.0}', "Expected `Integer` value, received 1.0"),
        (b'{"version": NaN}', "NaN is not a JSON number"),
        (b'{"partitions": "\xff"}', "the text is not utf-8"),
        (b'{"partitions": [{"topic": "a", "partition": 2147483648, "replicas": [0]}]}', "Expected `Integer` value"),
        (b'{"partitions": [{"topic": "a", "partition": 0, "replicas": [2147483648]}]}', "Expected `Integer` value"),
    ):
        (tmp_path / "x.json").write_bytes(text)
        assert sentence in tool(f"--verify --reassignment-json-file {tmp_path}/x.json", 1)
    (tmp_path / "x.json").write_text("nonsense")
    assert "not a valid JSON" in tool(f"--verify --reassignment-json-file {tmp_path}/x.json", 1)
    assert "Unable to read file /no/file" in tool("--verify --reassignment-json-file /no/file", 1)


PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 3))
BROKERS = st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True)


@given(st.dictionaries(PARTITIONS, st.tuples(BROKERS, BROKERS), min_size=1))
def test_all_replicas_that_matter_are_throttled(moves: dict[TopicPartition, tuple[list[int], list[int]]]) -> None:
    """Who has a replica may have to send it; who has none yet fetches it; nobody is throttled on both sides."""
    current = {partition: has for partition, (has, _) in moves.items()}
    throttled = throttled_replicas(proposed_moves({}, {p: gets for p, (_, gets) in moves.items()}, current))
    for (topic, partition), (has, gets) in moves.items():
        leaders, followers = (set(side.split(",")) for side in throttled[topic])
        assert {f"{partition}:{broker}" for broker in has} <= leaders
        assert {f"{partition}:{broker}" for broker in set(gets) - set(has)} <= followers
        assert not leaders & followers


def test_a_move_that_changes_its_mind() -> None:
    """The brokers that had the partition before the first move are the sources of the second."""
    under_way = {A0: PartitionReassignment((2, 0, 1), (2,), (0,))}
    assert proposed_moves(under_way, {A0: [3, 1]}, {A0: [2, 0, 1]}) == {
        A0: PartitionMove(frozenset({0, 1}), frozenset({3}))
    }


@given(assignment=st.dictionaries(PARTITIONS, BROKERS))
def test_what_is_printed_can_be_given_back(
    assignment: dict[TopicPartition, list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "printed.json"
    file.write_text(format_reassignment(assignment))
    read = read_reassignment(str(file))
    assert dict(read.partitions) == assignment
    assert read.log_dirs == {}
