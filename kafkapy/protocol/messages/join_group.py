"""JoinGroup (API key 11): a member joins a group."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, boolean, int16, int32, string


class JoinGroupRequest(Message, api=ApiKey.JOIN_GROUP):
    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32("1+", default=-1, ignorable=True)
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable=True, default=None)
    protocol_type: str = string()
    protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = array("JoinGroupRequestProtocol")
    reason: str | None = string("8+", nullable=True, default=None, ignorable=True)

    class JoinGroupRequestProtocol(Struct):
        name: str = string()
        metadata: bytes = binary()


class JoinGroupResponse(Message, api=ApiKey.JOIN_GROUP):
    throttle_time_ms: int = int32("2+", ignorable=True)
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string("7+", nullable=True, default=None, ignorable=True)
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    skip_assignment: bool = boolean("9+")
    member_id: str = string()
    members: list[JoinGroupResponse.JoinGroupResponseMember] = array("JoinGroupResponseMember")

    class JoinGroupResponseMember(Struct):
        member_id: str = string()
        group_instance_id: str | None = string("5+", nullable=True, default=None, ignorable=True)
        metadata: bytes = binary()
