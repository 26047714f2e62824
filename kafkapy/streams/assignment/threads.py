"""Shares out the tasks of an instance among its members (threads)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, MutableMapping

from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.task_id import TaskId


def assign_tasks_to_threads(
    tasks: Iterable[TaskId], stateful: bool, members: Iterable[str], state: ClientState, load: MutableMapping[str, int]
) -> dict[str, list[TaskId]]:
    """Share out tasks evenly; those with state go to the member that has it, where that leaves the shares even.

    Args:
        tasks: Of the instance.
        stateful: Whether they have state.
        members: Of the instance.
        state: What its members had.
        load: How many tasks each member has already; those given here are added.

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
    """Shares under way.

    Invariant: each task is either in `unassigned`, in order, or in one share.
    """

    def __init__(self, tasks: list[TaskId], members: list[str], load: Mapping[str, int]) -> None:
        self.unassigned = tasks
        self.tasks: dict[str, list[TaskId]] = {member: [] for member in members}
        self._load = load
        self._least = (len(tasks) + sum(load.values())) // len(members)
        """What each member gets at least, its load included."""
        self._to_fill: deque[str] = deque()
        self._previous: dict[TaskId, str] = {}
        """Tasks whose last member had its share."""

    def give_back(self, state: ClientState | None) -> None:
        """Tasks to the members that had them, up to the least share."""
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
        """Give tasks in turn to members that have less than the least share."""
        while self._to_fill:
            if not self.unassigned:
                raise ValueError("Ran out of unassigned stateful tasks but some members were not at capacity")
            member = self._to_fill.popleft()
            self._give(self.unassigned[0], member)
            if self._total(member) < self._least:
                self._to_fill.append(member)

    def give_rest(self) -> None:
        """One more task to each of as many members as there are tasks left, again first to those that had them."""
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
