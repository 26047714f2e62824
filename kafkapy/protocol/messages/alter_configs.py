"""AlterConfigs (API key 33): configurations to replace as a whole."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, string


class AlterConfigsRequest(Message, api=ApiKey.ALTER_CONFIGS):
    resources: list[AlterConfigsRequest.AlterConfigsResource] = array("AlterConfigsResource")
    validate_only: bool = boolean()

    class AlterConfigsResource(Struct):
        resource_type: int = int8()
        resource_name: str = string()
        configs: list[AlterConfigsRequest.AlterableConfig] = array("AlterableConfig")

    class AlterableConfig(Struct):
        name: str = string()
        value: str | None = string(nullable=True)


class AlterConfigsResponse(Message, api=ApiKey.ALTER_CONFIGS):
    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = array("AlterConfigsResourceResponse")

    class AlterConfigsResourceResponse(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
        resource_type: int = int8()
        resource_name: str = string()
