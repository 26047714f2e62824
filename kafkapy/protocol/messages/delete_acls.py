"""DeleteAcls (API key 31): ACLs to delete by filters."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, string


class DeleteAclsRequest(Message, api=ApiKey.DELETE_ACLS):
    filters: list[DeleteAclsRequest.DeleteAclsFilter] = array("DeleteAclsFilter")

    class DeleteAclsFilter(Struct):
        resource_type_filter: int = int8()
        resource_name_filter: str | None = string(nullable=True)
        pattern_type_filter: int = int8("1+", default=3)
        principal_filter: str | None = string(nullable=True)
        host_filter: str | None = string(nullable=True)
        operation: int = int8()
        permission_type: int = int8()


class DeleteAclsResponse(Message, api=ApiKey.DELETE_ACLS):
    throttle_time_ms: int = int32()
    filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] = array("DeleteAclsFilterResult")

    class DeleteAclsFilterResult(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
        matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl] = array("DeleteAclsMatchingAcl")

    class DeleteAclsMatchingAcl(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
        resource_type: int = int8()
        resource_name: str = string()
        pattern_type: int = int8("1+", default=3)
        principal: str = string()
        host: str = string()
        operation: int = int8()
        permission_type: int = int8()
