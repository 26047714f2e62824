"""The controller goes at every moment of its work, and the next one finishes it.

Each scenario is run once undisturbed, to count what its controller writes, and then once for each write and each way to go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest
from kafkapy.zk.requests import Create, Delete, Multi, SetData
from kafkapy.zk.zk_data import TopicZNode
from tests.controller.controller_cluster import Cluster, Member

OTHERS = (2, 3, 4)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Died(BaseException):
    """The process ends in the midst of what it does."""


class Scenario:
    """What happens before, and what the controller is asked to do when it goes."""

    def __init__(self, prepare: Callable[[Cluster], object], act: Callable[[Cluster], object], target: Any) -> None:
        self.prepare = prepare
        self.act = act
        self.target: dict[int, tuple[int, ...]] | None = target
        """Replicas of each partition of t at the end; None: the topic is gone."""


def create(cluster: Cluster) -> None:
    cluster.members[2].zk.create_topic_assignment("t", b"t" * 16, {0: [2, 3], 1: [3, 4]})


def created(cluster: Cluster) -> None:
    create(cluster)
    cluster.settle()


def alone(cluster: Cluster) -> None:
    """Nobody leads: the only replica is gone."""
    cluster.create_topic("t", {0: [3], 1: [3]})
    cluster.kill(3)
    cluster.settle()


def away(cluster: Cluster) -> None:
    """2 is preferred for t-0 and in sync, 3 leads."""
    created(cluster)
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    cluster.alter_isr("t", 0, [3, 2])
    assert cluster.state("t", 0).leader == 3


def moving(cluster: Cluster) -> None:
    created(cluster)
    move(cluster)
    cluster.settle()


def move(cluster: Cluster) -> None:
    cluster.controller.alter_partition_reassignments({T0: [4, 3], T1: [2]}.items(), lambda _: None)


def cancel(cluster: Cluster) -> None:
    cluster.controller.alter_partition_reassignments({T0: None, T1: None}.items(), lambda _: None)


def caught_up(cluster: Cluster) -> None:
    request = cluster.alter_partition_request("t", 0, [2, 3, 4])
    cluster.controller.alter_partition(request, 3, lambda _: None)


def elect(cluster: Cluster) -> None:
    cluster.controller.elect_leaders([T0, T1], ElectionType.PREFERRED, lambda _: None)


def shut_down(cluster: Cluster) -> None:
    cluster.controller.controlled_shutdown(3, cluster.members[3].epoch, lambda _: None)


AS_CREATED = {0: (2, 3), 1: (3, 4)}
MOVED = {0: (4, 3), 1: (2,)}

SCENARIOS: dict[str, Scenario] = {
    "creation": Scenario(lambda _: None, create, AS_CREATED),
    "a broker dies": Scenario(created, lambda cluster: cluster.kill(3), AS_CREATED),
    "the only broker comes back": Scenario(alone, lambda cluster: cluster.start(3), {0: (3,), 1: (3,)}),
    "a reassignment begins": Scenario(created, move, MOVED),
    "a reassignment ends": Scenario(moving, caught_up, MOVED),
    "a reassignment is cancelled": Scenario(moving, cancel, {0: (3, 2), 1: (3, 4)}),
    "a preferred leader": Scenario(away, elect, AS_CREATED),
    "controlled shutdown": Scenario(created, shut_down, AS_CREATED),
    "deletion": Scenario(created, lambda cluster: cluster.members[2].zk.create_delete_topic_paths(["t"]), None),
}


def at_write(cluster: Cluster, member: Member, number: int, after: bool, happens: Callable[[], object]) -> None:
    """Something happens before (or after) the member's write of this number is sent to ZooKeeper."""
    count = 0
    handle = member.client._handle

    def counted(request: Any) -> Any:
        nonlocal count
        mine = isinstance(request, Multi | Create | SetData | Delete)
        count += mine
        if mine and count == number and not after:
            happens()
        response = handle(request)
        if mine and count == number and after:
            happens()
        return response

    member.client._handle = counted  # type: ignore[method-assign]  # around the real one


def writes_of(scenario: Scenario) -> int:
    cluster = Cluster(1, *OTHERS)
    scenario.prepare(cluster)
    count = 0

    def one_more() -> None:
        nonlocal count
        count += 1

    for number in range(1, 50):
        at_write(cluster, cluster.members[1], number, False, one_more)
    scenario.act(cluster)
    cluster.settle()
    return count


