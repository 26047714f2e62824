"""AlterPartition: who may change an ISR, and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.leader_and_isr import LeaderRecoveryState
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_partition import AlterPartitionResponse
from tests.controller.controller_cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [1, 2, 3], 1: [2, 1]})
    cluster.alter_isr("t", 0, [1, 2])
    cluster.forget()
    return cluster


def error(answer: AlterPartitionResponse) -> Errors:
    """The error of the one partition of the answer, or the answer's own."""
    if answer.error_code:
        return Errors.for_code(answer.error_code)
    return Errors.for_code(answer.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_an_isr_grows(cluster: Cluster, version: int) -> None:
    answer = cluster.alter_isr("t", 0, [1, 2, 3], version)
    assert answer.error_code == 0
    (topic,) = answer.topics
    (partition,) = topic.partitions
    assert (topic.topic_id, topic.topic_name) == ((b"t" + b"." * 15, "") if version > 1 else (bytes(16), "t"))
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 1, 0)
    assert (partition.isr, partition.partition_epoch) == ([1, 2, 3], 2)
    state = cluster.state("t", 0)
    assert (state.leader, state.isr, state.leader_epoch, state.partition_epoch) == (1, (1, 2, 3), 0, 2)
    assert cluster.zookeeper.take_writes()[0].startswith("*set /brokers/topics/t/partitions/0/state")
    assert cluster.channel.take_summary() == [f"{broker} UpdateMetadata t-0:1[1,2,3]@0" for broker in (1, 2, 3)]


def test_asked_again_the_same_answer_without_a_write(cluster: Cluster) -> None:
    request = cluster.alter_partition_request("t", 0, [1])
    answers: list[AlterPartitionResponse] = []
    for _ in range(2):
        cluster.controller.alter_partition(request, 3, answers.append)
        cluster.settle()
    assert answers[0] == answers[1]
    assert len(cluster.zookeeper.take_writes()) == 1


def test_our_own_write_whose_answer_was_lost_counts(cluster: Cluster) -> None:
    path = "/brokers/topics/t/partitions/0/state"
    lost = iter([True])

    def written_already(written: str) -> None:
        if written == path and next(lost, False):
            node = cluster.zookeeper.node(path)
            node.data = cluster.zookeeper.json(path).replace("[1,2]", "[1]").encode()
            node.version += 1

    cluster.zookeeper.before_write = written_already
    answer = cluster.alter_isr("t", 0, [1])
    assert error(answer) is Errors.NONE
    assert answer.topics[0].partitions[0].isr == [1]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"broker_epoch": 1}, Errors.STALE_BROKER_EPOCH),
        ({"leader": 9, "broker_epoch": 1}, Errors.STALE_BROKER_EPOCH),
        ({"leader_epoch": 1}, Errors.NOT_CONTROLLER),
        ({"partition_epoch": 2}, Errors.NOT_CONTROLLER),
        ({"leader_epoch": -1}, Errors.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 0}, Errors.INVALID_UPDATE_VERSION),
        ({"topic_id": b"?" * 16}, Errors.UNKNOWN_TOPIC_ID),
        ({"partition_index": 7}, Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_recovery_state": 1}, Errors.INVALID_REQUEST),
    ],
)
def test_what_is_refused(cluster: Cluster, changes: dict[str, Any], expected: Errors) -> None:
    before = cluster.state("t", 0)
    assert error(cluster.alter_isr("t", 0, [1], **changes)) is expected
    assert cluster.state("t", 0) == before
    assert cluster.zookeeper.take_writes() == []


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_replica_that_is_not_alive_cannot_join(cluster: Cluster, version: int) -> None:
    cluster.kill(3)
    cluster.settle()
    answer = cluster.alter_isr("t", 0, [1, 2, 3], version)
    assert error(answer) is (Errors.INELIGIBLE_REPLICA if version > 1 else Errors.OPERATION_NOT_ATTEMPTED)


def test_recovery_ends_before_the_isr_grows() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [3, 1, 2]})
    cluster.members[1].zk.create_recursive(
        "/config/topics/t", b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}'
    )
    cluster.alter_isr("t", 0, [3])
    cluster.kill(3)
    cluster.settle()
    assert cluster.state("t", 0).leader_recovery_state is LeaderRecoveryState.RECOVERING
    assert error(cluster.alter_isr("t", 0, [1, 2], leader_recovery_state=1)) is Errors.INVALID_REQUEST
    answer = cluster.alter_isr("t", 0, [1], leader_recovery_state=0)
    assert (error(answer), answer.topics[0].partitions[0].leader_recovery_state) == (Errors.NONE, 0)
    assert cluster.state("t", 0).leader_recovery_state is LeaderRecoveryState.RECOVERED
    assert error(cluster.alter_isr("t", 0, [1, 2])) is Errors.NONE


def test_somebody_elses_write_is_reported_and_learned(cluster: Cluster) -> None:
    path = "/brokers/topics/t/partitions/0/state"
    once = iter([True])

    def somebody_else_writes(written: str) -> None:
        if written == path and next(once, False):
            node = cluster.zookeeper.node(path)
            node.data = cluster.zookeeper.json(path).replace("[1,2]", "[1,3]").encode()
            node.version += 1

    cluster.zookeeper.before_write = somebody_else_writes
    assert error(cluster.alter_isr("t", 0, [1])) is Errors.INVALID_UPDATE_VERSION
    assert error(cluster.alter_isr("t", 0, [1])) is Errors.NONE


def test_several_topics_in_one_request(cluster: Cluster) -> None:
    cluster.create_topic("u", {0: [1, 2]})
    request = cluster.alter_partition_request("t", 0, [1])
    request.topics += cluster.alter_partition_request("u", 0, [1]).topics
    request.topics += cluster.alter_partition_request("u", 0, [1], topic_id=b"?" * 16).topics
    answers: list[AlterPartitionResponse] = []
    cluster.controller.alter_partition(request, 3, answers.append)
    cluster.settle()
    by_id = {topic.topic_id[:1]: topic.partitions[0].error_code for topic in answers[0].topics}
    assert by_id == {b"t": 0, b"u": 0, b"?": Errors.UNKNOWN_TOPIC_ID.code}


def test_a_broker_that_is_not_controller_says_so(cluster: Cluster) -> None:
    answers: list[AlterPartitionResponse] = []
    cluster.members[2].controller.alter_partition(cluster.alter_partition_request("t", 0, [1]), 3, answers.append)
    cluster.settle()
    assert answers[0].error_code == Errors.NOT_CONTROLLER.code


def test_isr_change_notifications_of_old_leaders(cluster: Cluster) -> None:
    zk = cluster.members[1].zk
    path = "/brokers/topics/t/partitions/1/state"
    zk.set_data(path, cluster.zookeeper.json(path).replace("[2,1]", "[2]").encode())
    zk.propagate_isr_changes([TopicPartition("t", 1)])
    cluster.settle()
    assert zk.get_all_isr_change_notifications() == []
    assert "1 UpdateMetadata t-1:2[2]@0" in cluster.channel.take_summary()
    assert cluster.controller.context.leadership[TopicPartition("t", 1)].leader_and_isr.isr == (2,)
