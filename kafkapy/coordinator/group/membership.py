"""What members ask of their group: to join, to get an assignment, to stay, to leave.

These methods see groups that exist, are loaded and are coordinated here; `GroupCoordinator` has checked that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group_metadata import GroupMetadata
from kafkapy.coordinator.group.group_metadata_manager import GroupMetadataManager
from kafkapy.coordinator.group.group_state import GroupState
from kafkapy.coordinator.group.member_metadata import JoinReply, MemberMetadata, Protocols, SyncReply
from kafkapy.coordinator.group.rebalance import Rebalance, synced
from kafkapy.coordinator.group.replies import Replies
from kafkapy.coordinator.group.responses import NO_MEMBER_ID, join_error, sync_error
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")

EMPTY = GroupState.EMPTY
PREPARING_REBALANCE = GroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


class Join(NamedTuple):
    """A JoinGroup request as the group sees it."""

    member_id: str
    group_instance_id: str | None
    require_known_member_id: bool
    """v4+ of a dynamic member: it gets its id first and joins with it (KIP-394)."""
    supports_skipping_assignment: bool
    """v9+"""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    reason: str
    reply: JoinReply


class _Before(NamedTuple):
    """What a static member was before it came back."""

    member_id: str
    leader_id: str | None
    protocols: Protocols
    rebalance_timeout_ms: int
    session_timeout_ms: int


class Membership:
    """The decisions of the group protocol; what follows from them is done by `Rebalance`."""

    def __init__(
        self, config: GroupConfig, manager: GroupMetadataManager, rebalance: Rebalance, replies: Replies
    ) -> None:
        self._config = config
        self._manager = manager
        self._rebalance = rebalance
        self._replies = replies

    # ------------------------------------------------------------------------------------------------ join

    def join(self, group: GroupMetadata, join: Join) -> None:
        if not self._accepts(group, join.member_id):
            group.remove(join.member_id)
            self._refuse(join, NO_MEMBER_ID, Errors.GROUP_MAX_SIZE_REACHED)
        elif not group.supports_protocols(join.protocol_type, join.protocols):
            self._refuse(join, join.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        elif join.member_id == NO_MEMBER_ID:
            self._join_new(group, join)
        elif join.member_id in group.pending_members and join.group_instance_id is None:
            self._add(group, join, join.member_id)
        else:
            self._join_again(group, join)
        self._rebalance.maybe_complete_join(group)

    def _refuse(self, join: Join, member_id: str, error: Errors) -> None:
        self._replies.put(join.reply, join_error(member_id, error))

    def _accepts(self, group: GroupMetadata, member_id: str) -> bool:
        """Does the group have room? While it rebalances those count who have joined: late ones have to go."""
        member = group.members.get(member_id)
        if group.is_in(EMPTY):
            return True
        if group.is_in(PREPARING_REBALANCE):
            is_waiting = member is not None and member.awaiting_join is not None
            return is_waiting or group.num_awaiting_join < self._config.max_size
        return member is not None or len(group.members) < self._config.max_size

    def _join_new(self, group: GroupMetadata, join: Join) -> None:
        new_id = group.generate_member_id(join.client_id, join.group_instance_id)
        if join.group_instance_id is not None:
            old_id = group.static_member_id(join.group_instance_id)
            if old_id is not None:
                self._replace_static(group, join, old_id, new_id)
                return
        elif join.require_known_member_id:
            self._rebalance.add_pending_member(group, new_id, join.session_timeout_ms)
            self._refuse(join, new_id, Errors.MEMBER_ID_REQUIRED)
            return
        self._add(group, join, new_id)

    def _add(self, group: GroupMetadata, join: Join, member_id: str) -> None:
        member = MemberMetadata(
            member_id,
            join.group_instance_id,
            join.client_id,
            join.client_host,
            join.rebalance_timeout_ms,
            join.session_timeout_ms,
            join.protocol_type,
            join.protocols,
        )
        self._rebalance.add_member(group, member, join.reply, join.reason)

    def _join_again(self, group: GroupMetadata, join: Join) -> None:
        error = self.validate_member(group, join.member_id, join.group_instance_id)
        if error is not Errors.NONE:
            self._refuse(join, join.member_id, error)
            return
        member = group.members[join.member_id]
        unchanged = member.protocols == join.protocols
        if group.is_in(COMPLETING_REBALANCE) and unchanged:
            # It did not get the answer to its JoinGroup: once more.
            self._replies.put(join.reply, self._rebalance.joined(group, member))
        elif group.is_in(STABLE) and unchanged and group.leader_id != member.member_id:
            self._replies.put(join.reply, self._rebalance.joined(group, member))
        else:
            # In Stable the leader may always start a rebalance: it sees new partitions, which are in nobody's metadata.
            self._update(group, member, join)
            self._rebalance.maybe_prepare(
                group, f"Member {member.member_id} joining during {group.state.value}; client reason: {join.reason}"
            )

    def _update(self, group: GroupMetadata, member: MemberMetadata, join: Join) -> None:
        """Take over what the member says now, and park its reply."""
        group.update_member(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        before = group.set_awaiting_join(member, join.reply)
        if before is not None:
            self._replies.put(before, join_error(member.member_id, Errors.REBALANCE_IN_PROGRESS))

    # ------------------------------------------------------------------------------------------------ static members

    def _replace_static(self, group: GroupMetadata, join: Join, old_id: str, new_id: str) -> None:
        """A static member came back without its id (KIP-345): it goes on where it was if the protocol stays."""
        assert join.group_instance_id is not None
        log.info(
            "Static member with groupInstanceId=%s and unknown member id joins group %s in %s state."
            " Replacing previously mapped member %s with %s.",
            join.group_instance_id, group.group_id, group.state.value, old_id, new_id,
        )  # fmt: skip
        member = group.members[old_id]
        before = _Before(
            old_id, group.leader_id, member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
        )
        self._fence(group, member)
        group.replace_static_member(join.group_instance_id, old_id, new_id)
        self._rebalance.expect_heartbeat(group, member)
        self._update(group, member, join)
        if group.is_in(COMPLETING_REBALANCE):
            # The leader is busy with an assignment for the old id.
            self._rebalance.prepare(group, f"Static member {new_id} rejoining; client reason: {join.reason}")
        elif group.is_in(STABLE) and group.select_protocol() != group.protocol_name:
            self._rebalance.prepare(group, f"Static member {new_id} changes the protocol; client reason: {join.reason}")
        elif group.is_in(STABLE):
            self._store_replaced(group, member, join, before)

    def _store_replaced(self, group: GroupMetadata, member: MemberMetadata, join: Join, before: _Before) -> None:
        """No rebalance: answer when the new id is in the log."""
        generation_id, new_id = group.generation_id, member.member_id

        def stored(error: Errors) -> None:
            if not group.is_in(STABLE) or group.generation_id != generation_id or new_id not in group.members:
                return  # what came between has answered the join, or the rebalance will
            if error is Errors.NONE:
                self._rebalance.answer_join(group, member, self._static_joined(group, member, join, before))
                return
            log.warning("Failed to persist metadata for group %s: %s", group.group_id, error.message)
            self._rebalance.answer_join(group, member, self._static_failed(group, before, error))
            group.update_member(member, before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms)
            group.replace_static_member(join.group_instance_id or "", new_id, before.member_id)
            self._rebalance.expect_heartbeat(group, member)

        self._store(group, {name: other.assignment for name, other in group.members.items()}, stored)

    def _store(self, group: GroupMetadata, assignment: Mapping[str, bytes], stored: Callable[[Errors], None]) -> None:
        def done(error: Errors) -> None:
            with self._replies:
                stored(error)

        self._manager.store_group(group, assignment, done)

    def _fence(self, group: GroupMetadata, member: MemberMetadata) -> None:
        self._rebalance.answer_join(group, member, join_error(member.member_id, Errors.FENCED_INSTANCE_ID))
        self._rebalance.answer_sync(group, member, sync_error(Errors.FENCED_INSTANCE_ID))

    def _static_joined(
        self, group: GroupMetadata, member: MemberMetadata, join: Join, before: _Before
    ) -> JoinGroupResponse:
        """The generation goes on. A leader that came back must not assign anew: nobody would hear of it (KIP-814)."""
        if join.supports_skipping_assignment:
            return self._rebalance.joined(group, member, skip_assignment=group.leader_id == member.member_id)
        response = self._rebalance.joined(group, member)
        # Before v9 the leader is told its old id, so that it takes itself for a follower.
        response.leader = before.leader_id or ""
        response.members = []
        return response

    def _static_failed(self, group: GroupMetadata, before: _Before, error: Errors) -> JoinGroupResponse:
        return JoinGroupResponse(
            error_code=error.code,
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=before.leader_id or "",
            member_id=NO_MEMBER_ID,
        )

    # ------------------------------------------------------------------------------------------------ sync

    def sync(self, group: GroupMetadata, request: SyncGroupRequest, reply: SyncReply) -> None:
        error = self._validate_sync(group, request)
        if error is not Errors.NONE:
            self._replies.put(reply, sync_error(error))
            return
        member = group.members[request.member_id]
        if group.is_in(PREPARING_REBALANCE):
            self._replies.put(reply, sync_error(Errors.REBALANCE_IN_PROGRESS))
        elif group.is_in(STABLE):
            self._rebalance.sync_received(group, member)
            self._replies.put(reply, synced(group, member))
            self._rebalance.expect_heartbeat(group, member)
        else:
            before = group.set_awaiting_sync(member, reply)
            if before is not None:
                self._replies.put(before, sync_error(Errors.REBALANCE_IN_PROGRESS))
            self._rebalance.sync_received(group, member)
            if group.leader_id == member.member_id:
                self._store_assignment(group, request)

    def _validate_sync(self, group: GroupMetadata, request: SyncGroupRequest) -> Errors:
        error = self.validate_member(group, request.member_id, request.group_instance_id, request.generation_id)
        if error is not Errors.NONE:
            return error
        if request.protocol_type not in (None, group.protocol_type):
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, group.protocol_name):
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        return Errors.NONE

    def _store_assignment(self, group: GroupMetadata, request: SyncGroupRequest) -> None:
        log.info(
            "Assignment received from leader %s for group %s for generation %d."
            " The group has %d members, %d of which are static.",
            request.member_id, group.group_id, group.generation_id, len(group.members), group.num_static_members,
        )  # fmt: skip
        given = {assigned.member_id: assigned.assignment for assigned in request.assignments}
        assignment = {member_id: given.get(member_id, b"") for member_id in group.members}
        generation_id = group.generation_id

        def stored(error: Errors) -> None:
            # Somebody may have joined in between, and then nobody waits for this assignment any more.
            if not group.is_in(COMPLETING_REBALANCE) or group.generation_id != generation_id:
                return
            if error is Errors.NONE:
                self._rebalance.set_assignment(group, assignment)
            else:
                self._rebalance.fail_assignment(group, error)
                self._rebalance.prepare(
                    group,
                    f"Error {error.name} when storing group assignment during SyncGroup (member: {request.member_id})",
                )

        self._store(group, assignment, stored)

    # ------------------------------------------------------------------------------------------------ heartbeat, leave

    def heartbeat(self, group: GroupMetadata, member_id: str, instance_id: str | None, generation_id: int) -> Errors:
        error = self.validate_member(group, member_id, instance_id, generation_id)
        if error is not Errors.NONE:
            return error
        self._rebalance.expect_heartbeat(group, group.members[member_id])
        return Errors.REBALANCE_IN_PROGRESS if group.is_in(PREPARING_REBALANCE) else Errors.NONE

    def leave(self, group: GroupMetadata, leaving: LeaveGroupRequest.MemberIdentity) -> Errors:
        """One member of a LeaveGroup; an administrator may name a static member by its instance id alone."""
        member_id = leaving.member_id
        if member_id == NO_MEMBER_ID:
            member_id = group.static_member_id(leaving.group_instance_id or "") or NO_MEMBER_ID
            if member_id == NO_MEMBER_ID:
                return Errors.UNKNOWN_MEMBER_ID
        elif member_id in group.pending_members:
            log.info("Pending member %s has left group %s", member_id, group.group_id)
            self._rebalance.remove_pending_member(group, member_id)
            return Errors.NONE
        else:
            error = self.validate_member(group, member_id, leaving.group_instance_id)
            if error is not Errors.NONE:
                return error
        member = group.members[member_id]
        reason = leaving.reason or "not provided"
        log.info("%r has left group %s; client reason: %s", member, group.group_id, reason)
        self._rebalance.remove_member(
            group, member, f"Removing member {member_id} on LeaveGroup; client reason: {reason}"
        )
        return Errors.NONE

    def validate_member(
        self, group: GroupMetadata, member_id: str, instance_id: str | None, generation_id: int | None = None
    ) -> Errors:
        """Is the sender the member it says it is, and (if given) in the current generation?"""
        if instance_id is not None:
            current = group.static_member_id(instance_id)
            if current is None:
                return Errors.UNKNOWN_MEMBER_ID
            if current != member_id:
                log.info(
                    "Request memberId=%s for static member with groupInstanceId=%s is fenced by current memberId=%s",
                    member_id, instance_id, current,
                )  # fmt: skip
                return Errors.FENCED_INSTANCE_ID
        if member_id not in group.members:
            return Errors.UNKNOWN_MEMBER_ID
        if generation_id is not None and generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        return Errors.NONE