def finish(cluster: Cluster, scenario: Scenario) -> None:
    """What anybody would do: the admin asks again for what may not have been noted, followers catch up."""
    for broker in OTHERS:
        if broker not in cluster.members:
            cluster.start(broker)
    cluster.settle()
    if scenario.target is None:
        return
    wanted = {TopicPartition("t", index): replicas for index, replicas in scenario.target.items()}
    cluster.controller.alter_partition_reassignments(
        {p: None if scenario.act is cancel else list(replicas) for p, replicas in wanted.items()}.items(),
        lambda _: None,
    )
    cluster.settle()
    for partition in wanted:
        replicas = TopicZNode.decode("t", cluster.zookeeper.node("/brokers/topics/t").data).assignment[
            partition.partition
        ]
        if set(cluster.state("t", partition.partition).isr) != set(replicas.replicas):
            cluster.alter_isr("t", partition.partition, list(replicas.replicas))


def check(cluster: Cluster, scenario: Scenario, sent: list[tuple[int, Any]]) -> None:
    """ZooKeeper, the controller's context and what the brokers were told agree with each other, and with the target."""
    context = cluster.controller.context
    assert not context.partitions_being_reassigned
    if scenario.target is None:
        assert "/brokers/topics/t" not in cluster.zookeeper.nodes
        assert "/admin/delete_topics/t" not in cluster.zookeeper.nodes
        assert not context.all_topics and not context.replica_states and not context.topics_to_be_deleted
        return
    znode = TopicZNode.decode("t", cluster.zookeeper.node("/brokers/topics/t").data)
    assert {p: assignment.replicas for p, assignment in znode.assignment.items()} == scenario.target
    known = told(sent)
    for index, replicas in scenario.target.items():
        partition, state = TopicPartition("t", index), cluster.state("t", index)
        assert context.leadership[partition].leader_and_isr == state
        assert set(state.isr) == set(replicas)
        assert state.leader in replicas
        assert context.replica_assignment(partition).replicas == replicas
        for broker in replicas:
            assert known[broker, partition] == (state.leader, state.leader_epoch), f"broker {broker}, {partition}"


def told(sent: list[tuple[int, Any]]) -> dict[tuple[int, TopicPartition], tuple[int, int]]:
    """(leader, leader epoch) that each broker believes in, fenced as brokers do it."""
    epochs: dict[int, int] = {}
    known: dict[tuple[int, TopicPartition], tuple[int, int]] = {}
    for broker, request in sent:
        if request.controller_epoch < epochs.get(broker, 0):
            continue
        epochs[broker] = request.controller_epoch
        if not isinstance(request, LeaderAndIsrRequest | StopReplicaRequest):
            continue
        for topic in request.topic_states:
            for state in topic.partition_states:
                key = (broker, TopicPartition(topic.topic_name, state.partition_index))
                epoch = known.get(key, (-1, -1))[1]
                if isinstance(state, LeaderAndIsrRequest.LeaderAndIsrPartitionState):
                    if state.leader_epoch > epoch:
                        known[key] = (state.leader, state.leader_epoch)
                elif state.delete_partition and (state.leader_epoch < 0 or state.leader_epoch >= epoch):
                    known.pop(key, None)
    return known


@pytest.mark.parametrize("way", ["dies before", "dies after", "is replaced before", "is replaced after"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_next_controller_finishes_it(name: str, way: str) -> None:
    scenario = SCENARIOS[name]
    writes = writes_of(scenario)
    assert writes
    for number in range(1, writes + 1):
        cluster = Cluster(1, *OTHERS)
        scenario.prepare(cluster)
        first = cluster.members[1]
        before = len(first.channel.sent)

        def die() -> None:
            raise Died

        def replace(cluster: Cluster = cluster) -> None:
            """Its session has ended without its knowing: another broker is elected, and has done all it has to by now."""
            cluster.zookeeper.end_session(cluster.members[1].client.session_id)
            successor = cluster.members[2]
            for _ in range(3):
                successor.controller.events.process_all()
                successor.channel.answer_all()

        at_write(cluster, first, number, way.endswith("after"), die if way.startswith("dies") else replace)
        try:
            scenario.act(cluster)
            cluster.settle()
        except Died:
            pass
        lost = first.channel.sent[before:]
        cluster.kill(1)
        cluster.settle()
        finish(cluster, scenario)
        later = [request for member in cluster.members.values() for request in member.channel.sent]
        check(cluster, scenario, first.channel.sent[:before] + lost + later)
        check(cluster, scenario, first.channel.sent[:before] + later)
