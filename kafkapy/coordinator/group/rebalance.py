"""A rebalance: the join phase, in which all members join, and the sync phase, which distributes the leader's assignment."""

from __future__ import annotations

import logging

from kafkapy.coordinator.group.group_data import GroupData
from kafkapy.coordinator.group.group_events import JOIN_TIMER, SYNC_TIMER, EmptyGeneration, NewAssignment
from kafkapy.coordinator.group.group_state import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE, TRANSITIONS
from kafkapy.coordinator.group.responses import sync_error
from kafkapy.coordinator.runtime.effects import CancelTimer, Recipient
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.sync_group import SyncGroupRequest

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")

_CANCEL_JOIN = CancelTimer(JOIN_TIMER)
_CANCEL_SYNC = CancelTimer(SYNC_TIMER)

# ---------------------------------------------------------------------------------------------------- join phase


def maybe_prepare(group: GroupData, reason: str, now_ms: int) -> None:
    if PREPARING_REBALANCE in TRANSITIONS[group.state]:
        prepare(group, reason, now_ms)


def prepare(group: GroupData, reason: str, now_ms: int) -> None:
    """Start waiting for all members to join."""
    if group.state is COMPLETING_REBALANCE:
        _fail_assignment(group, Errors.REBALANCE_IN_PROGRESS)
    stop_waiting_for_sync(group)
    was_empty = group.state is EMPTY
    group.transition_to(PREPARING_REBALANCE, now_ms)
    log.info(
        "Preparing to rebalance group %s in state %s with old generation %d (reason: %s)",
        group.group_id, group.state.value, group.generation_id, reason,
    )  # fmt: skip
    if was_empty:
        delay = group.config.initial_rebalance_delay_ms
        _wait_for_first_joins(group, delay, max(0, group.members.rebalance_timeout_ms - delay))
    else:
        group.start(JOIN_TIMER, group.members.rebalance_timeout_ms)
        maybe_complete_join(group, now_ms)


def _wait_for_first_joins(group: GroupData, delay_ms: int, remaining_ms: int) -> None:
    """Delay the first rebalance of an empty group, so that members which start together share it (KIP-134)."""
    group.initial_delay = (delay_ms, remaining_ms)
    group.start(JOIN_TIMER, delay_ms)


def join_time_over(group: GroupData, now_ms: int) -> None:
    if group.initial_delay is not None and group.new_member_added and group.initial_delay[1]:
        former_ms, remaining_ms = group.initial_delay
        group.new_member_added = False
        delay = min(group.config.initial_rebalance_delay_ms, remaining_ms)
        _wait_for_first_joins(group, delay, max(0, remaining_ms - former_ms))
    else:
        _complete_join(group, now_ms)


def maybe_complete_join(group: GroupData, now_ms: int) -> None:
    """End the join phase if no member is missing."""
    if group.state is PREPARING_REBALANCE and group.initial_delay is None and group.members.have_all_joined:
        _complete_join(group, now_ms)


def _complete_join(group: GroupData, now_ms: int) -> None:
    group.effects.append(_CANCEL_JOIN)
    group.initial_delay = None
    members = group.members
    for member in [member for member in members if member.awaiting_join is None and not member.is_static]:
        log.info("Group %s removed dynamic member %s, which has not joined", group.group_id, member.member_id)
        group.drop(member)
    if not members.elect_joined_leader() and members:
        log.error("Group %s could not complete rebalance because no members rejoined", group.group_id)
        group.start(JOIN_TIMER, members.rebalance_timeout_ms)
        return
    group.generation_id += 1
    group.protocol_name = members.select_protocol() if members else None
    group.subscribed_topics = group.subscriptions()
    members.pending_sync.clear()
    if members:
        group.transition_to(COMPLETING_REBALANCE, now_ms)
        _begin_generation(group)
    else:
        group.transition_to(EMPTY, now_ms)
        log.info("Group %s with generation %d is now empty", group.group_id, group.generation_id)
        group.store({}, EmptyGeneration(group.generation_id))


