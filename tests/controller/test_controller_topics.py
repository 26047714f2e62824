"""Topics that come, grow and go: what is written, in which order, and what brokers hear."""

from __future__ import annotations

import pytest

from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest
from kafkapy.zk.zk_data import TopicZNode
from tests.controller.controller_cluster import Cluster

ID = b"t" * 16


def topic_json(partitions: str) -> str:
    rest = '"adding_replicas":{},"removing_replicas":{},"topic_id":"dHR0dHR0dHR0dHR0dHR0dA"'
    return f'{{"version":3,"partitions":{partitions},{rest}}}'


def state_json(leader: int, leader_epoch: int, isr: str) -> str:
    return f'{{"version":1,"leader":{leader},"leader_epoch":{leader_epoch},"controller_epoch":1,"isr":[{isr}]}}'


# --- creation -------------------------------------------------------------------------------------------------------


def test_creation_writes_parents_then_states_then_tells_replicas_then_everybody() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.forget()
    cluster.create_topic("t", {0: [1, 2], 1: [2, 1]}, ID)
    assert cluster.zookeeper.take_writes() == [
        "create /brokers/topics/t " + topic_json('{"0":[1,2],"1":[2,1]}'),
        "*create /brokers/topics/t/partitions",
        "*create /brokers/topics/t/partitions/0",
        "*create /brokers/topics/t/partitions/1",
        "*create /brokers/topics/t/partitions/0/state " + state_json(1, 0, "1,2"),
        "*create /brokers/topics/t/partitions/1/state " + state_json(2, 0, "2,1"),
    ]
    assert cluster.channel.take_summary() == [
        "1 LeaderAndIsr t-0+:1[1,2]@0 t-1+:2[2,1]@0",
        "2 LeaderAndIsr t-0+:1[1,2]@0 t-1+:2[2,1]@0",
        "1 UpdateMetadata t-0:1[1,2]@0 t-1:2[2,1]@0",
        "2 UpdateMetadata t-0:1[1,2]@0 t-1:2[2,1]@0",
        "3 UpdateMetadata t-0:1[1,2]@0 t-1:2[2,1]@0",
    ]


def test_leader_and_isr_request_says_all_a_broker_must_know() -> None:
    cluster = Cluster(1, 2)
    cluster.forget()
    cluster.create_topic("t", {0: [2, 1]}, ID)
    broker_id, request = cluster.channel.take_sent()[0]
    assert broker_id == 2
    assert isinstance(request, LeaderAndIsrRequest)
    assert (request.controller_id, request.controller_epoch, request.broker_epoch, request.type) == (
        1,
        1,
        cluster.members[2].epoch,
        0,
    )
    assert [(leader.broker_id, leader.host_name, leader.port) for leader in request.live_leaders] == [
        (2, "127.0.0.1", 9002)
    ]
    (topic,) = request.topic_states
    (state,) = topic.partition_states
    assert (topic.topic_name, topic.topic_id) == ("t", ID)
    assert (state.leader, state.isr, state.replicas, state.partition_epoch, state.controller_epoch) == (
        2,
        [2, 1],
        [2, 1],
        0,
        1,
    )
    assert state.is_new and state.leader_recovery_state == 0


def test_only_live_replicas_are_in_the_first_isr() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [3, 2, 1]})
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (2, (2, 1))


