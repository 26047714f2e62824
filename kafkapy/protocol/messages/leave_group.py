"""LeaveGroup (API key 13): members leave a group."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string


class LeaveGroupRequest(Message, api=ApiKey.LEAVE_GROUP):
    group_id: str = string()
    member_id: str = string("0-2")
    members: list[LeaveGroupRequest.MemberIdentity] = array("MemberIdentity", "3+")

    class MemberIdentity(Struct):
        member_id: str = string("3+")
        group_instance_id: str | None = string("3+", nullable=True, default=None)
        reason: str | None = string("5+", nullable=True, default=None, ignorable=True)


class LeaveGroupResponse(Message, api=ApiKey.LEAVE_GROUP):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    members: list[LeaveGroupResponse.MemberResponse] = array("MemberResponse", "3+")

    class MemberResponse(Struct):
        member_id: str = string("3+")
        group_instance_id: str | None = string("3+", nullable=True)
        error_code: int = int16("3+")
