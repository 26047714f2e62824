"""AlterClientQuotas (API key 49): client quotas to change."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, float64, int16, int32, string


class AlterClientQuotasRequest(Message, api=ApiKey.ALTER_CLIENT_QUOTAS):
    entries: list[AlterClientQuotasRequest.EntryData] = array("EntryData")
    validate_only: bool = boolean()

    class EntryData(Struct):
        entity: list[AlterClientQuotasRequest.EntityData] = array("EntityData")
        ops: list[AlterClientQuotasRequest.OpData] = array("OpData")

    class EntityData(Struct):
        entity_type: str = string()
        entity_name: str | None = string(nullable=True)

    class OpData(Struct):
        key: str = string()
        value: float = float64()
        remove: bool = boolean()


class AlterClientQuotasResponse(Message, api=ApiKey.ALTER_CLIENT_QUOTAS):
    throttle_time_ms: int = int32()
    entries: list[AlterClientQuotasResponse.EntryData] = array("EntryData")

    class EntryData(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
        entity: list[AlterClientQuotasResponse.EntityData] = array("EntityData")

    class EntityData(Struct):
        entity_type: str = string()
        entity_name: str | None = string(nullable=True)
