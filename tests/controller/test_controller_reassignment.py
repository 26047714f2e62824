"""Reassignments: start, completion, cancel, replacement, and who takes them over."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.zk.zk_data import ReassignPartitionsZNode, TopicZNode
from tests.controller.controller_cluster import Cluster

T0 = TopicPartition("t", 0)


def alter(cluster: Cluster, **targets: Sequence[int] | None) -> dict[str, Errors]:
    """`t0=[1, 2]` reassigns t-0; the error for each partition."""
    asked = {TopicPartition(name[:-1], int(name[-1])): target for name, target in targets.items()}
    answers: list[dict[TopicPartition, KafkaError | None] | KafkaError] = []
    cluster.controller.alter_partition_reassignments(asked.items(), answers.append)
    cluster.settle()
    (answer,) = answers
    assert isinstance(answer, dict)
    return {f"{p.topic}{p.partition}": Errors.NONE if e is None else e.error for p, e in answer.items()}


def reassigning(cluster: Cluster) -> dict[TopicPartition, ReplicaAssignment]:
    answers: list[dict[TopicPartition, ReplicaAssignment] | KafkaError] = []
    cluster.controller.list_partition_reassignments(None, answers.append)
    cluster.settle()
    (answer,) = answers
    assert isinstance(answer, dict)
    return answer


def written(cluster: Cluster, topic: str = "t", partition: int = 0) -> ReplicaAssignment:
    return TopicZNode.decode(topic, cluster.zookeeper.node(f"/brokers/topics/{topic}").data).assignment[partition]


def state_writes(cluster: Cluster) -> list[str]:
    """What was written, without the JSON."""
    return [write.split(" {")[0].removeprefix("*set /brokers/topics/") for write in cluster.zookeeper.take_writes()]


def test_another_order_of_the_same_replicas() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2]})
    cluster.forget()
    assert alter(cluster, t0=[2, 1]) == {"t0": Errors.NONE}
    assert state_writes(cluster) == ["t", "t/partitions/0/state", "t"]
    assert written(cluster) == ReplicaAssignment((2, 1))
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).leader_epoch) == (1, 1)
    assert reassigning(cluster) == {}


def test_one_more_replica() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1]})
    cluster.forget()
    assert alter(cluster, t0=[1, 2]) == {"t0": Errors.NONE}
    assert state_writes(cluster) == ["t", "t/partitions/0/state"]
    assert written(cluster) == ReplicaAssignment((1, 2), adding_replicas=(2,))
    assert reassigning(cluster) == {T0: ReplicaAssignment((1, 2), (2,))}
    summary = cluster.channel.take_summary()
    assert "2 LeaderAndIsr t-0+:1[1]@1" in summary
    assert "1 LeaderAndIsr t-0:1[1]@1" in summary
    cluster.alter_isr("t", 0, [1, 2])
    assert state_writes(cluster) == ["t/partitions/0/state", "t/partitions/0/state", "t"]
    assert written(cluster) == ReplicaAssignment((1, 2))
    assert cluster.state("t", 0).leader_epoch == 2
    assert reassigning(cluster) == {}


def test_a_move_to_other_brokers_elects_removes_and_deletes() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [1, 2]})
    assert alter(cluster, t0=[2, 3]) == {"t0": Errors.NONE}
    assert written(cluster) == ReplicaAssignment((2, 3, 1), (3,), (1,))
    cluster.forget()
    cluster.alter_isr("t", 0, [1, 2, 3])
    state = cluster.state("t", 0)
    assert (state.leader, state.isr) == (2, (2, 3))
    assert written(cluster) == ReplicaAssignment((2, 3))
    assert state_writes(cluster)[-3:] == ["t/partitions/0/state", "t/partitions/0/state", "t"]
    summary = cluster.channel.take_summary()
    assert "1 StopReplica t-0:stop@2" in summary
    assert "1 StopReplica t-0:delete@3" in summary
    assert not any("UpdateMetadata" in line and "t-0" in line and "[1" in line for line in summary[-3:])
    assert not any(replica.replica == 1 for replica in cluster.controller.context.replica_states)


def test_cancel_goes_back_and_stops_the_new_replicas() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [1, 2]})
    alter(cluster, t0=[3, 2])
    cluster.forget()
    assert alter(cluster, t0=None) == {"t0": Errors.NONE}
    assert set(written(cluster).replicas) == {1, 2}
    assert not written(cluster).is_being_reassigned
    assert reassigning(cluster) == {}
    assert "3 StopReplica t-0:delete@1" in cluster.channel.take_summary()
    assert alter(cluster, t0=None) == {"t0": Errors.NO_REASSIGNMENT_IN_PROGRESS}


def test_a_new_target_replaces_the_old_one() -> None:
    cluster = Cluster(1, 2, 3, 4)
    cluster.create_topic("t", {0: [1]})
    alter(cluster, t0=[2])
    cluster.forget()
    alter(cluster, t0=[3, 4])
    assert written(cluster) == ReplicaAssignment((3, 4, 1), (3, 4), (1,))
    assert "2 StopReplica t-0:delete@1" in cluster.channel.take_summary()
    cluster.alter_isr("t", 0, [1, 3, 4])
    assert written(cluster) == ReplicaAssignment((3, 4))
    assert cluster.state("t", 0).leader == 3


def test_what_is_refused() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1], 1: [1], 2: [1], 3: [1]})
    cluster.forget()
    assert alter(cluster, t0=[], t1=[1, 1], t2=[-2], t3=[1, 9], x0=[1]) == {
        "t0": Errors.INVALID_REPLICA_ASSIGNMENT,
        "t1": Errors.INVALID_REPLICA_ASSIGNMENT,
        "t2": Errors.INVALID_REPLICA_ASSIGNMENT,
        "t3": Errors.INVALID_REPLICA_ASSIGNMENT,
        "x0": Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert state_writes(cluster) == []


def test_a_new_controller_takes_a_reassignment_over() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [2]})
    alter(cluster, t0=[3])
    cluster.kill(1)
    cluster.settle()
    assert reassigning(cluster) == {T0: ReplicaAssignment((3, 2), (3,), (2,))}
    cluster.alter_isr("t", 0, [2, 3])
    assert written(cluster) == ReplicaAssignment((3,))
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (3, (3,))


def test_a_target_that_is_back_is_told_again() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1]})
    alter(cluster, t0=[1, 2])
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.forget()
    cluster.settle()
    assert any(line.startswith("2 LeaderAndIsr t-0") for line in cluster.channel.take_summary())
    cluster.alter_isr("t", 0, [1, 2])
    assert reassigning(cluster) == {}


def test_the_legacy_znode() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1]})
    path, zk = ReassignPartitionsZNode.path, cluster.members[1].zk
    zk.create_recursive(path, ReassignPartitionsZNode.encode({T0: [1, 2], TopicPartition("x", 0): [1]}))
    cluster.settle()
    assert zk.get_partition_reassignment() == {T0: [1, 2]}
    assert reassigning(cluster) == {T0: ReplicaAssignment((1, 2), (2,))}
    cluster.alter_isr("t", 0, [1, 2])
    assert not zk.path_exists(path)
    zk.create_recursive(path, ReassignPartitionsZNode.encode({T0: [2, 1]}))
    cluster.settle()
    assert written(cluster) == ReplicaAssignment((2, 1))
    assert not zk.path_exists(path)


def test_the_api_overrides_the_legacy_znode() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [1]})
    zk = cluster.members[1].zk
    zk.create_recursive(ReassignPartitionsZNode.path, ReassignPartitionsZNode.encode({T0: [1, 2]}))
    cluster.settle()
    alter(cluster, t0=[1, 3])
    assert not zk.path_exists(ReassignPartitionsZNode.path)
    assert reassigning(cluster) == {T0: ReplicaAssignment((1, 3), (3,))}
