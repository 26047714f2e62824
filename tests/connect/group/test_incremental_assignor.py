from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.time import MockTime
from kafkapy.connect.group.incremental_assignor import (
    ClusterAssignment,
    ConnectorsAndTasks,
    IncrementalCooperativeAssignor,
)
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId

DELAY_MS = 300_000


def config(**tasks: int) -> ClusterConfigState:
    return ClusterConfigState(connector_configs={name: {} for name in tasks}, task_counts=tasks)


class Cluster:
    """Members that do what they are told."""

    def __init__(self, max_delay_ms: int = DELAY_MS) -> None:
        self.time = MockTime()
        self.assignor = IncrementalCooperativeAssignor(self.time, max_delay_ms)
        self.owned: dict[str, ConnectorsAndTasks] = {}
        self.generation = 0

    def rebalance(self, state: ClusterConfigState, lost: tuple[str, ...] = ()) -> ClusterAssignment:
        """`lost`: members that do not hear of the outcome."""
        self.generation += 1
        made = self.assignor.assign(state, self.generation - 1 or -1, self.generation, self.owned)
        for member, owned in self.owned.items():
            if member not in lost:
                owned.remove(made.revoked.get(member, ConnectorsAndTasks()))
                owned.add(made.assigned.get(member, ConnectorsAndTasks()))
        return made

    def join(self, *members: str) -> None:
        for member in members:
            self.owned[member] = ConnectorsAndTasks()

    def shares(self) -> dict[str, tuple[int, int]]:
        return {member: (len(owned.connectors), len(owned.tasks)) for member, owned in self.owned.items()}


def revoked(made: ClusterAssignment) -> int:
    return sum(len(each.connectors) + len(each.tasks) for each in made.revoked.values())


def test_work_is_dealt_out_evenly() -> None:
    cluster = Cluster()
    cluster.join("a", "b")
    made = cluster.rebalance(config(x=4, y=4))
    assert cluster.shares() == {"a": (1, 4), "b": (1, 4)} and revoked(made) == 0


def test_a_new_member_gets_its_share_in_the_second_rebalance() -> None:
    cluster = Cluster()
    cluster.join("a")
    cluster.rebalance(config(x=4, y=4))
    cluster.join("b")
    assert revoked(cluster.rebalance(config(x=4, y=4))) == 5
    cluster.rebalance(config(x=4, y=4))
    assert cluster.shares() == {"a": (1, 4), "b": (1, 4)}


def test_a_members_work_waits_for_it_until_the_delay_is_over() -> None:
    cluster = Cluster()
    cluster.join("a", "b")
    cluster.rebalance(config(x=4))
    gone = cluster.owned.pop("b")
    cluster.rebalance(config(x=4))
    assert cluster.assignor.delay == DELAY_MS and cluster.shares() == {"a": (1, 2)}
    cluster.time.advance(DELAY_MS - 1)
    cluster.rebalance(config(x=4))
    assert cluster.assignor.delay == 1 and cluster.shares() == {"a": (1, 2)}
    cluster.time.advance(1)
    cluster.rebalance(config(x=4))
    assert len(gone.tasks) == 2 and cluster.shares() == {"a": (1, 4)} and cluster.assignor.delay == 0


def test_a_member_that_comes_back_gets_what_was_lost() -> None:
    cluster = Cluster()
    cluster.join("a", "b")
    cluster.rebalance(config(x=4))
    gone = cluster.owned.pop("b")
    cluster.rebalance(config(x=4))
    cluster.join("b-again")
    cluster.rebalance(config(x=4))
    cluster.time.advance(DELAY_MS)
    cluster.rebalance(config(x=4))
    assert cluster.owned["b-again"].tasks.keys() == gone.tasks.keys()


def test_without_a_delay_lost_work_moves_at_once() -> None:
    cluster = Cluster(max_delay_ms=0)
    cluster.join("a", "b")
    cluster.rebalance(config(x=4))
    del cluster.owned["b"]
    cluster.rebalance(config(x=4))
    assert cluster.shares() == {"a": (1, 4)}


def test_an_assignment_that_a_member_did_not_get_is_made_again() -> None:
    cluster = Cluster()
    cluster.join("a", "b")
    cluster.rebalance(config(x=4), lost=("b",))
    cluster.rebalance(config(x=4))
    assert sum(tasks for _, tasks in cluster.shares().values()) == 4 and cluster.assignor.delay == 0


def test_a_deleted_connector_is_revoked() -> None:
    cluster = Cluster()
    cluster.join("a", "b")
    cluster.rebalance(config(x=2, y=2))
    made = cluster.rebalance(config(x=2))
    assert all(task.connector == "y" for each in made.revoked.values() for task in each.tasks)
    assert sum(tasks for _, tasks in cluster.shares().values()) == 2


def test_what_two_members_have_is_taken_from_both() -> None:
    cluster = Cluster()
    cluster.join("a", "b")
    for owned in cluster.owned.values():
        owned.tasks[ConnectorTaskId("x", 0)] = None
    made = cluster.rebalance(config(x=1))
    assert all(list(each.tasks) == [ConnectorTaskId("x", 0)] for each in made.revoked.values())
    cluster.rebalance(config(x=1))
    assert sum(tasks for _, tasks in cluster.shares().values()) == 1


def test_revocations_in_a_row_are_slowed_down() -> None:
    cluster = Cluster()
    cluster.join("a")
    cluster.rebalance(config(x=8))
    delays = []
    for member in "bcd":
        cluster.join(member)
        cluster.rebalance(config(x=8))
        delays.append(cluster.assignor.delay)
    assert delays[0] == 0 and any(delays[1:])


def test_a_generation_that_was_not_completed_is_forgotten() -> None:
    time = MockTime()
    assignor = IncrementalCooperativeAssignor(time, DELAY_MS)
    owned: Mapping[str, ConnectorsAndTasks] = {"a": ConnectorsAndTasks()}
    assignor.assign(config(x=1), -1, 1, owned)
    made = assignor.assign(config(x=1), -1, 2, owned)
    assert list(made.assigned["a"].tasks) == [ConnectorTaskId("x", 0)] and assignor.delay == 0
