"""CreateAcls (API key 30): ACLs to create."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, string


class CreateAclsRequest(Message, api=ApiKey.CREATE_ACLS):
    creations: list[CreateAclsRequest.AclCreation] = array("AclCreation")

    class AclCreation(Struct):
        resource_type: int = int8()
        resource_name: str = string()
        resource_pattern_type: int = int8("1+", default=3)
        principal: str = string()
        host: str = string()
        operation: int = int8()
        permission_type: int = int8()


class CreateAclsResponse(Message, api=ApiKey.CREATE_ACLS):
    throttle_time_ms: int = int32()
    results: list[CreateAclsResponse.AclCreationResult] = array("AclCreationResult")

    class AclCreationResult(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
