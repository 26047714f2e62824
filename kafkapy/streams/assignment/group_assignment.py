"""The leader's assignment of tasks to members, as user data of assignments (Kafka's `StreamsPartitionAssignor`).

The caller has created the internal topics and looked up the end offsets of changelogs, if they are available.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.assignment_info import NO_REBALANCE, AssignmentInfo, Partitions
from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.high_availability import AssignmentConfigs, assign, assign_to_previous
from kafkapy.streams.assignment.rack_aware import Racks, client_racks
from kafkapy.streams.assignment.subscription_info import (
    EARLIEST_PROBEABLE_VERSION,
    LATEST_VERSION,
    SubscriptionInfo,
)
from kafkapy.streams.assignment.task_id import HostInfo, ProcessId, TaskId, parse_host_info
from kafkapy.streams.assignment.threads import assign_tasks_to_threads

INCOMPLETE_SOURCE_TOPIC_METADATA: Final = 1
ASSIGNMENT_ERROR: Final = 3
SHUTDOWN_REQUESTED: Final = 4

_FUTURE: Final = ProcessId(-(2**63), -(2**63))
"""Process id for members with an unknown, future version."""


class StreamsMember(NamedTuple):
    """A member with the data of its subscription.

    Attributes:
        member_id: Member id in the group.
        info: Its decoded user data.
        owned: Partitions that it still owns.
        rack: Its `client.rack`; None: it has none.
    """

    member_id: str
    info: SubscriptionInfo
    owned: Sequence[TopicPartition] = ()
    rack: str | None = None

    @property
    def process_id(self) -> ProcessId:
        """Its instance; members of a later version count as one."""
        return self.info.process_id if self.info.version <= LATEST_VERSION else _FUTURE


class PartitionRacks(NamedTuple):
    """The racks of partitions.

    Attributes:
        of_partition: The racks with a replica of each source and changelog partition.
        changelogs: The changelog partitions of each task.
    """

    of_partition: Mapping[TopicPartition, Collection[str]]
    changelogs: Mapping[TaskId, Collection[TopicPartition]]


def racks_of_instances(members: Iterable[StreamsMember]) -> dict[ProcessId, str] | None:
    """Return the rack of each instance; None if one has none."""
    said: dict[ProcessId, list[str | None]] = {}
    for member in members:
        said.setdefault(member.process_id, []).append(member.rack)
    return client_racks(said)


class TaskShare(NamedTuple):
    """A member's partitions, ordered by topic and number, and user data."""

    partitions: list[TopicPartition]
    info: AssignmentInfo


class _Client:
    """An instance with its members."""

    def __init__(self, process_id: ProcessId, info: SubscriptionInfo) -> None:
        self.host = parse_host_info(info.user_end_point)
        self.state = ClientState(process_id, info.client_tags)
        self.members: list[str] = []


