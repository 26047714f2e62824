"""ListGroups (API key 16): the groups that a broker coordinates."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string


class ListGroupsRequest(Message, api=ApiKey.LIST_GROUPS):
    states_filter: list[str] = array("string", "4+")
    types_filter: list[str] = array("string", "5+")


class ListGroupsResponse(Message, api=ApiKey.LIST_GROUPS):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    groups: list[ListGroupsResponse.ListedGroup] = array("ListedGroup")

    class ListedGroup(Struct):
        group_id: str = string()
        protocol_type: str = string()
        group_state: str = string("4+", ignorable=True)
        group_type: str = string("5+", ignorable=True)
