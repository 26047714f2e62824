"""Tasks that go by racks and tags: as Java's assignor put them in 120 random situations, and the rules one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.client_tags import may_balance, may_exchange
from kafkapy.streams.assignment.high_availability import AssignmentConfigs, assign
from kafkapy.streams.assignment.min_cost_flow import FlowGraph
from kafkapy.streams.assignment.rack_aware import NONE, Racks, client_racks
from kafkapy.streams.assignment.task_id import ProcessId, TaskId, parse_task_id

JAVA = json.loads((Path(__file__).parent / "java_rack_assignments.json").read_text())


@pytest.mark.parametrize("number", range(len(JAVA)))
def test_tasks_go_where_java_puts_them(number: int) -> None:
    situation, outcome = JAVA[number]
    clients = {}
    for one in situation["clients"]:
        state = ClientState(ProcessId(*one["id"]), one["tags"])
        state.capacity = one["capacity"]
        state.lags = {parse_task_id(task): lag for task, lag in one["lags"].items()}
        clients[state.process_id] = state
    configs = AssignmentConfigs(
        situation["lag"],
        situation["warm"],
        situation["standby"],
        rack_aware_tags=tuple(situation["keys"]),
        rack_aware_strategy=situation["strategy"],
        rack_aware_traffic_cost=situation["traffic"],
        rack_aware_non_overlap_cost=situation["overlap"],
    )
    tasks, stateful = ([parse_task_id(name) for name in situation[kind]] for kind in ("tasks", "stateful"))
    probe = assign(clients, tasks, stateful, configs, racks_of(situation, tasks))
    shares = [
        {kind: [str(task) for task in sorted(getattr(clients[process], kind))] for kind in ("active", "standby")}
        for process in sorted(clients)
    ]
    assert {"probe": probe, "clients": shares} == outcome


def racks_of(situation: dict[str, Any], tasks: list[TaskId]) -> Racks | None:
    if situation["strategy"] == NONE:
        return None
    partitions: dict[TaskId, list[TopicPartition]] = {task: [] for task in tasks}
    changelogs: dict[TaskId, list[TopicPartition]] = {task: [] for task in tasks}
    where = {}
    for name, racks in situation["racks"].items():
        topic, _, number = name.rpartition("-")
        partition = TopicPartition(topic, int(number))
        task = TaskId(int(topic.rpartition("-")[2]), partition.partition)
        (changelogs if topic.startswith("log") else partitions)[task].append(partition)
        where[partition] = racks
    of_process = {ProcessId(*one["id"]): one["rack"] for one in situation["clients"]}
    return Racks(of_process, where, partitions, changelogs)


def test_the_cheapest_flow() -> None:
    """Two tasks on the wrong instances change places; the cost of staying decides."""

    def graph(remote: int) -> FlowGraph:
        found = FlowGraph(-1, 4)
        for task, client, cost, flow in ((0, 2, remote, 1), (0, 3, 1, 0), (1, 2, 1, 0), (1, 3, remote, 1)):
            found.add(task, client, 1, cost, flow)
        for task in (0, 1):
            found.add(-1, task, 1, 0, 1)
        for client in (2, 3):
            found.add(client, 4, 1, 0, 1)
        return found

    moved, stays = graph(10), graph(0)
    assert (moved.total_cost(), stays.total_cost()) == (20, 0)
    moved.find_least_cost()
    stays.find_least_cost()
    assert [edge.flow for edge in moved.edges(0)] == [0, 1]
    assert moved.total_cost() == 2
    assert [edge.flow for edge in stays.edges(0)] == [1, 0]


def test_the_greatest_flow() -> None:
    graph = FlowGraph(0, 3)
    for start, end, capacity in ((0, 1, 3), (0, 2, 2), (1, 2, 5), (1, 3, 2), (2, 3, 3)):
        graph.add(start, end, capacity, 0, 0)
    assert graph.find_greatest_flow() == 5
    with pytest.raises(ValueError, match="already an edge"):
        graph.add(1, 0, 1, 0, 0)
    with pytest.raises(ValueError, match="cannot exceed capacity"):
        graph.add(0, 3, 1, 0, 2)


def test_the_rack_of_an_instance_is_what_all_its_members_say() -> None:
    one, other = ProcessId(0, 1), ProcessId(0, 2)
    assert client_racks({one: ["a", "a"], other: ["b"]}) == {one: "a", other: "b"}
    assert client_racks({one: ["a", "b"]}) is None
    assert client_racks({one: ["a"], other: [None]}) is None
    assert client_racks({one: [""]}) is None


def test_standby_tasks_may_move_where_tags_stay_as_different() -> None:
    states = [ClientState(ProcessId(0, number), {"zone": zone}) for number, zone in enumerate("aab")]
    first, same, other = states
    assert may_balance(first, same)
    assert not may_balance(first, other)
    clients = {state.process_id: state for state in states}
    task = TaskId(0, 0)
    other.active.add(task)
    first.standby.add(task)
    assert may_exchange(first, same, task, clients)
    other.active.clear()
    same.active.add(task)
    assert may_exchange(first, other, task, clients)
    assert not may_exchange(other, first, task, clients)
