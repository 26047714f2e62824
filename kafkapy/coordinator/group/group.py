"""One group of the classic protocol (Kafka's `ClassicGroup` and what `GroupCoordinator` decides of it) as a machine.

Each event is a call: `join`, `sync`, `heartbeat`, `leave`, `commit`, `timer_fired`, `written`, `remove_offsets`,
`expire_offsets`, `delete`, `on_loaded`, `on_unloaded`. It changes the group and returns what is to be done
(`runtime/effects.py`): answers, timers, records to be written. `now_ms` is the wall clock. Nothing else comes in or goes
out, so the same events have the same effects. `group_state.py` has the table of states.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group_events import (
    JOIN_TIMER,
    NO_MEMBER_ID,
    PENDING_TIMER,
    STORE_GROUP_ERRORS,
    STORE_OFFSETS_ERRORS,
    SYNC_TIMER,
    Commit,
    EmptyGeneration,
    Join,
    NewAssignment,
    ReplacedMember,
    StaticMember,
    Tombstones,
)
from kafkapy.coordinator.group.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    TRANSITIONS,
    ClassicGroupState,
)
from kafkapy.coordinator.group.members import HEARTBEAT_TIMER, ClassicGroupMember, Members, Protocols
from kafkapy.coordinator.group.offsets import GroupOffsets
from kafkapy.coordinator.group.records import group_key, group_value, offset_key, offset_value
from kafkapy.coordinator.group.responses import commit_response, join_error, sync_error
from kafkapy.coordinator.runtime.effects import CancelTimer, Effect, Recipient, Reply, StartTimer, Write
from kafkapy.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkapy.protocol.records.group_metadata import GroupMetadataValue

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")
store_log = logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager")

_CANCEL_JOIN = CancelTimer(JOIN_TIMER)
_CANCEL_SYNC = CancelTimer(SYNC_TIMER)

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""A new member cannot send heartbeats while its JoinGroup waits; after this time it is taken for gone."""

Effects = Sequence[Effect]


