"""SyncGroup (API key 14): a group's leader sends the assignment, and its members receive theirs."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int16, int32, string


class SyncGroupRequest(Message, api=ApiKey.SYNC_GROUP):
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable=True, default=None)
    protocol_type: str | None = string("5+", nullable=True, default=None, ignorable=True)
    protocol_name: str | None = string("5+", nullable=True, default=None, ignorable=True)
    assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = array("SyncGroupRequestAssignment")

    class SyncGroupRequestAssignment(Struct):
        member_id: str = string()
        assignment: bytes = binary()


class SyncGroupResponse(Message, api=ApiKey.SYNC_GROUP):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    protocol_type: str | None = string("5+", nullable=True, default=None, ignorable=True)
    protocol_name: str | None = string("5+", nullable=True, default=None, ignorable=True)
    assignment: bytes = binary()