def _begin_generation(group: GroupData) -> None:
    members = group.members
    log.info("Stabilized group %s generation %d with %d members", group.group_id, group.generation_id, len(members))
    for member in members:
        group.answer_join(member, group.joined(member))
        group.expect_heartbeat(member)
        member.is_new = False
        members.pending_sync.add(member.member_id)
    group.start(SYNC_TIMER, members.rebalance_timeout_ms)


# ---------------------------------------------------------------------------------------------------- sync phase


def sync(group: GroupData, request: SyncGroupRequest, to: Recipient) -> None:
    error = _validate_sync(group, request)
    if error is NONE and group.state is PREPARING_REBALANCE:
        error = Errors.REBALANCE_IN_PROGRESS
    if error is not NONE:
        group.reply(to, sync_error(error))
        return
    member = group.members[request.member_id]
    before = member.awaiting_sync
    if group.state is COMPLETING_REBALANCE:
        member.awaiting_sync = to
        if before is not None:
            group.reply(before, sync_error(Errors.REBALANCE_IN_PROGRESS))
    group.members.pending_sync.discard(member.member_id)
    if not group.members.pending_sync:
        stop_waiting_for_sync(group)
    if group.state is STABLE:
        group.reply(to, group.synced(member))
        group.expect_heartbeat(member)
    elif group.members.leader_id == member.member_id:
        _store_assignment(group, request)


def _validate_sync(group: GroupData, request: SyncGroupRequest) -> Errors:
    error = group.validate(request.member_id, request.group_instance_id, request.generation_id)
    if error is not NONE:
        return error
    if request.protocol_type not in (None, group.protocol_type):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, group.protocol_name):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    return NONE


def _store_assignment(group: GroupData, request: SyncGroupRequest) -> None:
    log.info(
        "Assignment received from leader %s for group %s for generation %d."
        " The group has %d members, %d of which are static.",
        request.member_id, group.group_id, group.generation_id, len(group.members), group.members.num_static,
    )  # fmt: skip
    given = {assigned.member_id: assigned.assignment for assigned in request.assignments}
    assignment = {member.member_id: given.get(member.member_id, b"") for member in group.members}
    group.store(assignment, NewAssignment(group.generation_id, request.member_id, assignment))


def assignment_stored(group: GroupData, new: NewAssignment, error: Errors, now_ms: int) -> None:
    # A member may have joined in between, and then no member waits for this assignment any more.
    if group.state is not COMPLETING_REBALANCE or group.generation_id != new.generation_id:
        return
    if error is not NONE:
        _fail_assignment(group, error)
        reason = f"Error {error.name} when storing group assignment during SyncGroup (member: {new.leader_id})"
        prepare(group, reason, now_ms)
        return
    for member in group.members:
        member.assignment = new.assignment[member.member_id]
    for member in group.members:
        if group.answer_sync(member, group.synced(member)):
            group.expect_heartbeat(member)
    group.transition_to(STABLE, now_ms)


def _fail_assignment(group: GroupData, error: Errors) -> None:
    """Answer all waiting members, because there will be no assignment for this generation."""
    for member in group.members:
        member.assignment = b""
        if group.answer_sync(member, sync_error(error)):
            group.expect_heartbeat(member)


def stop_waiting_for_sync(group: GroupData) -> None:
    group.members.pending_sync.clear()
    group.effects.append(_CANCEL_SYNC)


def sync_time_over(group: GroupData, now_ms: int) -> None:
    """Rebalance without the members that joined but did not send SyncGroup in time."""
    missing = [group.members[member_id] for member_id in group.members.pending_sync]
    for member in missing:
        group.drop(member)
    if missing:
        names = ", ".join(member.member_id for member in missing)
        prepare(group, f"Removing {names} on pending sync request expiration", now_ms)