class ClassicGroup:
    """Invariants:
    - `state` changes only by `_transition_to`, along `TRANSITIONS`.
    - Members share the protocol type, and outside Empty at least one protocol is supported by all.
    - `_initial_delay` is set only while the group is PreparingRebalance; the join phase ends by its timer only then.
    - `_effects` is empty between events.
    """

    def __init__(
        self, group_id: str, config: GroupConfig, now_ms: int, state: ClassicGroupState = ClassicGroupState.EMPTY
    ) -> None:
        self.group_id = group_id
        self._config = config
        self.state = state
        self.state_timestamp = now_ms
        """Wall clock of the last transition; -1 if unknown (loaded from an old record)."""
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.members = Members()
        self.offsets = GroupOffsets()
        self.subscribed_topics: set[str] | None = None
        """Of a consumer group's current generation; None if not known."""
        self._initial_delay: tuple[int, int] | None = None
        """The delay under way and what may be added to it, in ms (KIP-134)."""
        self._new_member_added = False
        """A member came during the initial delay, which may therefore be prolonged."""
        self._effects: list[Effect] = []

    @property
    def key(self) -> str:
        """Decides the partition of `__consumer_offsets`."""
        return self.group_id

    def is_in(self, state: ClassicGroupState) -> bool:
        return self.state is state

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def is_subscribed_to(self, topic: str) -> bool:
        """True also if it is not known."""
        return self.subscribed_topics is None or topic in self.subscribed_topics

    def _transition_to(self, state: ClassicGroupState, now_ms: int) -> None:
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"group {self.group_id} cannot go from {self.state.value} to {state.value}")
        self.state = state
        self.state_timestamp = now_ms

    # ------------------------------------------------------------------------------------------------ effects

    def _all_effects(self) -> Effects:
        effects, self._effects = self._effects, []
        return effects

    def _reply(self, to: Recipient | None, response: Message) -> bool:
        """False if nobody waits for it."""
        if to is not None:
            self._effects.append(Reply(to, response))
        return to is not None

    def _answer_join(self, member: ClassicGroupMember, response: JoinGroupResponse) -> None:
        self._reply(self.members.set_awaiting_join(member, None), response)

    def _answer_sync(self, member: ClassicGroupMember, response: SyncGroupResponse) -> bool:
        to, member.awaiting_sync = member.awaiting_sync, None
        return self._reply(to, response)

    def _start(self, timer: str, delay_ms: int, of: str = "") -> None:
        self._effects.append(StartTimer(timer, of, delay_ms))

    def _cancel(self, timer: str, of: str) -> None:
        self._effects.append(CancelTimer(timer, of))

    def _expect_heartbeat(self, member: ClassicGroupMember) -> None:
        """The member is alive; it must be heard of again within its session timeout."""
        self._effects.append(member.session)

    def _store(self, assignment: Mapping[str, bytes], then: NewAssignment | ReplacedMember | EmptyGeneration) -> None:
        value = group_value(self.to_record(assignment), self._config.offsets.group_value_version)
        self._effects.append(Write([(group_key(self.group_id), value)], then))

    # ------------------------------------------------------------------------------------------------ join

    def join(self, join: Join, now_ms: int) -> Effects:
        member_id, members = join.member_id, self.members
        if not self._has_room_for(member_id):
            self._forget(member_id)
            self._reply(join.to, join_error(NO_MEMBER_ID, Errors.GROUP_MAX_SIZE_REACHED))
        elif not self.supports_protocols(join.protocol_type, join.protocols):
            self._reply(join.to, join_error(member_id, Errors.INCONSISTENT_GROUP_PROTOCOL))
        elif member_id == NO_MEMBER_ID:
            self._join_new(join, now_ms)
        elif member_id in members.pending and join.group_instance_id is None:
            self._add(join, member_id, now_ms)
        else:
            self._join_again(join, now_ms)
        self._maybe_complete_join(now_ms)
        return self._all_effects()

    def _has_room_for(self, member_id: str) -> bool:
        """While the group rebalances those count who have joined: late ones have to go."""
        member = self.members.get(member_id)
        if self.state is EMPTY:
            return True
        if self.state is PREPARING_REBALANCE:
            is_waiting = member is not None and member.awaiting_join is not None
            return is_waiting or self.members.num_awaiting_join < self._config.max_size
        return member is not None or len(self.members) < self._config.max_size

    def supports_protocols(self, protocol_type: str, protocols: Protocols) -> bool:
        """Can somebody with these protocols be a member?"""
        if self.state is EMPTY:
            return bool(protocol_type and protocols)
        return self.protocol_type == protocol_type and self.members.all_support_one_of(protocols)

    def _join_new(self, join: Join, now_ms: int) -> None:
        if join.group_instance_id is not None:
            old_id = self.members.static_member_id(join.group_instance_id)
            if old_id is not None:
                self._replace_static(join, join.group_instance_id, old_id, now_ms)
                return
        elif join.require_known_member_id:
            self.members.pending.add(join.new_member_id)
            self._start(PENDING_TIMER, join.session_timeout_ms, join.new_member_id)
            self._reply(join.to, join_error(join.new_member_id, Errors.MEMBER_ID_REQUIRED))
            return
        self._add(join, join.new_member_id, now_ms)

    def _add(self, join: Join, member_id: str, now_ms: int) -> None:
        member = ClassicGroupMember(
            member_id, join.group_instance_id, join.client_id, join.client_host, join.rebalance_timeout_ms,
            join.session_timeout_ms, join.protocol_type, join.protocols, is_new=True,
        )  # fmt: skip
        if self.state is PREPARING_REBALANCE and self.generation_id == 0:
            self._new_member_added = True
        if not self.members:
            self.protocol_type = member.protocol_type
        if member_id in self.members.pending:
            self._cancel(PENDING_TIMER, member_id)
        self.members.add(member)
        self.members.set_awaiting_join(member, join.to)
        # There is no telling whether a client whose JoinGroup is parked is still there, and one that comes back does so
        # as another member. The time limit keeps the dead ones from gathering.
        self._start(HEARTBEAT_TIMER, NEW_MEMBER_JOIN_TIMEOUT_MS, member_id)
        self._maybe_prepare(
            f"Adding new member {member_id} with group instance id {member.group_instance_id};"
            f" client reason: {join.reason}",
            now_ms,
        )

    def _join_again(self, join: Join, now_ms: int) -> None:
        error = self._validate(join.member_id, join.group_instance_id)
        if error is not Errors.NONE:
            self._reply(join.to, join_error(join.member_id, error))
            return
        member = self.members[join.member_id]
        unchanged = member.protocols == join.protocols
        is_leader = self.members.leader_id == member.member_id
        if unchanged and (self.state is COMPLETING_REBALANCE or (self.state is STABLE and not is_leader)):
            # It did not get the answer to its JoinGroup: once more.
            self._reply(join.to, self._joined(member))
        else:
            # In Stable the leader may always start a rebalance: it sees new partitions, which are in nobody's metadata.
            self._update(member, join)
            self._maybe_prepare(
                f"Member {member.member_id} joining during {self.state.value}; client reason: {join.reason}", now_ms
            )

    def _update(self, member: ClassicGroupMember, join: Join) -> None:
        """Take over what the member says now, and let it wait."""
        self.members.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        before = self.members.set_awaiting_join(member, join.to)
        if before is not None:
            self._reply(before, join_error(member.member_id, Errors.REBALANCE_IN_PROGRESS))

    def _joined(self, member: ClassicGroupMember, skip_assignment: bool = False) -> JoinGroupResponse:
        """The current generation, as the member is told of it; the leader is told of the members."""
        is_leader = self.members.leader_id == member.member_id
        return JoinGroupResponse(
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.members.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=self.members.described(self.protocol_name or "") if is_leader else [],
        )

    # ------------------------------------------------------------------------------------------------ static members

    def _replace_static(self, join: Join, instance_id: str, old_id: str, now_ms: int) -> None:
        """A static member came back without its id (KIP-345): it goes on where it was if the protocol stays."""
        new_id, members = join.new_member_id, self.members
        log.info(
            "Static member with groupInstanceId=%s and unknown member id joins group %s in %s state."
            " Replacing previously mapped member %s with %s.",
            instance_id, self.group_id, self.state.value, old_id, new_id,
        )  # fmt: skip
        member = members[old_id]
        before = StaticMember(
            old_id, members.leader_id, member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
        )
        self._answer_join(member, join_error(old_id, Errors.FENCED_INSTANCE_ID))
        self._answer_sync(member, sync_error(Errors.FENCED_INSTANCE_ID))
        self._rename(instance_id, old_id, new_id)
        self._update(member, join)
        if self.state is COMPLETING_REBALANCE:
            # The leader is busy with an assignment for the old id.
            self._prepare(f"Static member {new_id} rejoining; client reason: {join.reason}", now_ms)
        elif self.state is STABLE and members.select_protocol() != self.protocol_name:
            self._prepare(f"Static member {new_id} changes the protocol; client reason: {join.reason}", now_ms)
        elif self.state is STABLE:
            # No rebalance: answer when the new id is in the log.
            assignment = {other.member_id: other.assignment for other in members}
            self._store(assignment, ReplacedMember(self.generation_id, join, before))

    def _rename(self, instance_id: str, old_id: str, new_id: str) -> None:
        member = self.members.replace_static(instance_id, old_id, new_id)
        self._cancel(HEARTBEAT_TIMER, old_id)
        self._expect_heartbeat(member)

    def _static_stored(self, replaced: ReplacedMember, error: Errors) -> None:
        join, before = replaced.join, replaced.before
        member = self.members.get(join.new_member_id)
        if self.state is not STABLE or self.generation_id != replaced.generation_id or member is None:
            return  # what came between has answered the join, or the rebalance will
        if error is Errors.NONE:
            self._answer_join(member, self._static_joined(member, join, before))
            return
        log.warning("Failed to persist metadata for group %s: %s", self.group_id, error.message)
        failure = self._joined(member)
        failure.error_code, failure.member_id = error.code, NO_MEMBER_ID
        failure.leader, failure.members = before.leader_id or "", []
        self._answer_join(member, failure)
        self.members.update(member, before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms)
        self._rename(join.group_instance_id or "", join.new_member_id, before.member_id)

    def _static_joined(self, member: ClassicGroupMember, join: Join, before: StaticMember) -> JoinGroupResponse:
        """The generation goes on. A leader that came back must not assign anew: nobody would hear of it (KIP-814)."""
        if join.supports_skipping_assignment:
            return self._joined(member, skip_assignment=self.members.leader_id == member.member_id)
        response = self._joined(member)
        # Before v9 the leader is told its old id, so that it takes itself for a follower.
        response.leader = before.leader_id or ""
        response.members = []
        return response

    # ------------------------------------------------------------------------------------------------ join phase

    def _maybe_prepare(self, reason: str, now_ms: int) -> None:
        if PREPARING_REBALANCE in TRANSITIONS[self.state]:
            self._prepare(reason, now_ms)

    def _prepare(self, reason: str, now_ms: int) -> None:
        """Begin to wait for everybody to join."""
        if self.state is COMPLETING_REBALANCE:
            self._fail_assignment(Errors.REBALANCE_IN_PROGRESS)
        self._stop_waiting_for_sync()
        was_empty = self.state is EMPTY
        self._transition_to(PREPARING_REBALANCE, now_ms)
        log.info(
            "Preparing to rebalance group %s in state %s with old generation %d (reason: %s)",
            self.group_id, self.state.value, self.generation_id, reason,
        )  # fmt: skip
        if was_empty:
            delay = self._config.initial_rebalance_delay_ms
            self._wait_for_first_joins(delay, max(0, self.members.rebalance_timeout_ms - delay))
        else:
            self._start(JOIN_TIMER, self.members.rebalance_timeout_ms)
            self._maybe_complete_join(now_ms)

    def _wait_for_first_joins(self, delay_ms: int, remaining_ms: int) -> None:
        """Give the members of an empty group time to come together, lest they rebalance one by one (KIP-134)."""
        self._initial_delay = (delay_ms, remaining_ms)
        self._start(JOIN_TIMER, delay_ms)

    def _join_time_over(self, now_ms: int) -> None:
        if self._initial_delay is not None and self._new_member_added and self._initial_delay[1]:
            former_ms, remaining_ms = self._initial_delay
            self._new_member_added = False
            delay = min(self._config.initial_rebalance_delay_ms, remaining_ms)
            self._wait_for_first_joins(delay, max(0, remaining_ms - former_ms))
        else:
            self._complete_join(now_ms)

    def _maybe_complete_join(self, now_ms: int) -> None:
        """End the join phase if nobody is missing."""
        if self.state is PREPARING_REBALANCE and self._initial_delay is None and self.members.have_all_joined:
            self._complete_join(now_ms)

    def _complete_join(self, now_ms: int) -> None:
        self._effects.append(_CANCEL_JOIN)
        self._initial_delay = None
        members = self.members
        for member in [member for member in members if member.awaiting_join is None and not member.is_static]:
            log.info("Group %s removed dynamic member %s, which has not joined", self.group_id, member.member_id)
            self._drop(member)
        if not members.elect_joined_leader() and members:
            log.error("Group %s could not complete rebalance because no members rejoined", self.group_id)
            self._start(JOIN_TIMER, members.rebalance_timeout_ms)
            return
        self.generation_id += 1
        self.protocol_name = members.select_protocol() if members else None
        self.subscribed_topics = self._subscriptions()
        members.pending_sync.clear()
        if members:
            self._transition_to(COMPLETING_REBALANCE, now_ms)
            self._begin_generation()
        else:
            self._transition_to(EMPTY, now_ms)
            log.info("Group %s with generation %d is now empty", self.group_id, self.generation_id)
            self._store({}, EmptyGeneration(self.generation_id))

    def _begin_generation(self) -> None:
        members = self.members
        log.info("Stabilized group %s generation %d with %d members", self.group_id, self.generation_id, len(members))
        for member in members:
            self._answer_join(member, self._joined(member))
            self._expect_heartbeat(member)
            member.is_new = False
            members.pending_sync.add(member.member_id)
        self._start(SYNC_TIMER, members.rebalance_timeout_ms)

    def _subscriptions(self) -> set[str] | None:
        """The topics that a consumer group is subscribed to; None if it is none or they cannot be read."""
        if not self.is_consumer_group or (self.members and self.protocol_name is None):
            return None
        return self.members.subscribed_topics(self.protocol_name or "")

    # ------------------------------------------------------------------------------------------------ sync phase

    def sync(self, request: SyncGroupRequest, to: Recipient) -> Effects:
        error = self._validate_sync(request)
        if error is Errors.NONE and self.state is PREPARING_REBALANCE:
            error = Errors.REBALANCE_IN_PROGRESS
        if error is not Errors.NONE:
            self._reply(to, sync_error(error))
            return self._all_effects()
        member = self.members[request.member_id]
        before = member.awaiting_sync
        if self.state is COMPLETING_REBALANCE:
            member.awaiting_sync = to
            if before is not None:
                self._reply(before, sync_error(Errors.REBALANCE_IN_PROGRESS))
        self.members.pending_sync.discard(member.member_id)
        if not self.members.pending_sync:
            self._stop_waiting_for_sync()
        if self.state is STABLE:
            self._reply(to, self._synced(member))
            self._expect_heartbeat(member)
        elif self.members.leader_id == member.member_id:
            self._store_assignment(request)
        return self._all_effects()

    def _validate_sync(self, request: SyncGroupRequest) -> Errors:
        error = self._validate(request.member_id, request.group_instance_id, request.generation_id)
        if error is not Errors.NONE:
            return error
        if request.protocol_type not in (None, self.protocol_type):
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, self.protocol_name):
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        return Errors.NONE

    def _synced(self, member: ClassicGroupMember) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )

    def _store_assignment(self, request: SyncGroupRequest) -> None:
        log.info(
            "Assignment received from leader %s for group %s for generation %d."
            " The group has %d members, %d of which are static.",
            request.member_id, self.group_id, self.generation_id, len(self.members), self.members.num_static,
        )  # fmt: skip
        given = {assigned.member_id: assigned.assignment for assigned in request.assignments}
        assignment = {member.member_id: given.get(member.member_id, b"") for member in self.members}
        self._store(assignment, NewAssignment(self.generation_id, request.member_id, assignment))

    def _assignment_stored(self, new: NewAssignment, error: Errors, now_ms: int) -> None:
        # Somebody may have joined in between, and then nobody waits for this assignment any more.
        if self.state is not COMPLETING_REBALANCE or self.generation_id != new.generation_id:
            return
        if error is not Errors.NONE:
            self._fail_assignment(error)
            reason = f"Error {error.name} when storing group assignment during SyncGroup (member: {new.leader_id})"
            self._prepare(reason, now_ms)
            return
        for member in self.members:
            member.assignment = new.assignment[member.member_id]
        for member in self.members:
            if self._answer_sync(member, self._synced(member)):
                self._expect_heartbeat(member)
        self._transition_to(STABLE, now_ms)

    def _fail_assignment(self, error: Errors) -> None:
        """There will be no assignment for this generation: tell everybody who waits."""
        for member in self.members:
            member.assignment = b""
            if self._answer_sync(member, sync_error(error)):
                self._expect_heartbeat(member)

    def _stop_waiting_for_sync(self) -> None:
        self.members.pending_sync.clear()
        self._effects.append(_CANCEL_SYNC)

    def _sync_time_over(self, now_ms: int) -> None:
        """Members that joined but never asked for their assignment hold up the generation: once more without them."""
        missing = [self.members[member_id] for member_id in self.members.pending_sync]
        for member in missing:
            self._drop(member)
        if missing:
            names = ", ".join(member.member_id for member in missing)
            self._prepare(f"Removing {names} on pending sync request expiration", now_ms)

    # ------------------------------------------------------------------------------------------------ staying, leaving

    def heartbeat(self, member_id: str, instance_id: str | None, generation_id: int) -> tuple[Errors, Effects]:
        error = self._validate(member_id, instance_id, generation_id)
        if error is not Errors.NONE:
            return error, ()
        if self.state is PREPARING_REBALANCE:
            error = Errors.REBALANCE_IN_PROGRESS
        return error, (self.members.by_id[member_id].session,)

    def leave(self, leaving: Iterable[LeaveGroupRequest.MemberIdentity], now_ms: int) -> tuple[list[Errors], Effects]:
        """The error of each."""
        return [self._leave(one, now_ms) for one in leaving], self._all_effects()

    def _leave(self, leaving: LeaveGroupRequest.MemberIdentity, now_ms: int) -> Errors:
        """An administrator may name a static member by its instance id alone."""
        member_id = leaving.member_id
        if member_id == NO_MEMBER_ID:
            member_id = self.members.static_member_id(leaving.group_instance_id or "") or NO_MEMBER_ID
            if member_id == NO_MEMBER_ID:
                return Errors.UNKNOWN_MEMBER_ID
        elif member_id in self.members.pending:
            log.info("Pending member %s has left group %s", member_id, self.group_id)
            self._forget(member_id)
            self._maybe_complete_join(now_ms)
            return Errors.NONE
        else:
            error = self._validate(member_id, leaving.group_instance_id)
            if error is not Errors.NONE:
                return error
        member = self.members[member_id]
        reason = leaving.reason or "not provided"
        log.info("%r has left group %s; client reason: %s", member, self.group_id, reason)
        self._remove(member, f"Removing member {member_id} on LeaveGroup; client reason: {reason}", now_ms)
        return Errors.NONE

    def _validate(self, member_id: str, instance_id: str | None, generation_id: int | None = None) -> Errors:
        """Is the sender the member it says it is, and (if it names one) in the current generation?"""
        if instance_id is not None:
            current = self.members.static_member_id(instance_id)
            if current is None:
                return Errors.UNKNOWN_MEMBER_ID
            if current != member_id:
                log.info(
                    "Request memberId=%s for static member with groupInstanceId=%s is fenced by current memberId=%s",
                    member_id, instance_id, current,
                )  # fmt: skip
                return Errors.FENCED_INSTANCE_ID
        if member_id not in self.members.by_id:
            return Errors.UNKNOWN_MEMBER_ID
        if generation_id is not None and generation_id != self.generation_id:
            return Errors.ILLEGAL_GENERATION
        return Errors.NONE

    def _remove(self, member: ClassicGroupMember, reason: str, now_ms: int) -> None:
        """A member has left or failed: the others go on without it."""
        self._drop(member)
        if self.state is PREPARING_REBALANCE:
            self._maybe_complete_join(now_ms)
        else:
            self._maybe_prepare(reason, now_ms)

    def _drop(self, member: ClassicGroupMember) -> None:
        """Take the member out and answer what it still waits for."""
        self._answer_join(member, join_error(NO_MEMBER_ID, Errors.UNKNOWN_MEMBER_ID))
        self._answer_sync(member, sync_error(Errors.UNKNOWN_MEMBER_ID))
        self._forget(member.member_id)

    def _forget(self, member_id: str) -> None:
        """Take the member or pending member out, if it is one."""
        timer = PENDING_TIMER if member_id in self.members.pending else HEARTBEAT_TIMER
        self._cancel(timer, member_id)
        self.members.remove(member_id)

    # ------------------------------------------------------------------------------------------------ time

    def timer_fired(self, timer: str, of: str, now_ms: int) -> Effects:
        if timer == HEARTBEAT_TIMER:
            self._heartbeat_missed(of, now_ms)
        elif timer == JOIN_TIMER:
            self._join_time_over(now_ms)
        elif timer == SYNC_TIMER:
            self._sync_time_over(now_ms)
        else:
            log.info("Pending member %s in group %s has been removed after session timeout expiration.",
                     of, self.group_id)  # fmt: skip
            self.members.remove(of)
            self._maybe_complete_join(now_ms)
        return self._all_effects()

    def _heartbeat_missed(self, member_id: str, now_ms: int) -> None:
        member = self.members[member_id]
        if member.is_awaiting and not member.is_new:
            return  # the group lets it wait; its time starts again with the answer
        log.info("Member %s in group %s has failed, removing it from the group", member_id, self.group_id)
        self._remove(member, f"removing member {member_id} on heartbeat expiration", now_ms)

    # ------------------------------------------------------------------------------------------------ the log

    def written(self, then: Any, error: Errors, base_offset: int, now_ms: int) -> Effects:
        """A write of this group is done."""
        if isinstance(then, Commit):
            return self._offsets_stored(then, error, base_offset)
        if isinstance(then, Tombstones):
            if error is not Errors.NONE:
                store_log.error(
                    "Failed to append %d tombstones for expired/deleted offsets and/or metadata for group %s: %s",
                    then.number, self.group_id, error.name,
                )  # fmt: skip
            return ()
        if error is not Errors.NONE:
            store_log.warning("Metadata from group %s with generation %d failed when appending to log due to %s",
                              self.group_id, then.generation_id, error.name)  # fmt: skip
        error = STORE_GROUP_ERRORS.get(error, error)
        if isinstance(then, NewAssignment):
            self._assignment_stored(then, error, now_ms)
        elif isinstance(then, ReplacedMember):
            self._static_stored(then, error)
        elif error is not Errors.NONE:
            # Should this broker fail now, the next one loads the former generation and lets its members time out.
            log.warning("Failed to write empty metadata for group %s: %s", self.group_id, error.message)
        return self._all_effects()

    def to_record(self, assignment: Mapping[str, bytes]) -> GroupMetadataValue:
        """The current generation with this assignment, one entry for each member."""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation_id,
            protocol=self.protocol_name,
            leader=self.members.leader_id,
            current_state_timestamp=self.state_timestamp,
            members=[
                GroupMetadataValue.MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol_name or ""),
                    assignment=assignment[member.member_id],
                )
                for member in self.members
            ],
        )

    @classmethod
    def loaded(cls, group_id: str, record: GroupMetadataValue, config: GroupConfig) -> ClassicGroup:
        """A group as its record in the log has it: Stable, or Empty if it has no members."""
        group = cls(group_id, config, record.current_state_timestamp, STABLE if record.members else EMPTY)
        group.generation_id = record.generation
        group.protocol_type = record.protocol_type or None
        group.protocol_name = record.protocol
        for member in record.members:
            group.members.add(
                ClassicGroupMember(
                    member.member_id, member.group_instance_id, member.client_id, member.client_host,
                    member.rebalance_timeout, member.session_timeout, record.protocol_type,
                    [(record.protocol or "", member.subscription)], member.assignment,
                )
            )  # fmt: skip
        if record.leader is not None and record.leader in group.members:
            group.members.leader_id = record.leader
        group.subscribed_topics = group._subscriptions()
        return group

    def on_loaded(self, now_ms: int) -> Effects:
        """This broker coordinates the group from now on."""
        log.info("Loading group metadata for %s with generation %d", self.group_id, self.generation_id)
        if len(self.members) > self._config.max_size:
            self._prepare(
                f"Freshly-loaded group is over capacity ({self._config.max_size})."
                " Rebalancing in order to give a chance for consumers to commit offsets",
                now_ms,
            )
        for member in self.members:
            self._expect_heartbeat(member)
        return self._all_effects()

    def on_unloaded(self, now_ms: int) -> Effects:
        """Another broker coordinates the group now: send everybody there."""
        log.info("Unloading group metadata for %s with generation %d", self.group_id, self.generation_id)
        self._kill(now_ms)
        for member in self.members:
            self._answer_join(member, join_error(member.member_id, Errors.NOT_COORDINATOR))
            self._answer_sync(member, sync_error(Errors.NOT_COORDINATOR))
        return self._all_effects()

    def _kill(self, now_ms: int) -> None:
        """Dead, and no timer runs any more."""
        self._transition_to(DEAD, now_ms)
        self._effects.append(_CANCEL_JOIN)
        self._stop_waiting_for_sync()
        for member_id in self.members.pending:
            self._cancel(PENDING_TIMER, member_id)
        self.members.pending.clear()
        for member in self.members:
            self._cancel(HEARTBEAT_TIMER, member.member_id)

    # ------------------------------------------------------------------------------------------------ offsets

    def commit(self, commit: Commit) -> Effects:
        """Answered when the offsets are committed to the log."""
        error = self._may_commit(commit)
        if error is not Errors.NONE:
            self._reply(commit.to, commit_response(commit.offsets, error))
            return self._all_effects()
        offsets = commit.stored()
        if offsets:
            group_id, version = self.group_id, self._config.offsets.offset_value_version
            records = [(offset_key(group_id, p), offset_value(value, version)) for p, value in offsets.items()]
            self.offsets.prepare(offsets, commit.producer_id)
            # Kafka gives commits the sequence 0 although they have no producer id; so the bytes are the same.
            self._effects.append(Write(records, commit, 0, commit.producer_id, commit.producer_epoch))
        else:
            self._reply(commit.to, commit_response(commit.offsets, Errors.NONE, commit.too_large))
        return self._all_effects()

    def _may_commit(self, commit: Commit) -> Errors:
        """NONE if the sender may; its session is renewed then."""
        member_id, instance_id, generation_id = commit.member_id, commit.group_instance_id, commit.generation_id
        is_simple = generation_id < 0
        if self.state is EMPTY and is_simple:
            return Errors.NONE
        if is_simple and member_id == NO_MEMBER_ID and instance_id is None:
            return Errors.UNKNOWN_MEMBER_ID
        error = self._validate(member_id, instance_id, generation_id)
        if error is not Errors.NONE:
            return error
        if self.state is COMPLETING_REBALANCE:
            # The member has the new generation already, so what it commits may belong to somebody else.
            return Errors.REBALANCE_IN_PROGRESS
        self._expect_heartbeat(self.members[member_id])
        return Errors.NONE

    def _offsets_stored(self, commit: Commit, error: Errors, base_offset: int) -> Effects:
        if error is Errors.NONE:
            self.offsets.written(commit.stored(), base_offset, commit.producer_id)
        else:
            self.offsets.failed(commit.stored(), commit.producer_id)
            store_log.debug("Offset commit from group %s failed when appending to log: %s", self.group_id, error.name)
        error = STORE_OFFSETS_ERRORS.get(error, error)
        return (Reply(commit.to, commit_response(commit.offsets, error, commit.too_large)),)

    def remove_offsets(self, partitions: Iterable[TopicPartition], now_ms: int) -> Effects:
        return self._take_back(self.offsets.remove(partitions), now_ms)

    def expire_offsets(self, now_ms: int) -> tuple[int, Effects]:
        """How many offsets nobody uses any more (KIP-211), and what is done about them.

        A group without members: counted from when it became empty. A stable consumer group: only topics it is no longer
        subscribed to, counted from the commit. A group that never had members: counted from the commit.
        """
        since: int | None = None
        subscribed: set[str] = set()
        if self.protocol_type is not None and self.state is EMPTY:
            since = None if self.state_timestamp == NO_TIMESTAMP else self.state_timestamp
        elif self.protocol_type is not None:
            if not self.is_consumer_group or self.state is not STABLE or self.subscribed_topics is None:
                return 0, ()
            subscribed = self.subscribed_topics
        expired = self.offsets.remove_expired(now_ms, self._config.offsets.retention_ms, since, subscribed)
        return len(expired), self._take_back(expired, now_ms)

    def delete(self, now_ms: int) -> Effects:
        """An Empty group, with its offsets."""
        self._kill(now_ms)
        return self._take_back(self.offsets.remove(list(self.offsets.committed)), now_ms)

    def _take_back(self, partitions: Iterable[TopicPartition], now_ms: int) -> Effects:
        """Tombstones for offsets that were removed, and for the group if that was all there was of it."""
        keys = [offset_key(self.group_id, partition) for partition in partitions]
        if self.state is EMPTY and not self.offsets:
            store_log.info("Group %s transitioned to Dead in generation %d", self.group_id, self.generation_id)
            self._transition_to(DEAD, now_ms)
        # Generation 0: the group never had a record, it only stored offsets.
        if self.state is DEAD and self.generation_id > 0:
            keys.append(group_key(self.group_id))
        if keys:
            self._effects.append(Write([(key, None) for key in keys], Tombstones(len(keys))))
        return self._all_effects()
