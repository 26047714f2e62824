"""Tasks shared out: as Java's HighAvailabilityTaskAssignor did in 40 random situations, and what is always true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.high_availability import AssignmentConfigs, assign, assign_to_previous
from kafkapy.streams.assignment.subscription_info import LATEST_OFFSET
from kafkapy.streams.assignment.task_id import ProcessId, TaskId, parse_task_id

JAVA = json.loads((Path(__file__).parent / "java_assignments.json").read_text())


@pytest.mark.parametrize("number", range(len(JAVA)))
def test_tasks_go_where_java_puts_them(number: int) -> None:
    situation, outcome = JAVA[number]
    clients = {}
    for one in situation["clients"]:
        process = ProcessId(*one["id"])
        lags = {parse_task_id(task): lag for task, lag in one["lags"].items()}
        clients[process] = client(process, one["capacity"], lags)
    configs = AssignmentConfigs(situation["lag"], situation["warm"], situation["standby"])
    probe = assign(clients, tasks(situation["tasks"]), tasks(situation["stateful"]), configs)
    shares = [
        {kind: [str(task) for task in sorted(getattr(clients[process], kind))] for kind in ("active", "standby")}
        for process in sorted(clients)
    ]
    assert {"probe": probe, "clients": shares} == outcome


def tasks(names: Any) -> list[TaskId]:
    return [parse_task_id(name) for name in names]


def client(process: ProcessId, capacity: int, lags: dict[TaskId, int]) -> ClientState:
    state = ClientState(process)
    state.capacity = capacity
    state.lags = lags
    return state


@given(st.data())
def test_each_task_runs_once_and_no_copy_lies_beside_it(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 5))
    all_tasks = [TaskId(group, number) for group in range(2) for number in range(data.draw(st.integers(1, 4)))]
    stateful = [task for task in all_tasks if task.subtopology == 0]
    clients = {}
    for number in range(count):
        lags = {task: data.draw(st.sampled_from([LATEST_OFFSET, 0, 7, 20_000])) for task in stateful}
        process = ProcessId(0, number)
        clients[process] = client(process, data.draw(st.integers(1, 3)), lags)
    standbys = data.draw(st.integers(0, 2))
    assign(clients, all_tasks, stateful, AssignmentConfigs(num_standby_replicas=standbys))
    assert sorted(task for one in clients.values() for task in one.active) == sorted(all_tasks)
    for one in clients.values():
        assert not one.active & one.standby
        assert one.standby <= set(stateful)


def test_without_the_ends_of_changelogs_tasks_stay() -> None:
    first, second = client(ProcessId(0, 1), 1, {}), client(ProcessId(0, 2), 1, {})
    second.previous_active = {TaskId(0, 0), TaskId(0, 1)}
    clients = {ProcessId(0, 1): first, ProcessId(0, 2): second}
    assert assign_to_previous(clients, [TaskId(0, 0), TaskId(0, 1), TaskId(0, 2)], [])
    assert second.active == {TaskId(0, 0), TaskId(0, 1)}
    assert first.active == {TaskId(0, 2)}