def test_a_topic_without_live_replica_gets_its_leader_when_one_starts(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(1)
    cluster.create_topic("t", {0: [2]})
    assert "none of its replicas [2]" in caplog.text
    assert cluster.controller.context.partition_state(TopicPartition("t", 0)) is PartitionState.NEW
    cluster.start(2)
    cluster.settle()
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (2, (2,))


def test_topics_of_before_2_8_get_an_id() -> None:
    cluster = Cluster(1)
    cluster.forget()
    cluster.members[1].zk.create_topic_assignment("old", None, {0: [1]})
    cluster.settle()
    written = TopicZNode.decode("old", cluster.zookeeper.node("/brokers/topics/old").data)
    assert written.topic_id == cluster.controller.context.topic_ids["old"]
    assert len(written.topic_id) == 16
    _, request = cluster.channel.take_sent()[0]
    assert isinstance(request, LeaderAndIsrRequest)
    assert request.topic_states[0].topic_id == written.topic_id


def test_a_partition_state_that_is_there_already_is_not_overwritten(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(1)
    zk = cluster.members[1].zk
    zk.create_recursive("/brokers/topics/t/partitions/0/state", state_json(7, 7, "7").encode())
    zk.set_topic_assignment("t", ID, {0: ReplicaAssignment((1,))})
    cluster.settle()
    assert "could not be created" in caplog.text
    assert cluster.state("t", 0).leader == 7


def test_a_topic_node_that_vanishes_is_forgotten() -> None:
    cluster = Cluster(1)
    cluster.create_topic("t", {0: [1]})
    cluster.members[1].zk.delete_path("/brokers/topics/t")
    cluster.settle()
    context = cluster.controller.context
    assert not context.all_topics and not context.leadership and not context.replica_states
    assert not context.partition_states and not context.topic_ids and not context.topic_names


# --- more partitions ------------------------------------------------------------------------------------------------


def test_more_partitions() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2]}, ID)
    cluster.forget()
    assignment = {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((2, 1))}
    cluster.members[1].zk.set_topic_assignment("t", ID, assignment)
    cluster.settle()
    assert cluster.zookeeper.take_writes() == [
        "set /brokers/topics/t " + topic_json('{"0":[1,2],"1":[2,1]}'),
        "*create /brokers/topics/t/partitions/1",
        "*create /brokers/topics/t/partitions/1/state " + state_json(2, 0, "2,1"),
    ]
    assert cluster.channel.take_summary() == [
        "2 LeaderAndIsr t-1+:2[2,1]@0",
        "1 LeaderAndIsr t-1+:2[2,1]@0",
        "1 UpdateMetadata t-1:2[2,1]@0",
        "2 UpdateMetadata t-1:2[2,1]@0",
    ]
    cluster.members[1].zk.set_topic_assignment("t", ID, {**assignment, 2: ReplicaAssignment((1, 2))})
    cluster.settle()
    assert cluster.state("t", 2).leader == 1


def test_partitions_added_to_a_topic_under_deletion_are_taken_back() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2]}, ID)
    cluster.kill(2)
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    assert cluster.controller.is_topic_queued_for_deletion("t")
    more = {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((1, 2))}
    cluster.members[1].zk.set_topic_assignment("t", ID, more)
    cluster.settle()
    assert cluster.zookeeper.json("/brokers/topics/t") == topic_json('{"0":[1,2]}')


# --- deletion -------------------------------------------------------------------------------------------------------


def test_deletion_in_kafkas_order() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("one", {0: [1, 2]})
    cluster.members[1].zk.create_recursive("/config/topics/one", b'{"version":1,"config":{}}')
    cluster.forget()
    cluster.members[2].zk.create_delete_topic_paths(["one"])
    cluster.settle()
    assert cluster.zookeeper.take_writes() == [
        "create /admin/delete_topics/one",
        "*set /brokers/topics/one/partitions/0/state " + state_json(-1, 1, "2"),
        "*set /brokers/topics/one/partitions/0/state " + state_json(-1, 2, "2"),
        "*delete /brokers/topics/one/partitions/0/state",
        "*delete /brokers/topics/one/partitions/0",
        "*delete /brokers/topics/one/partitions",
        "*delete /brokers/topics/one",
        "*delete /config/topics/one",
        "*delete /admin/delete_topics/one",
    ]
    assert cluster.channel.take_summary() == [
        "1 UpdateMetadata one-0:-2[1,2]@0",
        "2 UpdateMetadata one-0:-2[1,2]@0",
        "1 StopReplica one-0:stop@-2",
        "2 StopReplica one-0:stop@-2",
        "1 StopReplica one-0:delete@-2",
        "2 StopReplica one-0:delete@-2",
    ]
    context = cluster.controller.context
    assert not context.all_topics and not context.replica_states and not context.partition_states
    assert not context.topics_to_be_deleted and not context.topics_with_deletion_started


