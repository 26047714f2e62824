"""Spreads the standby tasks of each task over instances with different tags (KIP-708; Kafka's
`ClientTagAwareStandbyTaskAssignor`)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.constrained_priority_set import ConstrainedPrioritySet
from kafkapy.streams.assignment.task_id import ProcessId, TaskId

log = logging.getLogger("kafkapy.streams")

Clients = Mapping[ProcessId, ClientState]
Tag = tuple[str, str]

_FIRST_BUCKETS: Final = 16


def add_standbys_by_tags(clients: Clients, tasks: Iterable[TaskId], replicas: int, keys: Collection[str]) -> None:
    """Assign standby tasks to instances whose tags differ from those of the task and of its other standby tasks; if
    there are none, to the least loaded instances.

    Args:
        clients: By ascending process id; active tasks are assigned.
        tasks: The stateful tasks, in order.
        replicas: `num.standby.replicas`.
        keys: `rack.aware.assignment.tags`.
    """
    _Spread(clients, replicas, keys).assign(list(tasks))


def may_balance(source: ClientState, destination: ClientState) -> bool:
    """Return whether standby tasks may be moved for balance: only to instances with the same tags."""
    return all(destination.tags.get(key) == value for key, value in source.tags.items())


def may_exchange(source: ClientState, destination: ClientState, task: TaskId, clients: Clients) -> bool:
    """Return whether a move of a standby task keeps the number of different tags of the task's replicas."""
    ends = (source.process_id, destination.process_id)
    others: set[Tag] = set()
    for process, client in clients.items():
        if client.has(task) and process not in ends:
            others |= client.tags.items()
    return len(others | destination.tags.items()) >= len(others | source.tags.items())


class _Spread:
    """A distribution in progress.

    Invariant: `_left` has the number of missing standby tasks by task.
    """

    def __init__(self, clients: Clients, replicas: int, keys: Collection[str]) -> None:
        self._clients = clients
        self._replicas = replicas
        self._keys = keys
        self._left: dict[TaskId, int] = {}
        self._values: dict[str, set[str]] = {}
        self._with_tag: dict[Tag, set[ProcessId]] = {}
        for process, client in clients.items():
            for key, value in client.tags.items():
                self._values.setdefault(key, set()).add(value)
                self._with_tag.setdefault((key, value), set()).add(process)
        self._queue = ConstrainedPrioritySet(
            lambda process, task: not clients[process].has(task), lambda process: clients[process].load
        )

    def assign(self, tasks: list[TaskId]) -> None:
        self._left = dict.fromkeys(tasks, self._replicas)
        for task in tasks:
            for process, client in self._clients.items():
                if task in client.active:
                    self._spread(task, process)
        self._queue.offer_all(self._clients)
        for task in sorted(self._left, key=lambda task: _bucket(task, len(tasks))):
            self._add_anywhere(task)

    def _spread(self, task: TaskId, active: ProcessId) -> None:
        self._queue.offer_all(self._clients)
        used: dict[Tag, set[ProcessId]] = {}
        last, count, left = active, 1, self._replicas
        while left:
            self._use(last, count, used)
            process = self._queue.poll(task, lambda one: not any(one in processes for processes in used.values()))
            if process is None:
                break
            count += 1
            left -= 1
            self._clients[process].assign_standby(task)
            last = process
        if left:
            self._left[task] = left
            log.warning(
                "%d of %d standby tasks of task %s cannot be on instances with other tags of %s than the rest: they go to "
                "the least loaded instances",
                left, self._replicas, task, ", ".join(sorted(self._keys)),
            )  # fmt: skip
        else:
            del self._left[task]

    def _use(self, process: ProcessId, count: int, used: dict[Tag, set[ProcessId]]) -> None:
        """Exclude the instances with the tags of one; a tag of which all values are used is ignored from then on."""
        for key, value in self._clients[process].tags.items():
            if key not in self._keys:
                continue
            values = self._values[key]
            if len(values) <= count:
                for one in values:
                    used.pop((key, one), None)
            else:
                used[key, value] = self._with_tag[key, value]

    def _add_anywhere(self, task: TaskId) -> None:
        for _ in range(self._left[task]):
            process = self._queue.poll(task)
            if process is None:
                return
            self._clients[process].assign_standby(task)
            self._queue.offer(process)


def _bucket(task: TaskId, count: int) -> int:
    """Return a task's bucket in a Java HashMap of `count` tasks, for Java's iteration order."""
    buckets = _FIRST_BUCKETS
    while count * 4 > buckets * 3:
        buckets *= 2
    code = (31 * (31 * (31 + task.subtopology) + task.partition)) & 0xFFFFFFFF
    return (code ^ (code >> 16)) & (buckets - 1)
