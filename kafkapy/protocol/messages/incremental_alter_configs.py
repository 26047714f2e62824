"""IncrementalAlterConfigs (API key 44): configurations to change one by one."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, string


class IncrementalAlterConfigsRequest(Message, api=ApiKey.INCREMENTAL_ALTER_CONFIGS):
    resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource] = array("AlterConfigsResource")
    validate_only: bool = boolean()

    class AlterConfigsResource(Struct):
        resource_type: int = int8()
        resource_name: str = string()
        configs: list[IncrementalAlterConfigsRequest.AlterableConfig] = array("AlterableConfig")

    class AlterableConfig(Struct):
        name: str = string()
        config_operation: int = int8()
        value: str | None = string(nullable=True)


class IncrementalAlterConfigsResponse(Message, api=ApiKey.INCREMENTAL_ALTER_CONFIGS):
    throttle_time_ms: int = int32()
    responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse] = array(
        "AlterConfigsResourceResponse"
    )

    class AlterConfigsResourceResponse(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
        resource_type: int = int8()
        resource_name: str = string()
