"""Assigns each task to an instance that has its state, or warms up a replica first (KIP-441).

Kafka's `HighAvailabilityTaskAssignor`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Final, NamedTuple

from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.client_tags import add_standbys_by_tags, may_balance, may_exchange
from kafkapy.streams.assignment.constrained_priority_set import ConstrainedPrioritySet
from kafkapy.streams.assignment.rack_aware import (
    NONE,
    STATELESS_COSTS,
    Costs,
    Racks,
    optimize_active,
    optimize_standbys,
)
from kafkapy.streams.assignment.subscription_info import LATEST_OFFSET
from kafkapy.streams.assignment.task_id import ProcessId, TaskId

Clients = Mapping[ProcessId, ClientState]
_TRAFFIC_COST: Final = 10
_NON_OVERLAP_COST: Final = 1


class AssignmentConfigs(NamedTuple):
    """The configs of the assignment; see `StreamsConfig`. Costs of None are Kafka's defaults: 10 for traffic and 1 for
    a moved task."""

    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    num_standby_replicas: int = 0
    probing_rebalance_interval_ms: int = 600_000
    rack_aware_tags: tuple[str, ...] = ()
    rack_aware_strategy: str = NONE
    rack_aware_traffic_cost: int | None = None
    rack_aware_non_overlap_cost: int | None = None

    @property
    def costs(self) -> Costs:
        """Return the costs for stateful tasks."""
        traffic, non_overlap = self.rack_aware_traffic_cost, self.rack_aware_non_overlap_cost
        return Costs(
            _TRAFFIC_COST if traffic is None else traffic, _NON_OVERLAP_COST if non_overlap is None else non_overlap
        )


def assign(
    clients: Clients,
    all_tasks: Collection[TaskId],
    stateful: Collection[TaskId],
    configs: AssignmentConfigs,
    racks: Racks | None = None,
) -> bool:
    """Assign the tasks: set `active` and `standby` of the clients.

    Stateful tasks are first balanced. Then a task whose instance lacks its state is moved to one that has it, and up
    to `max.warmup.replicas` of these tasks get a warmup replica at the balanced place.

    Args:
        clients: The instances.
        all_tasks: All tasks.
        stateful: Those with state.
        configs: The configs.
        racks: Racks of instances and partitions; None: they are not known, or the assignment is not rack-aware.

    Returns:
        Whether tasks are not at their balanced places yet, so that the group rebalances after
        `probing.rebalance.interval.ms`.
    """
    ordered = {process: clients[process] for process in sorted(clients)}
    tasks = sorted(stateful)
    _spread_active(ordered, tasks)
    if racks is not None:
        optimize_active(ordered, tasks, racks, configs.rack_aware_strategy, configs.costs)
    if configs.num_standby_replicas:
        _add_standbys(ordered, tasks, configs, racks)
    moves = _Movements(ordered, tasks, configs)
    moved = moves.move_active() + moves.move_standbys()
    stateless = sorted(set(all_tasks) - set(tasks))
    _add_stateless(ordered, stateless)
    if racks is not None:
        optimize_active(ordered, stateless, racks, configs.rack_aware_strategy, STATELESS_COSTS)
    return moved > 0


def assign_to_previous(clients: Clients, all_tasks: Collection[TaskId], stateful: Collection[TaskId]) -> bool:
    """Assign tasks to their previous owners, the rest to the least loaded instances: for unknown end offsets of
    changelogs.

    Another rebalance has to follow.
    """
    ordered = {process: clients[process] for process in sorted(clients)}
    left = set(all_tasks)
    for client in ordered.values():
        for task in sorted(client.previous_active & left):
            client.assign_active(task)
            left.discard(task)
    queue = ConstrainedPrioritySet(lambda process, task: True, lambda process: ordered[process].load)
    queue.offer_all(ordered)
    for task in sorted(left):
        process = queue.poll(task)
        assert process is not None
        ordered[process].assign_active(task)
        queue.offer(process)
    return True


def _spread_active(clients: Clients, tasks: Iterable[TaskId]) -> None:
    for client, task in zip(cycle(clients.values()), tasks, strict=False):
        client.assign_active(task)
    _balance(clients, lambda client: client.active)


def _add_standbys(clients: Clients, tasks: Sequence[TaskId], configs: AssignmentConfigs, racks: Racks | None) -> None:
    tagged = bool(configs.rack_aware_tags)
    if tagged:
        add_standbys_by_tags(clients, tasks, configs.num_standby_replicas, configs.rack_aware_tags)
    else:
        _add_standbys_by_load(clients, tasks, configs.num_standby_replicas)
    _balance(clients, lambda client: client.standby, may_balance if tagged else _always)
    if racks is not None:

        def can_move(source: ClientState, destination: ClientState, task: TaskId) -> bool:
            return not tagged or may_exchange(source, destination, task, clients)

        optimize_standbys(clients, racks, configs.costs, can_move)


def _always(source: ClientState, destination: ClientState) -> bool:
    return True


def _add_standbys_by_load(clients: Clients, tasks: Iterable[TaskId], replicas: int) -> None:
    queue = ConstrainedPrioritySet(
        lambda process, task: not clients[process].has(task), lambda process: clients[process].load
    )
    queue.offer_all(clients)
    for task in tasks:
        for _ in range(replicas):
            process = queue.poll(task)
            if process is None:
                break  # fewer instances than replicas
            clients[process].assign_standby(task)
            queue.offer(process)


def _add_stateless(clients: Clients, tasks: Iterable[TaskId]) -> None:
    queue = ConstrainedPrioritySet(lambda process, task: True, lambda process: clients[process].active_load)
    queue.offer_all(clients)
    for task in tasks:
        process = queue.poll(task)
        assert process is not None
        clients[process].assign_active(task)
        queue.offer(process)


def _balance(
    clients: Clients,
    tasks_of: Callable[[ClientState], set[TaskId]],
    may_move: Callable[[ClientState, ClientState], bool] = _always,
) -> None:
    """Move tasks from instances with more tasks per thread to those with fewer, until no move improves the balance."""
    moving = True
    while moving:
        moving = False
        for source in clients.values():
            for destination in clients.values():
                if source is destination:
                    continue
                for task in sorted(tasks_of(source)):
                    if not _evens_out(source, destination):
                        break
                    if not destination.has(task) and may_move(source, destination):
                        tasks_of(source).remove(task)
                        tasks_of(destination).add(task)
                        moving = True


def _evens_out(source: ClientState, destination: ClientState) -> bool:
    skew = source.load - destination.load
    if skew <= 0:
        return False
    after = (source.task_count - 1) / source.capacity - (destination.task_count + 1) / destination.capacity
    return 0 <= after < skew


class _Movements:
    """Moves tasks from their balanced places to caught-up instances (Kafka's `TaskMovement`).

    Invariant: `_caught_up` has the instances that run a stateful task or whose lag is acceptable; `_by_lag` has all
    instances by ascending lag; `_warmups_left` may become negative, as in Kafka.
    """

    def __init__(self, clients: Clients, tasks: Iterable[TaskId], configs: AssignmentConfigs) -> None:
        self._clients = clients
        self._warmups_left = configs.max_warmup_replicas
        self._warmups: dict[ProcessId, set[TaskId]] = {}
        acceptable = configs.acceptable_recovery_lag
        self._caught_up = {task: {p for p, c in clients.items() if _near(c.lags[task], acceptable)} for task in tasks}
        self._by_lag = {task: sorted(clients, key=lambda p, t=task: (clients[p].lags[t], p)) for task in tasks}  # type: ignore[misc]

    def move_active(self) -> int:
        """Move active tasks away from instances that are not caught up; return how many."""
        queue = self._queue()
        moves = self._wanted(lambda client: client.active)
        for task, destination in moves:
            self._move_active(queue, task, destination)
        return len(moves)

    def move_standbys(self) -> int:
        """Move standby replicas away from instances that are not caught up; return how many."""
        queue = self._queue()
        moves = self._wanted(lambda client: client.standby - self._warmups.get(client.process_id, set()))
        moved = 0
        for task, destination in moves:

            def free(process: ProcessId, task: TaskId = task) -> bool:
                return not self._clients[process].has(task)

            source = queue.poll(task, free) or self._most_caught_up(task, destination, free)
            if source is None:
                continue
            self._clients[source].assign_standby(task)
            if not self._take_warmup():
                self._clients[destination].standby.discard(task)
            queue.offer_all((source, destination))
            moved += 1
        return moved

    def _queue(self) -> ConstrainedPrioritySet:
        queue = ConstrainedPrioritySet(
            lambda process, task: process in self._caught_up[task],
            lambda process: self._clients[process].load,
        )
        queue.offer_all(self._clients)
        return queue

    def _wanted(self, tasks_of: Callable[[ClientState], set[TaskId]]) -> list[tuple[TaskId, ProcessId]]:
        """Return tasks and their instances if another one has a lower lag; those with the fewest caught-up instances
        first."""
        found = [
            (len(self._caught_up[task]), task, process)
            for process, client in self._clients.items()
            for task in sorted(tasks_of(client))
            if task in self._caught_up and self._has_better(task, process)
        ]
        return [(task, process) for _, task, process in sorted(found)]

    def _has_better(self, task: TaskId, process: ProcessId) -> bool:
        if process in self._caught_up[task]:
            return False
        return self._clients[self._by_lag[task][0]].lags[task] < self._clients[process].lags[task]

    def _move_active(self, queue: ConstrainedPrioritySet, task: TaskId, destination: ProcessId) -> None:
        clients = self._clients
        source = queue.poll(task, lambda process: task in clients[process].standby)
        if source is not None:
            self._swap(task, source, destination)
        else:
            source = queue.poll(task)
            if source is not None:
                self._move_and_warm_up(task, source, destination)
            else:
                source = self._most_caught_up(task, destination, lambda process: True)
                if source is None:
                    raise RuntimeError("Tried to move task to more caught-up client as scheduled before but none exist")
                move = self._swap if task in clients[source].standby else self._move_and_warm_up
                move(task, source, destination)
        queue.offer_all((source, destination))

    def _swap(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        self._clients[source].standby.remove(task)
        self._clients[source].assign_active(task)
        self._clients[destination].active.remove(task)
        self._clients[destination].assign_standby(task)

    def _move_and_warm_up(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        self._clients[source].assign_active(task)
        self._clients[destination].active.remove(task)
        warmups = self._warmups.setdefault(destination, set())
        if self._take_warmup():
            self._clients[destination].assign_standby(task)
            warmups.add(task)

    def _take_warmup(self) -> bool:
        self._warmups_left -= 1
        return self._warmups_left >= 0

    def _most_caught_up(
        self, task: TaskId, destination: ProcessId, allowed: Callable[[ProcessId], bool]
    ) -> ProcessId | None:
        """Return the instance with the lowest lag, if that is lower than the destination's."""
        for process in self._by_lag[task]:
            if process == destination:
                return None
            if allowed(process):
                return process
        return None


def _near(lag: int, acceptable: int) -> bool:
    return lag == LATEST_OFFSET or acceptable == 2**63 - 1 or 0 <= lag <= acceptable
