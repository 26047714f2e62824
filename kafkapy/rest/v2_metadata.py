"""Topics, partitions, brokers and offsets by REST Proxy v2."""

from __future__ import annotations

from typing import Any

from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.http.messages import HttpRequest
from kafkapy.rest.cluster_view import configs_of, offsets_of, partition_of, topic_of, v2_partition
from kafkapy.rest.context import RestContext
from kafkapy.rest.fields import path_number
from kafkapy.rest.routing import V2, RestRoute


class V2Metadata:
    def __init__(self, context: RestContext) -> None:
        self._context = context

    def routes(self) -> list[RestRoute]:
        offered = (V2, "application/json", "application/vnd.kafka+json")
        return [
            RestRoute("GET", (), self._root, offered),
            RestRoute("GET", ("brokers",), self._brokers, offered),
            RestRoute("GET", ("topics",), self._topics, offered),
            RestRoute("GET", ("topics", None), self._topic, offered),
            RestRoute("GET", ("topics", None, "partitions"), self._partitions, offered),
            RestRoute("GET", ("topics", None, "partitions", None), self._partition, offered),
            RestRoute("GET", ("topics", None, "partitions", None, "offsets"), self._offsets, offered),
        ]

    async def _root(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        return {}

    async def _brokers(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        cluster = await self._context.blocking(self._context.admin.describe_cluster)
        return {"brokers": [broker["broker_id"] for broker in cluster["brokers"]]}

    async def _topics(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        return sorted(await self._context.blocking(self._context.admin.list_topics))

    async def _topic(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        return await self._context.blocking(self._describe, parts[0])

    def _describe(self, name: str) -> Any:
        topic = topic_of(self._context.admin, name)
        configs = configs_of(self._context.admin, ConfigResourceType.TOPIC, name)
        return {
            "name": name,
            "configs": {key: config["value"] for key, config in configs.items()},
            "partitions": [v2_partition(each) for each in topic["partitions"]],
        }

    async def _partitions(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        topic = await self._context.blocking(topic_of, self._context.admin, parts[0])
        return [v2_partition(each) for each in topic["partitions"]]

    async def _partition(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        found = await self._context.blocking(partition_of, self._context.admin, parts[0], path_number(parts[1]))
        return v2_partition(found)

    async def _offsets(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        partition = path_number(parts[1])
        await self._context.blocking(partition_of, self._context.admin, parts[0], partition)
        offsets = await self._context.blocking(offsets_of, self._context.admin, parts[0], [partition])
        first, last = offsets[partition]
        return {"beginning_offset": first, "end_offset": last}
