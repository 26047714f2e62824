"""DeleteGroups (API key 42): groups to delete."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string


class DeleteGroupsRequest(Message, api=ApiKey.DELETE_GROUPS):
    groups_names: list[str] = array("string")


class DeleteGroupsResponse(Message, api=ApiKey.DELETE_GROUPS):
    throttle_time_ms: int = int32()
    results: list[DeleteGroupsResponse.DeletableGroupResult] = array("DeletableGroupResult")

    class DeletableGroupResult(Struct):
        group_id: str = string()
        error_code: int = int16()
