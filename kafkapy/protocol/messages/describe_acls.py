"""DescribeAcls (API key 29): ACLs that match a filter."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, string


class DescribeAclsRequest(Message, api=ApiKey.DESCRIBE_ACLS):
    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable=True)
    pattern_type_filter: int = int8("1+", default=3)
    principal_filter: str | None = string(nullable=True)
    host_filter: str | None = string(nullable=True)
    operation: int = int8()
    permission_type: int = int8()


class DescribeAclsResponse(Message, api=ApiKey.DESCRIBE_ACLS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    resources: list[DescribeAclsResponse.DescribeAclsResource] = array("DescribeAclsResource")

    class DescribeAclsResource(Struct):
        resource_type: int = int8()
        resource_name: str = string()
        pattern_type: int = int8("1+", default=3)
        acls: list[DescribeAclsResponse.AclDescription] = array("AclDescription")

    class AclDescription(Struct):
        principal: str = string()
        host: str = string()
        operation: int = int8()
        permission_type: int = int8()
