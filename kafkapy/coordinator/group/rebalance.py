"""How a group gets from one generation to the next: who is waited for, how long, and who is dropped.

Kafka's DelayedJoin, InitialDelayedJoin, DelayedSync, DelayedHeartbeat, and what `GroupCoordinator` does at their end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from kafkapy.common.scheduler import ScheduledTask, Scheduler
from kafkapy.common.time import Time
from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group_metadata import GroupMetadata
from kafkapy.coordinator.group.group_metadata_manager import GroupMetadataManager
from kafkapy.coordinator.group.group_state import GroupState
from kafkapy.coordinator.group.member_metadata import JoinReply, MemberMetadata
from kafkapy.coordinator.group.replies import Replies
from kafkapy.coordinator.group.responses import NO_MEMBER_ID, join_error, sync_error
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""A new member cannot send heartbeats while its JoinGroup waits; after this time it is taken for gone."""


class Rebalance:
    """Moves groups between their states and owns their timers.

    Invariants, whenever no method runs:
    - a group has a join timer exactly while it is PreparingRebalance, and a sync timer only while members that joined
      the current generation have not sent SyncGroup;
    - each member that owes a sign of life has a heartbeat timer due no later than its deadline. A heartbeat only moves
      the deadline; the timer, when it fires early, waits for the rest.
    """

    def __init__(
        self, config: GroupConfig, manager: GroupMetadataManager, scheduler: Scheduler, time: Time, replies: Replies
    ) -> None:
        self._config = config
        self._manager = manager
        self._scheduler = scheduler
        self._time = time
        self._replies = replies

    def _once(self, name: str, delay_ms: int, task: Callable[[], None]) -> ScheduledTask:
        def run() -> None:
            with self._replies:
                task()

        return self._scheduler.schedule_once(name, run, max(0, delay_ms))

    # ------------------------------------------------------------------------------------------------ join phase

    def maybe_prepare(self, group: GroupMetadata, reason: str) -> None:
        if group.can_rebalance:
            self.prepare(group, reason)

    def prepare(self, group: GroupMetadata, reason: str) -> None:
        """Begin to wait for everybody to join."""
        if group.is_in(GroupState.COMPLETING_REBALANCE):
            self.fail_assignment(group, Errors.REBALANCE_IN_PROGRESS)
        self._stop_waiting_for_sync(group)
        was_empty = group.is_in(GroupState.EMPTY)
        group.transition_to(GroupState.PREPARING_REBALANCE, self._time.milliseconds())
        log.info(
            "Preparing to rebalance group %s in state %s with old generation %d (reason: %s)",
            group.group_id, group.state.value, group.generation_id, reason,
        )  # fmt: skip
        if was_empty:
            delay = self._config.initial_rebalance_delay_ms
            self._wait_for_first_joins(group, delay, max(0, group.rebalance_timeout_ms - delay))
        else:
            self._wait_for_joins(group)
            self.maybe_complete_join(group)

    def _wait_for_joins(self, group: GroupMetadata) -> None:
        group.join_timer = self._once("rebalance", group.rebalance_timeout_ms, lambda: self._complete_join(group))

    def _wait_for_first_joins(self, group: GroupMetadata, delay_ms: int, remaining_ms: int) -> None:
        """Give the members of an empty group time to come together, lest they rebalance one by one (KIP-134)."""

        def elapsed() -> None:
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                delay = min(self._config.initial_rebalance_delay_ms, remaining_ms)
                self._wait_for_first_joins(group, delay, max(0, remaining_ms - delay_ms))
            else:
                self._complete_join(group)

        group.in_initial_delay = True
        group.join_timer = self._once("initial rebalance", delay_ms, elapsed)

    def maybe_complete_join(self, group: GroupMetadata) -> None:
        """End the join phase if nobody is missing."""
        if group.is_in(GroupState.PREPARING_REBALANCE) and not group.in_initial_delay and group.has_all_members_joined:
            self._complete_join(group)

    def _complete_join(self, group: GroupMetadata) -> None:
        _cancel(group.join_timer)
        group.join_timer = None
        group.in_initial_delay = False
        for member in group.not_yet_rejoined():
            if not member.is_static:
                log.info("Group %s removed dynamic member %s, which has not joined", group.group_id, member.member_id)
                self.forget_member(group, member)
        if not group.maybe_elect_new_joined_leader() and group.members:
            log.error("Group %s could not complete rebalance because no members rejoined", group.group_id)
            self._wait_for_joins(group)
            return
        group.init_next_generation(self._time.milliseconds())
        if group.is_in(GroupState.EMPTY):
            self._begin_empty_generation(group)
        else:
            self._begin_generation(group)

    def _begin_empty_generation(self, group: GroupMetadata) -> None:
        log.info("Group %s with generation %d is now empty", group.group_id, group.generation_id)

        def stored(error: Errors) -> None:
            # Should this broker fail now, the next one loads the former generation and lets its members time out.
            if error is not Errors.NONE:
                log.warning("Failed to write empty metadata for group %s: %s", group.group_id, error.message)

        self._manager.store_group(group, {}, stored)

    def _begin_generation(self, group: GroupMetadata) -> None:
        log.info(
            "Stabilized group %s generation %d with %d members", group.group_id, group.generation_id, len(group.members)
        )
        for member in group.members.values():
            self.answer_join(group, member, self.joined(group, member))
            self.expect_heartbeat(group, member)
            member.is_new = False
            group.pending_sync.add(member.member_id)
        group.sync_timer = self._once("sync", group.rebalance_timeout_ms, lambda: self._expire_sync(group))

    def joined(self, group: GroupMetadata, member: MemberMetadata, skip_assignment: bool = False) -> JoinGroupResponse:
        """The current generation, as the member is told of it; the leader is told of the members."""
        is_leader = group.leader_id == member.member_id
        return JoinGroupResponse(
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=group.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=group.member_list() if is_leader else [],
        )

    # ------------------------------------------------------------------------------------------------ sync phase

    def sync_received(self, group: GroupMetadata, member: MemberMetadata) -> None:
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            self._stop_waiting_for_sync(group)

    def _stop_waiting_for_sync(self, group: GroupMetadata) -> None:
        group.pending_sync.clear()
        _cancel(group.sync_timer)
        group.sync_timer = None

    def _expire_sync(self, group: GroupMetadata) -> None:
        """Members that joined but never asked for their assignment hold up the generation: once more without them."""
        group.sync_timer = None
        missing = [group.members[member_id] for member_id in group.pending_sync]
        if not missing:
            return
        for member in missing:
            self.forget_member(group, member)
        names = ", ".join(member.member_id for member in missing)
        self.prepare(group, f"Removing {names} on pending sync request expiration")

    def set_assignment(self, group: GroupMetadata, assignment: Mapping[str, bytes]) -> None:
        """The generation is stored: tell everybody who waits, and be Stable."""
        assert group.is_in(GroupState.COMPLETING_REBALANCE)
        for member in group.members.values():
            member.assignment = assignment[member.member_id]
        for member in group.members.values():
            if self.answer_sync(group, member, synced(group, member)):
                self.expect_heartbeat(group, member)
        group.transition_to(GroupState.STABLE, self._time.milliseconds())

    def fail_assignment(self, group: GroupMetadata, error: Errors) -> None:
        """There will be no assignment for this generation: tell everybody who waits."""
        assert group.is_in(GroupState.COMPLETING_REBALANCE)
        for member in group.members.values():
            member.assignment = b""
            if self.answer_sync(group, member, sync_error(error)):
                self.expect_heartbeat(group, member)

    # ------------------------------------------------------------------------------------------------ members

    def add_member(self, group: GroupMetadata, member: MemberMetadata, reply: JoinReply, reason: str) -> None:
        member.is_new = True
        if group.is_in(GroupState.PREPARING_REBALANCE) and group.generation_id == 0:
            group.new_member_added = True
        group.add(member, reply)
        # There is no telling whether a client whose JoinGroup is parked is still there, and one that comes back does so
        # as another member. The time limit keeps the dead ones from gathering.
        self.expect_heartbeat(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.maybe_prepare(
            group,
            f"Adding new member {member.member_id} with group instance id {member.group_instance_id};"
            f" client reason: {reason}",
        )

    def remove_member(self, group: GroupMetadata, member: MemberMetadata, reason: str) -> None:
        """A member has left or failed: the others go on without it."""
        self.forget_member(group, member)
        if group.is_in(GroupState.PREPARING_REBALANCE):
            self.maybe_complete_join(group)
        elif not group.is_in(GroupState.DEAD):
            self.maybe_prepare(group, reason)

    def remove_pending_member(self, group: GroupMetadata, member_id: str) -> None:
        group.remove(member_id)
        self.maybe_complete_join(group)

    def forget_member(self, group: GroupMetadata, member: MemberMetadata) -> None:
        """Take the member out and answer what it still waits for."""
        self.answer_join(group, member, join_error(NO_MEMBER_ID, Errors.UNKNOWN_MEMBER_ID))
        self.answer_sync(group, member, sync_error(Errors.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)
        _cancel(member.heartbeat_timer)
        member.heartbeat_timer = None

    def answer_join(self, group: GroupMetadata, member: MemberMetadata, response: JoinGroupResponse) -> None:
        reply = group.set_awaiting_join(member, None)
        if reply is not None:
            self._replies.put(reply, response)

    def answer_sync(self, group: GroupMetadata, member: MemberMetadata, response: SyncGroupResponse) -> bool:
        reply = group.set_awaiting_sync(member, None)
        if reply is not None:
            self._replies.put(reply, response)
        return reply is not None

    # ------------------------------------------------------------------------------------------------ heartbeats

    def expect_heartbeat(self, group: GroupMetadata, member: MemberMetadata, timeout_ms: int | None = None) -> None:
        """The member is alive; it must be heard of again within its session timeout (or the time given)."""
        now = self._time.monotonic_ms()
        deadline = now + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
        member.heartbeat_deadline_ms = deadline
        if member.heartbeat_timer is None or deadline < member.heartbeat_timer_due_ms:
            _cancel(member.heartbeat_timer)
            self._start_heartbeat_timer(group, member, deadline - now)

    def _start_heartbeat_timer(self, group: GroupMetadata, member: MemberMetadata, delay_ms: int) -> None:
        member.heartbeat_timer_due_ms = member.heartbeat_deadline_ms
        member.heartbeat_timer = self._once("heartbeat", delay_ms, lambda: self._heartbeat_timer_fired(group, member))

    def _heartbeat_timer_fired(self, group: GroupMetadata, member: MemberMetadata) -> None:
        member.heartbeat_timer = None
        if group.members.get(member.member_id) is not member:
            return
        remaining = member.heartbeat_deadline_ms - self._time.monotonic_ms()
        if remaining > 0:
            self._start_heartbeat_timer(group, member, remaining)
        elif member.is_new or not member.is_awaiting:
            log.info("Member %s in group %s has failed, removing it from the group", member.member_id, group.group_id)
            self.remove_member(group, member, f"removing member {member.member_id} on heartbeat expiration")
        # else: the group lets it wait; its time starts again with the answer.

    def add_pending_member(self, group: GroupMetadata, member_id: str, session_timeout_ms: int) -> None:
        """An id was given out; whoever has it must join within its session timeout."""

        def expire() -> None:
            log.info("Pending member %s in group %s has been removed after session timeout expiration.",
                     member_id, group.group_id)  # fmt: skip
            self.remove_pending_member(group, member_id)

        group.add_pending(member_id, self._once("pending member", session_timeout_ms, expire))

    # ------------------------------------------------------------------------------------------------ whole groups

    def on_group_loaded(self, group: GroupMetadata) -> None:
        log.info("Loading group metadata for %s with generation %d", group.group_id, group.generation_id)
        if len(group.members) > self._config.max_size:
            self.prepare(
                group,
                f"Freshly-loaded group is over capacity ({self._config.max_size})."
                " Rebalancing in order to give a chance for consumers to commit offsets",
            )
        for member in group.members.values():
            self.expect_heartbeat(group, member)

    def on_group_unloaded(self, group: GroupMetadata) -> None:
        """Another broker coordinates the group now: send everybody there."""
        log.info("Unloading group metadata for %s with generation %d", group.group_id, group.generation_id)
        self.kill(group)
        for member in group.members.values():
            self.answer_join(group, member, join_error(member.member_id, Errors.NOT_COORDINATOR))
            self.answer_sync(group, member, sync_error(Errors.NOT_COORDINATOR))

    def kill(self, group: GroupMetadata) -> None:
        """Dead, and no timer runs any more."""
        group.transition_to(GroupState.DEAD, self._time.milliseconds())
        _cancel(group.join_timer)
        group.join_timer = None
        self._stop_waiting_for_sync(group)
        for member_id in list(group.pending_members):
            group.remove_pending(member_id)
        for member in group.members.values():
            _cancel(member.heartbeat_timer)
            member.heartbeat_timer = None


def synced(group: GroupMetadata, member: MemberMetadata) -> SyncGroupResponse:
    """The member's assignment."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )


def _cancel(timer: ScheduledTask | None) -> None:
    if timer is not None:
        timer.cancel()