def test_a_topic_can_be_made_again_after_deletion() -> None:
    cluster = Cluster(1)
    for n in range(3):
        cluster.create_topic("t", {0: [1]}, bytes([n + 1]) * 16)
        assert cluster.state("t", 0).leader == 1
        assert cluster.controller.context.topic_ids["t"] == bytes([n + 1]) * 16
        cluster.members[1].zk.create_delete_topic_paths(["t"])
        cluster.settle()
        assert not cluster.members[1].zk.path_exists(TopicZNode.path("t"))


def test_deletion_waits_for_a_dead_broker_and_ends_when_it_is_back() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2], 1: [2, 1]})
    cluster.kill(2)
    cluster.settle()
    cluster.forget()
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    assert [w.split(" {")[0] for w in cluster.zookeeper.take_writes()] == [
        "create /admin/delete_topics/t",
        "*set /brokers/topics/t/partitions/0/state",
        "*set /brokers/topics/t/partitions/1/state",
    ]
    context = cluster.controller.context
    assert context.topics_ineligible_for_deletion == {"t"}
    assert context.replica_state(PartitionAndReplica(TopicPartition("t", 0), 1)) is ReplicaState.DELETION_SUCCESSFUL
    cluster.start(2)
    cluster.settle()
    assert not cluster.members[1].zk.path_exists(TopicZNode.path("t"))
    assert "t" not in cluster.members[1].zk.get_topic_deletions()


def test_a_new_controller_goes_on_with_a_deletion() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [2, 3]})
    cluster.kill(3)
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    cluster.kill(1)
    cluster.settle()
    assert cluster.active.id == 2
    assert cluster.controller.context.topics_ineligible_for_deletion == {"t"}
    cluster.start(3)
    cluster.settle()
    assert not cluster.members[2].zk.path_exists(TopicZNode.path("t"))


def test_a_broker_that_cannot_delete_halts_the_deletion_until_it_restarts() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2]})
    cluster.channel.storage_errors.add((2, TopicPartition("t", 0)))
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    assert cluster.members[1].zk.path_exists(TopicZNode.path("t"))
    assert cluster.controller.context.topics_ineligible_for_deletion == {"t"}
    cluster.channel.storage_errors.clear()
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    assert not cluster.members[1].zk.path_exists(TopicZNode.path("t"))


def test_many_topics_go_at_once_with_one_request_of_each_kind_to_each_broker() -> None:
    cluster = Cluster(1)
    for n in range(5):
        cluster.create_topic(f"t{n}", {0: [1], 1: [1]})
    cluster.forget()
    cluster.members[1].zk.create_recursive("/admin/delete_topics/t0")
    for n in range(1, 5):
        cluster.members[1].zk.create_recursive(f"/admin/delete_topics/t{n}")
    cluster.settle()
    stops = [request for _, request in cluster.channel.take_sent() if isinstance(request, StopReplicaRequest)]
    assert [len(request.topic_states) for request in stops] == [5, 5]
    assert not cluster.controller.context.all_topics


def test_deleting_what_is_not_there_is_forgotten() -> None:
    cluster = Cluster(1)
    cluster.members[1].zk.create_delete_topic_paths(["ghost"])
    cluster.settle()
    assert "ghost" not in cluster.members[1].zk.get_topic_deletions()


def test_deletion_can_be_disabled() -> None:
    cluster = Cluster(1, delete_topic_enable=False)
    cluster.create_topic("t", {0: [1]})
    before = cluster.state("t", 0)
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    assert "t" not in cluster.members[1].zk.get_topic_deletions()
    assert cluster.state("t", 0) == before
    assert not cluster.controller.is_topic_queued_for_deletion("t")


def test_deletion_waits_for_a_reassignment() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1]})
    cluster.controller.alter_partition_reassignments({TopicPartition("t", 0): [1, 2]}.items(), lambda _: None)
    cluster.settle()
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    assert cluster.controller.context.topics_ineligible_for_deletion == {"t"}
    assert cluster.state("t", 0).leader == 1
    cluster.alter_isr("t", 0, [1, 2])
    assert not cluster.members[1].zk.path_exists(TopicZNode.path("t"))
