"""DescribeGroups (API key 15): state and members of groups."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, boolean, int16, int32, string


class DescribeGroupsRequest(Message, api=ApiKey.DESCRIBE_GROUPS):
    groups: list[str] = array("string")
    include_authorized_operations: bool = boolean("3+")


class DescribeGroupsResponse(Message, api=ApiKey.DESCRIBE_GROUPS):
    throttle_time_ms: int = int32("1+", ignorable=True)
    groups: list[DescribeGroupsResponse.DescribedGroup] = array("DescribedGroup")

    class DescribedGroup(Struct):
        error_code: int = int16()
        group_id: str = string()
        group_state: str = string()
        protocol_type: str = string()
        protocol_data: str = string()
        members: list[DescribeGroupsResponse.DescribedGroupMember] = array("DescribedGroupMember")
        authorized_operations: int = int32("3+", default=-2147483648)

    class DescribedGroupMember(Struct):
        member_id: str = string()
        group_instance_id: str | None = string("4+", nullable=True, default=None, ignorable=True)
        client_id: str = string()
        client_host: str = string()
        member_metadata: bytes = binary()
        member_assignment: bytes = binary()
