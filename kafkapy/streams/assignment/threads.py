"""Assigns the tasks of an instance to its members (threads)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, MutableMapping

from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.task_id import TaskId


def assign_tasks_to_threads(
    tasks: Iterable[TaskId], stateful: bool, members: Iterable[str], state: ClientState, load: MutableMapping[str, int]
) -> dict[str, list[TaskId]]:
    """Balance tasks over members; a stateful task stays with the member that has its state if the balance allows it.

    Args:
        tasks: Tasks of the instance.
        stateful: Whether the tasks are stateful.
        members: Members of the instance.
        state: The previous tasks of the members.
        load: Number of tasks that each member has already; incremented by this function.

    Returns:
        The tasks of each member.
    """
    shares = _Shares(sorted(tasks), sorted(members), load)
    if shares.unassigned:
        shares.give_back(state if stateful else None)
        shares.fill()
        shares.give_rest()
    for member, share in shares.tasks.items():
        load[member] = load.get(member, 0) + len(share)
    return shares.tasks


class _Shares:
    """The assignment in progress.

    Invariant: each task is either in `unassigned`, in order, or assigned to one member.
    """

    def __init__(self, tasks: list[TaskId], members: list[str], load: Mapping[str, int]) -> None:
        self.unassigned = tasks
        self.tasks: dict[str, list[TaskId]] = {member: [] for member in members}
        self._load = load
        self._least = (len(tasks) + sum(load.values())) // len(members)
        """The minimum number of tasks of each member, including its load."""
        self._to_fill: deque[str] = deque()
        self._previous: dict[TaskId, str] = {}
        """Tasks whose previous member has reached the minimum."""

    def give_back(self, state: ClientState | None) -> None:
        """Assign tasks to their previous members, up to the minimum."""
        for member, share in self.tasks.items():
            target = self._least - self._load.get(member, 0)
            for task in [] if state is None else state.previous_tasks_by_lag(member):
                if task not in self.unassigned:
                    continue
                if len(share) < target:
                    self._give(task, member)
                else:
                    self._previous[task] = member
            if len(share) < target:
                self._to_fill.append(member)

    def fill(self) -> None:
        """Assign tasks round-robin to members below the minimum."""
        while self._to_fill:
            if not self.unassigned:
                raise ValueError("Ran out of unassigned stateful tasks but some members were not at capacity")
            member = self._to_fill.popleft()
            self._give(self.unassigned[0], member)
            if self._total(member) < self._least:
                self._to_fill.append(member)

    def give_rest(self) -> None:
        """Assign one more task each to as many members as tasks are left, to previous owners first."""
        if not self.unassigned:
            return
        open_members = deque(member for member in self.tasks if self._total(member) == self._least)
        for task, member in sorted(self._previous.items()):
            if member in open_members and task in self.unassigned:
                self._give(task, member)
                open_members.remove(member)
        for task in list(self.unassigned):
            self._give(task, open_members.popleft())

    def _give(self, task: TaskId, member: str) -> None:
        self.unassigned.remove(task)
        self.tasks[member].append(task)

    def _total(self, member: str) -> int:
        return len(self.tasks[member]) + self._load.get(member, 0)
