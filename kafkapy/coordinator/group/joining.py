"""JoinGroup of new members, known ones, and static members that rejoin without their id."""

from __future__ import annotations

import logging

from kafkapy.coordinator.group import rebalance
from kafkapy.coordinator.group.group_data import GroupData
from kafkapy.coordinator.group.group_events import NO_MEMBER_ID, PENDING_TIMER, Join, ReplacedMember, StaticMember
from kafkapy.coordinator.group.group_state import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from kafkapy.coordinator.group.members import HEARTBEAT_TIMER, ClassicGroupMember
from kafkapy.coordinator.group.responses import join_error, sync_error
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.join_group import JoinGroupResponse

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""A new member cannot send heartbeats while its JoinGroup waits; after this time it is removed."""


def join(group: GroupData, join: Join, now_ms: int) -> None:
    member_id, members = join.member_id, group.members
    if not _has_room_for(group, member_id):
        group.forget(member_id)
        group.reply(join.to, join_error(NO_MEMBER_ID, Errors.GROUP_MAX_SIZE_REACHED))
    elif not group.supports_protocols(join.protocol_type, join.protocols):
        group.reply(join.to, join_error(member_id, Errors.INCONSISTENT_GROUP_PROTOCOL))
    elif member_id == NO_MEMBER_ID:
        _join_new(group, join, now_ms)
    elif member_id in members.pending and join.group_instance_id is None:
        _add(group, join, member_id, now_ms)
    else:
        _join_again(group, join, now_ms)
    rebalance.maybe_complete_join(group, now_ms)


def _has_room_for(group: GroupData, member_id: str) -> bool:
    """Return whether another member may join. During a rebalance only members that have joined count: late ones are refused."""
    member = group.members.get(member_id)
    if group.state is EMPTY:
        return True
    if group.state is PREPARING_REBALANCE:
        is_waiting = member is not None and member.awaiting_join is not None
        return is_waiting or group.members.num_awaiting_join < group.config.max_size
    return member is not None or len(group.members) < group.config.max_size


def _join_new(group: GroupData, join: Join, now_ms: int) -> None:
    if join.group_instance_id is not None:
        old_id = group.members.static_member_id(join.group_instance_id)
        if old_id is not None:
            _replace_static(group, join, join.group_instance_id, old_id, now_ms)
            return
    elif join.require_known_member_id:
        group.members.pending.add(join.new_member_id)
        group.start(PENDING_TIMER, join.session_timeout_ms, join.new_member_id)
        group.reply(join.to, join_error(join.new_member_id, Errors.MEMBER_ID_REQUIRED))
        return
    _add(group, join, join.new_member_id, now_ms)


def _add(group: GroupData, join: Join, member_id: str, now_ms: int) -> None:
    member = ClassicGroupMember(
        member_id, join.group_instance_id, join.client_id, join.client_host, join.rebalance_timeout_ms,
        join.session_timeout_ms, join.protocol_type, join.protocols, is_new=True,
    )  # fmt: skip
    if group.state is PREPARING_REBALANCE and group.generation_id == 0:
        group.new_member_added = True
    if not group.members:
        group.protocol_type = member.protocol_type
    if member_id in group.members.pending:
        group.cancel(PENDING_TIMER, member_id)
    group.members.add(member)
    group.members.set_awaiting_join(member, join.to)
    # A client with a pending JoinGroup may have failed unnoticed, and it would rejoin as another member. The time
    # limit prevents an accumulation of such members.
    group.start(HEARTBEAT_TIMER, NEW_MEMBER_JOIN_TIMEOUT_MS, member_id)
    rebalance.maybe_prepare(
        group,
        f"Adding new member {member_id} with group instance id {member.group_instance_id};"
        f" client reason: {join.reason}",
        now_ms,
    )


def _join_again(group: GroupData, join: Join, now_ms: int) -> None:
    error = group.validate(join.member_id, join.group_instance_id)
    if error is not NONE:
        group.reply(join.to, join_error(join.member_id, error))
        return
    member = group.members[join.member_id]
    unchanged = member.protocols == join.protocols
    is_leader = group.members.leader_id == member.member_id
    if unchanged and (group.state is COMPLETING_REBALANCE or (group.state is STABLE and not is_leader)):
        # The response was lost: send it again.
        group.reply(join.to, group.joined(member))
    else:
        # In Stable the leader may always start a rebalance: it detects new partitions, which are not in members'
        # metadata.
        _update(group, member, join)
        rebalance.maybe_prepare(
            group, f"Member {member.member_id} joining during {group.state.value}; client reason: {join.reason}", now_ms
        )


def _update(group: GroupData, member: ClassicGroupMember, join: Join) -> None:
    """Update the member from its request, and park the request."""
    group.members.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
    before = group.members.set_awaiting_join(member, join.to)
    if before is not None:
        group.reply(before, join_error(member.member_id, Errors.REBALANCE_IN_PROGRESS))


# ---------------------------------------------------------------------------------------------------- static members


def _replace_static(group: GroupData, join: Join, instance_id: str, old_id: str, now_ms: int) -> None:
    """Rejoin a static member that has no id any more (KIP-345); without a rebalance if the protocol stays the same."""
    new_id, members = join.new_member_id, group.members
    log.info(
        "Static member with groupInstanceId=%s and unknown member id joins group %s in %s state."
        " Replacing previously mapped member %s with %s.",
        instance_id, group.group_id, group.state.value, old_id, new_id,
    )  # fmt: skip
    member = members[old_id]
    before = StaticMember(
        old_id, members.leader_id, member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
    )
    group.answer_join(member, join_error(old_id, Errors.FENCED_INSTANCE_ID))
    group.answer_sync(member, sync_error(Errors.FENCED_INSTANCE_ID))
    _rename(group, instance_id, old_id, new_id)
    _update(group, member, join)
    if group.state is COMPLETING_REBALANCE:
        # The leader is computing an assignment for the old id.
        rebalance.prepare(group, f"Static member {new_id} rejoining; client reason: {join.reason}", now_ms)
    elif group.state is STABLE and members.select_protocol() != group.protocol_name:
        rebalance.prepare(group, f"Static member {new_id} changes the protocol; client reason: {join.reason}", now_ms)
    elif group.state is STABLE:
        # No rebalance: answer when the new id is in the log.
        assignment = {other.member_id: other.assignment for other in members}
        group.store(assignment, ReplacedMember(group.generation_id, join, before))


def _rename(group: GroupData, instance_id: str, old_id: str, new_id: str) -> None:
    member = group.members.replace_static(instance_id, old_id, new_id)
    group.cancel(HEARTBEAT_TIMER, old_id)
    group.expect_heartbeat(member)


def static_stored(group: GroupData, replaced: ReplacedMember, error: Errors) -> None:
    join, before = replaced.join, replaced.before
    member = group.members.get(join.new_member_id)
    if group.state is not STABLE or group.generation_id != replaced.generation_id or member is None:
        return  # a later event has answered the join, or the rebalance will
    if error is NONE:
        group.answer_join(member, _static_joined(group, member, join, before))
        return
    log.warning("Failed to persist metadata for group %s: %s", group.group_id, error.message)
    failure = group.joined(member)
    failure.error_code, failure.member_id = error.code, NO_MEMBER_ID
    failure.leader, failure.members = before.leader_id or "", []
    group.answer_join(member, failure)
    group.members.update(member, before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms)
    _rename(group, join.group_instance_id or "", join.new_member_id, before.member_id)


def _static_joined(group: GroupData, member: ClassicGroupMember, join: Join, before: StaticMember) -> JoinGroupResponse:
    """The generation continues. A rejoined leader must not assign again, because no member would get it (KIP-814)."""
    if join.supports_skipping_assignment:
        return group.joined(member, skip_assignment=group.members.leader_id == member.member_id)
    response = group.joined(member)
    # Before v9 the response to the leader has its old id, so that it acts as a follower.
    response.leader = before.leader_id or ""
    response.members = []
    return response
