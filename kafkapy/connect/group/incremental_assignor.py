"""Makes assignments that move as little as possible (KIP-415; Kafka's `IncrementalCooperativeAssignor`).

A worker keeps its connectors and tasks until they are revoked. Those of a departed worker are reassigned only after a
delay, so that a restarted worker gets its tasks back. An overloaded worker's surplus is revoked in one rebalance and
assigned in the next.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.common.time import Time
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId

log = logging.getLogger("kafkapy.connect.group")

T = TypeVar("T", str, ConnectorTaskId)

_BACKOFF_FACTOR = 40


@dataclass
class ConnectorsAndTasks:
    """Connectors and tasks as sets that keep their order."""

    connectors: dict[str, None] = field(default_factory=dict)
    tasks: dict[ConnectorTaskId, None] = field(default_factory=dict)

    @classmethod
    def of(cls, connectors: Iterable[str] = (), tasks: Iterable[ConnectorTaskId] = ()) -> ConnectorsAndTasks:
        return cls(dict.fromkeys(connectors), dict.fromkeys(tasks))

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)

    def add(self, other: ConnectorsAndTasks) -> None:
        self.connectors.update(other.connectors)
        self.tasks.update(other.tasks)

    def remove(self, other: ConnectorsAndTasks) -> None:
        for connector in other.connectors:
            self.connectors.pop(connector, None)
        for task in other.tasks:
            self.tasks.pop(task, None)

    def minus(self, *others: ConnectorsAndTasks) -> ConnectorsAndTasks:
        """Return the elements that are in none of the others, sorted."""
        left = ConnectorsAndTasks.of(sorted(self.connectors), sorted(self.tasks))
        for other in others:
            left.remove(other)
        return left

    def common(self, other: ConnectorsAndTasks) -> ConnectorsAndTasks:
        return ConnectorsAndTasks.of(
            (c for c in self.connectors if c in other.connectors), (t for t in self.tasks if t in other.tasks)
        )


@dataclass(frozen=True)
class ClusterAssignment:
    """For each member: the new, the revoked, and all connectors and tasks after the rebalance."""

    assigned: Mapping[str, ConnectorsAndTasks] = field(default_factory=dict)
    revoked: Mapping[str, ConnectorsAndTasks] = field(default_factory=dict)
    all_assigned: Mapping[str, ConnectorsAndTasks] = field(default_factory=dict)


Loads = dict[str, ConnectorsAndTasks]


class IncrementalCooperativeAssignor:
    """Computes assignments, and keeps the leader's state between rebalances.

    Invariant: `_previous` is the result of the last assignment, including connectors and tasks that were lost then;
    `_revoked_before` are those that it revoked. `_scheduled_rebalance` is 0, or the time (ms) at which lost tasks are
    reassigned.

    Example:
        >>> from kafkapy.common.time import MockTime
        >>> assignor = IncrementalCooperativeAssignor(MockTime(), max_delay_ms=300_000)
        >>> config = ClusterConfigState(connector_configs={"a": {}}, task_counts={"a": 1})
        >>> made = assignor.assign(config, -1, 1, {"m1": ConnectorsAndTasks()})
        >>> list(made.assigned["m1"].tasks)
        [a-0]
    """

    def __init__(self, time: Time, max_delay_ms: int) -> None:
        """`max_delay_ms`: the worker's `scheduled.rebalance.max.delay.ms`; 0: lost tasks are reassigned
        immediately."""
        self._time = time
        self._max_delay_ms = max_delay_ms
        self._previous = ConnectorsAndTasks()
        self._revoked_before = ConnectorsAndTasks()
        self._revoked_in_previous = False
        self._candidates: dict[str, None] = {}
        self._scheduled_rebalance = 0
        self.delay = 0
        """Ms until the next rebalance; belongs to the last assignment."""
        self._previous_generation = -1
        self._previous_members: frozenset[str] = frozenset()
        self._successive_revocations = 0

    def assign(
        self,
        config: ClusterConfigState,
        last_completed_generation: int,
        generation: int,
        members: Mapping[str, ConnectorsAndTasks],
    ) -> ClusterAssignment:
        """Compute the assignment of one rebalance.

        Args:
            config: The configs.
            last_completed_generation: The last generation in which this member got an assignment.
            generation: The generation that the assignment is for.
            members: Member id -> its state.
        """
        if self._previous_generation != last_completed_generation:
            log.debug("The assignment of generation %d was not completed and is forgotten", self._previous_generation)
            self._previous = ConnectorsAndTasks()
        names = sorted(config.connectors)
        configured = ConnectorsAndTasks.of(names, (task for name in names for task in config.tasks(name)))
        members = {member: members[member] for member in hash_map_order(members)}
        active = ConnectorsAndTasks()
        for each in members.values():
            active.add(each)
        self._check_revoked(active)
        deleted = self._previous.minus(configured)
        duplicated = _duplicated(members.values())
        lost = self._previous.minus(active, deleted)
        created = configured.minus(self._previous, active)
        current = {member: each.minus(deleted) for member, each in members.items()}

        revoked: Loads = {}
        loads: Loads = {member: ConnectorsAndTasks.of(each.connectors, each.tasks) for member, each in members.items()}
        for unwanted in (deleted, duplicated):
            taken = {member: each.common(unwanted) for member, each in members.items()}
            _move(taken, loads, revoked)
        created.add(self._handle_lost(lost, loads))
        self._balance(configured, loads, revoked)
        _deal(loads, created.connectors, lambda load: load.connectors)
        _deal(loads, created.tasks, lambda load: load.tasks)

        self._remember(revoked, loads, lost)
        self._previous_generation = generation
        self._previous_members = frozenset(members)
        return ClusterAssignment(
            {member: _unsorted_minus(load, current[member]) for member, load in loads.items()},
            revoked,
            {
                member: _unsorted_minus(load, revoked.get(member, ConnectorsAndTasks()))
                for member, load in loads.items()
            },
        )

    def _check_revoked(self, active: ConnectorsAndTasks) -> None:
        """Detect members that did not get the last assignment: they still own what it revoked."""
        if self._revoked_before:
            if self._revoked_before.common(active):
                self._previous = active
            self._revoked_before = ConnectorsAndTasks()

    def _remember(self, revoked: Loads, loads: Loads, lost: ConnectorsAndTasks) -> None:
        previous = ConnectorsAndTasks()
        for load in loads.values():
            previous.add(load)
        for each in revoked.values():
            previous.remove(each)
            self._revoked_before.add(each)
        previous.add(lost)
        self._previous = previous

    # -- connectors and tasks of departed workers

    def _handle_lost(self, lost: ConnectorsAndTasks, loads: Loads) -> ConnectorsAndTasks:
        """Return the lost connectors and tasks to be assigned now. Sets the delay."""
        none = ConnectorsAndTasks()
        if not lost and not self._revoked_in_previous:
            self._reset_delay()
            return none
        now = int(self._time.milliseconds())
        if self._scheduled_rebalance <= 0 and self._previous_members <= loads.keys():
            return lost  # no member has left: one did not get its assignment
        if self._max_delay_ms == 0:
            return lost
        if 0 < self._scheduled_rebalance <= now:
            candidates = [loads[member] for member in self._candidates if member in loads]
            for position, connector in enumerate(lost.connectors if candidates else ()):
                candidates[position % len(candidates)].connectors[connector] = None
            for position, task in enumerate(lost.tasks if candidates else ()):
                candidates[position % len(candidates)].tasks[task] = None
            self._reset_delay()
            self._revoked_in_previous = False
            return none if candidates else lost
        self._candidates.update(dict.fromkeys(hash_map_order(member for member, load in loads.items() if not load)))
        if now < self._scheduled_rebalance:
            self.delay = min(self._scheduled_rebalance - now, self._max_delay_ms)
        else:
            self.delay = self._max_delay_ms
        self._scheduled_rebalance = now + self.delay
        return none

    def _reset_delay(self) -> None:
        self._candidates.clear()
        self._scheduled_rebalance = 0
        self.delay = 0

    # -- balance

    def _balance(self, configured: ConnectorsAndTasks, loads: Loads, revoked: Loads) -> None:
        if self.delay != 0:
            self._revoked_in_previous = False
            return
        surplus = _surplus(configured, loads)
        if self._revoked_in_previous and surplus:
            self._successive_revocations += 1
            self.delay = self._revocation_backoff_ms()
            if self.delay != 0:
                self._scheduled_rebalance = int(self._time.milliseconds()) + self.delay
            else:
                _move(surplus, loads, revoked)
        elif surplus:
            _move(surplus, loads, revoked)
            self._revoked_in_previous = True
        elif self._revoked_in_previous:
            self._revoked_in_previous = False
            self._successive_revocations = 0

    def _revocation_backoff_ms(self) -> int:
        initial = 0 if self._max_delay_ms == 0 else 1
        if self._max_delay_ms <= initial:
            return initial
        most = math.log(self._max_delay_ms / max(initial, 1)) / math.log(_BACKOFF_FACTOR)
        waited = initial * math.pow(_BACKOFF_FACTOR, min(self._successive_revocations, most))
        return min(int(waited), self._max_delay_ms)


def _duplicated(shares: Iterable[ConnectorsAndTasks]) -> ConnectorsAndTasks:
    """Return connectors and tasks that more than one member owns."""
    connectors: Counter[str] = Counter()
    tasks: Counter[ConnectorTaskId] = Counter()
    for share in shares:
        connectors.update(list(share.connectors))
        tasks.update(list(share.tasks))
    return ConnectorsAndTasks.of(
        (c for c, count in connectors.items() if count > 1), (t for t, count in tasks.items() if count > 1)
    )


def _move(taken: Mapping[str, ConnectorsAndTasks], loads: Loads, revoked: Loads) -> None:
    for member, share in taken.items():
        revoked.setdefault(member, ConnectorsAndTasks()).add(share)
        loads[member].remove(share)


def _unsorted_minus(share: ConnectorsAndTasks, other: ConnectorsAndTasks) -> ConnectorsAndTasks:
    left = ConnectorsAndTasks.of(share.connectors, share.tasks)
    left.remove(other)
    return left


def _surplus(configured: ConnectorsAndTasks, loads: Loads) -> Loads:
    """Return each member's connectors and tasks above its fair share."""
    if not any(loads.values()) or not configured:
        return {}
    found: Loads = {}
    for member, connectors in _above_share(len(configured.connectors), loads, lambda load: load.connectors).items():
        found.setdefault(member, ConnectorsAndTasks()).connectors.update(dict.fromkeys(connectors))
    for member, tasks in _above_share(len(configured.tasks), loads, lambda load: load.tasks).items():
        found.setdefault(member, ConnectorsAndTasks()).tasks.update(dict.fromkeys(tasks))
    return found


def _above_share(total: int, loads: Loads, part: Callable[[ConnectorsAndTasks], dict[T, None]]) -> dict[str, list[T]]:
    least, extras = divmod(total, len(loads))
    sizes = [len(part(load)) for load in loads.values()]
    with_extra = sizes.count(least + 1)
    if with_extra == extras and sizes.count(least) + with_extra == len(loads):
        return {}
    found: dict[str, list[T]] = {}
    for member, load in loads.items():
        has = len(part(load))
        if has <= least:
            continue
        allowed = least
        if extras > 0:
            extras -= 1
            if has == least + 1:
                continue
            allowed = least + 1
        found[member] = list(part(load))[: has - allowed]
    return found


def _deal(loads: Loads, items: Iterable[T], part: Callable[[ConnectorsAndTasks], dict[T, None]]) -> None:
    """Assign each item to the member with the lowest load."""
    waiting = list(items)
    order = sorted(loads, key=lambda member: (len(part(loads[member])), member))
    at = 0
    while at < len(waiting):
        least = len(part(loads[order[0]]))
        for member in order:
            if len(part(loads[member])) > least:
                break
            part(loads[member])[waiting[at]] = None
            at += 1
            if at == len(waiting):
                break
