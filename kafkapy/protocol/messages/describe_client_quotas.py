"""DescribeClientQuotas (API key 48): client quotas that match a filter."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, float64, int8, int16, int32, string


class DescribeClientQuotasRequest(Message, api=ApiKey.DESCRIBE_CLIENT_QUOTAS):
    components: list[DescribeClientQuotasRequest.ComponentData] = array("ComponentData")
    strict: bool = boolean()

    class ComponentData(Struct):
        entity_type: str = string()
        match_type: int = int8()
        match: str | None = string(nullable=True)


class DescribeClientQuotasResponse(Message, api=ApiKey.DESCRIBE_CLIENT_QUOTAS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    entries: list[DescribeClientQuotasResponse.EntryData] | None = array("EntryData", nullable=True)

    class EntryData(Struct):
        entity: list[DescribeClientQuotasResponse.EntityData] = array("EntityData")
        values: list[DescribeClientQuotasResponse.ValueData] = array("ValueData")

    class EntityData(Struct):
        entity_type: str = string()
        entity_name: str | None = string(nullable=True)

    class ValueData(Struct):
        key: str = string()
        value: float = float64()
