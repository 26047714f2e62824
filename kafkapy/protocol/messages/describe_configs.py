"""DescribeConfigs (API key 32): configurations of topics and brokers."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, string


class DescribeConfigsRequest(Message, api=ApiKey.DESCRIBE_CONFIGS):
    resources: list[DescribeConfigsRequest.DescribeConfigsResource] = array("DescribeConfigsResource")
    include_synonyms: bool = boolean("1+")
    include_documentation: bool = boolean("3+")

    class DescribeConfigsResource(Struct):
        resource_type: int = int8()
        resource_name: str = string()
        configuration_keys: list[str] | None = array("string", nullable=True)


class DescribeConfigsResponse(Message, api=ApiKey.DESCRIBE_CONFIGS):
    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResponse.DescribeConfigsResult] = array("DescribeConfigsResult")

    class DescribeConfigsResult(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
        resource_type: int = int8()
        resource_name: str = string()
        configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = array("DescribeConfigsResourceResult")

    class DescribeConfigsResourceResult(Struct):
        name: str = string()
        value: str | None = string(nullable=True)
        read_only: bool = boolean()
        is_default: bool = boolean("0")
        config_source: int = int8("1+", default=-1, ignorable=True)
        is_sensitive: bool = boolean()
        synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = array(
            "DescribeConfigsSynonym", "1+", ignorable=True
        )
        config_type: int = int8("3+", ignorable=True)
        documentation: str | None = string("3+", nullable=True, ignorable=True)

    class DescribeConfigsSynonym(Struct):
        name: str = string("1+")
        value: str | None = string("1+", nullable=True)
        source: int = int8("1+")
