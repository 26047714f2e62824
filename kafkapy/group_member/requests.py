"""Builds the requests of a member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkapy.group_member.group_protocol import GroupRebalanceConfig
from kafkapy.group_member.membership import Generation
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest

_REASON_LENGTH = 255


def join_request(
    config: GroupRebalanceConfig,
    generation: Generation,
    protocol_type: str,
    protocols: Sequence[tuple[str, bytes]],
    session_timeout_ms: int,
    reason: str,
) -> JoinGroupRequest:
    """`protocols`: (name, metadata), in order of preference. The rebalance time-out is the longest time between two
    polls."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    return JoinGroupRequest(
        group_id=config.group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=config.rebalance_timeout_ms,
        member_id=generation.member_id,
        group_instance_id=config.group_instance_id,
        protocol_type=protocol_type,
        protocols=[protocol(name=name, metadata=metadata) for name, metadata in protocols],
        reason=reason[:_REASON_LENGTH],
    )


def sync_request(
    config: GroupRebalanceConfig, generation: Generation, protocol_type: str, assignments: Mapping[str, bytes]
) -> SyncGroupRequest:
    """`assignments`: those of the whole group if the member is its leader, else empty."""
    entry = SyncGroupRequest.SyncGroupRequestAssignment
    return SyncGroupRequest(
        group_id=config.group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=config.group_instance_id,
        protocol_type=protocol_type,
        protocol_name=generation.protocol,
        assignments=[entry(member_id=member, assignment=share) for member, share in assignments.items()],
    )


def heartbeat_request(config: GroupRebalanceConfig, generation: Generation) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=config.group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=config.group_instance_id,
    )


class LeaveRequest:
    """A LeaveGroup request: one member id before version 3, a list from then on."""

    API_KEY = LeaveGroupRequest.API_KEY

    def __init__(self, group_id: str, member_id: str, reason: str) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._reason = reason

    def build(self, version: int) -> LeaveGroupRequest:
        if version < 3:
            return LeaveGroupRequest(group_id=self._group_id, member_id=self._member_id)
        member = LeaveGroupRequest.MemberIdentity(member_id=self._member_id, reason=self._reason[:_REASON_LENGTH])
        return LeaveGroupRequest(group_id=self._group_id, members=[member])
