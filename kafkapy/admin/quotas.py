"""Client quotas (KIP-546)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkapy.admin.results import raise_failure
from kafkapy.admin.router import Router
from kafkapy.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafkapy.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Pairs of entity type ("user", "client-id", "ip") and name (None: the default), in order of the types."""


class QuotaMatch(IntEnum):
    EXACT = 0
    DEFAULT = 1
    ANY = 2


class QuotaFilter(NamedTuple):
    entity_type: str
    match_type: QuotaMatch
    match: str | None = None


class QuotaOperations(Router):
    async def describe_client_quotas(
        self, filters: Iterable[QuotaFilter], strict: bool = True, timeout_ms: int | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Return quotas of matching entities. `strict`: only entities that have exactly the types of the filters."""
        component = DescribeClientQuotasRequest.ComponentData
        components = [component(entity_type=f.entity_type, match_type=f.match_type, match=f.match) for f in filters]
        request = DescribeClientQuotasRequest(components=components, strict=strict)
        response = (await self.on_any(self.call("describeClientQuotas", timeout_ms), request)).response
        raise_failure(response)
        return {
            tuple(sorted(((e.entity_type, e.entity_name) for e in entry.entity), key=lambda pair: pair[0])): {
                value.key: value.value for value in entry.values
            }
            for entry in response.entries or ()
        }

    async def alter_client_quotas(
        self, entity: QuotaEntity, quotas: Mapping[str, float | None], timeout_ms: int | None = None
    ) -> None:
        """Set quotas of one entity; None removes a quota."""
        message = AlterClientQuotasRequest
        entry = message.EntryData(
            entity=[message.EntityData(entity_type=type_, entity_name=name) for type_, name in entity],
            ops=[message.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in quotas.items()],
        )
        answer = await self.on_any(self.call("alterClientQuotas", timeout_ms), message(entries=[entry]))
        for result in answer.response.entries:
            raise_failure(result)