class GroupAssignment:
    """One assignment of a group.

    Args:
        members: All members of the group.
        partitions_of: The partitions of each task.
        stateful: The tasks with changelogs.
        end_offset_sums: The sum of end offsets of each stateful task's changelogs; None: not known.
        configs: The configs of the assignment.
        leader: The leader's instance; one of its members triggers probing rebalances.
        now_ms: The wall clock.
        racks: Racks of partitions; None: the assignment is not rack-aware.
    """

    def __init__(
        self,
        members: Sequence[StreamsMember],
        partitions_of: Mapping[TaskId, Collection[TopicPartition]],
        stateful: Collection[TaskId],
        end_offset_sums: Mapping[TaskId, int] | None,
        configs: AssignmentConfigs,
        leader: ProcessId,
        now_ms: int,
        racks: PartitionRacks | None = None,
    ) -> None:
        self._racks = racks
        self._members = members
        self._partitions_of = partitions_of
        self._stateful = stateful
        self._ends = end_offset_sums
        self._configs = configs
        self._leader = leader
        self._now_ms = now_ms
        self._clients: dict[ProcessId, _Client] = {}
        self._owned = {partition for member in members for partition in member.owned}
        known = [member.info for member in members if member.info.version <= LATEST_VERSION]
        self._version = min((info.version for info in known), default=LATEST_VERSION)
        self._supported = min((m.info.latest_supported_version for m in members), default=LATEST_VERSION)
        self._supported = min(self._supported, LATEST_VERSION)

    def compute(self) -> dict[str, TaskShare]:
        """Return the assignment of each member.

        Raises:
            ValueError: The group has members of an unknown version together with members older than Kafka 2.0.
        """
        self._check_versions()
        if any(member.info.error_code == SHUTDOWN_REQUESTED for member in self._members):
            return error_assignment(self._members, SHUTDOWN_REQUESTED)
        self._group_members()
        self._assign_to_clients()
        by_host, standby_by_host = self._by_host()
        shares: dict[str, TaskShare] = {}
        for client in self._clients.values():
            shares.update(self._shares(client, by_host, standby_by_host))
        return shares

    def _check_versions(self) -> None:
        future = any(member.info.version > LATEST_VERSION for member in self._members)
        if future and self._version < EARLIEST_PROBEABLE_VERSION:
            raise ValueError(
                "the group has members of a version that is not known, and members before Kafka 2.0, at the same time"
            )

    def _group_members(self) -> None:
        for member in self._members:
            info = member.info
            process = member.process_id
            client = self._clients.get(process)
            if client is None:
                client = self._clients[process] = _Client(process, info)
            client.members.append(member.member_id)
            client.state.add_member(member.member_id, member.owned, info.task_offset_sums)

    def _assign_to_clients(self) -> None:
        task_of = {partition: task for task, partitions in self._partitions_of.items() for partition in partitions}
        states = {process: client.state for process, client in self._clients.items()}
        ends = self._ends if self._ends is not None else dict.fromkeys(self._stateful, 0)
        for state in states.values():
            state.learn_previous_tasks(task_of)
            state.compute_lags(ends)
        if self._ends is None:
            again = assign_to_previous(states, self._partitions_of, self._stateful)
        else:
            again = assign(states, self._partitions_of, self._stateful, self._configs, self._all_racks())
        if again and self._leader in states:
            states[self._leader].followup_rebalance_ms = self._now_ms + self._configs.probing_rebalance_interval_ms

    def _all_racks(self) -> Racks | None:
        instances = None if self._racks is None else racks_of_instances(self._members)
        if self._racks is None or instances is None:
            return None
        return Racks(instances, self._racks.of_partition, self._partitions_of, self._racks.changelogs)

    def _by_host(self) -> tuple[Partitions, Partitions]:
        """Return the partitions of active tasks and of standby replicas by host."""
        active: dict[HostInfo, frozenset[TopicPartition]] = {}
        standby: dict[HostInfo, frozenset[TopicPartition]] = {}
        for client in self._clients.values():
            if client.host is not None and self._version >= 2:
                active[client.host] = self._all_partitions(client.state.active)
                standby[client.host] = self._all_partitions(client.state.standby)
        return active, standby

    def _shares(self, client: _Client, by_host: Partitions, standby_by_host: Partitions) -> dict[str, TaskShare]:
        state, load = client.state, dict[str, int]()
        active = assign_tasks_to_threads(state.stateful_active(), True, client.members, state, load)
        standby = assign_tasks_to_threads(state.standby, True, client.members, state, load)
        stateless = assign_tasks_to_threads(state.stateless_active(), False, client.members, state, load)
        probe = state.followup_rebalance_ms
        shares = {}
        for member in sorted(client.members):
            partitions, tasks, revoked = self._active_share(client, member, active[member] + stateless[member])
            copies = {task: frozenset(self._partitions_of[task]) for task in standby[member]}
            copies.update(self._kept_copies(state, revoked))
            again = NO_REBALANCE
            if revoked:
                again = 0
            elif probe is not None:
                again = probe
            if again != NO_REBALANCE:
                probe = None
            info = AssignmentInfo(self._version, self._supported, tasks, copies, by_host, standby_by_host, 0, again)
            shares[member] = TaskShare(partitions, info)
        return shares

    def _active_share(
        self, client: _Client, member: str, tasks: Iterable[TaskId]
    ) -> tuple[list[TopicPartition], list[TaskId], list[TaskId]]:
        """Return a member's partitions with their tasks, and the tasks that it gets only after their present owner has
        revoked them."""
        state = client.state
        found: list[tuple[TopicPartition, TaskId]] = []
        revoked: list[TaskId] = []
        for task in tasks:
            partitions = self._partitions_of[task]
            if any(state.previous_owner(one) != member and one in self._owned for one in partitions):
                state.active.discard(task)
                revoked.append(task)
            else:
                found += [(partition, task) for partition in partitions]
        found.sort()
        return [partition for partition, _ in found], [task for _, task in found], sorted(revoked)

    def _kept_copies(self, state: ClientState, revoked: Iterable[TaskId]) -> dict[TaskId, frozenset[TopicPartition]]:
        """Return the stateful tasks that the member will run later and updates as standby replicas until then."""
        kept = {}
        for task in revoked:
            if task in state.previous_standby and task in self._stateful:
                state.assign_standby(task)
                kept[task] = frozenset(self._partitions_of[task])
        return kept

    def _all_partitions(self, tasks: Iterable[TaskId]) -> frozenset[TopicPartition]:
        return frozenset(partition for task in tasks for partition in self._partitions_of[task])


def error_assignment(members: Iterable[StreamsMember], error_code: int) -> dict[str, TaskShare]:
    """Return an empty assignment with an error code for each member."""
    info = AssignmentInfo(LATEST_VERSION, error_code=error_code)
    return {member.member_id: TaskShare([], info) for member in members}
