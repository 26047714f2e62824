"""Describes and alters configs of topics and brokers, log levels, client quotas, and SCRAM credentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from kafkapy.protocol.messages.alter_configs import AlterConfigsResponse
from kafkapy.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kafkapy.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkapy.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.server.admin import client_quotas, scram_credentials
from kafkapy.server.admin.client_quotas import Filter, QuotaOp
from kafkapy.server.admin.controller import Controller
from kafkapy.server.api_error import ApiError
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config import zk_entity_configs
from kafkapy.server.config.alter_configs import ConfigAdminManager
from kafkapy.server.config.config_resource import resource_type_of
from kafkapy.server.config.describe_configs import ConfigHelper
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.policies import AlterConfigPolicy
from kafkapy.zk.kafka_zk_client import KafkaZkClient

_TWICE = ApiError(Errors.INVALID_REQUEST, "Each resource must appear at most once.")

_EXACT, _DEFAULT, _SPECIFIED = 0, 1, 2
"""Match types of a quota filter: this name, the default, any name."""


@dataclass(eq=False)
class ConfigsHandler:
    """Reads and writes configs, quotas and credentials in ZooKeeper."""

    _authorizer: Authorizer
    _metadata_cache: MetadataCache
    _in_thread: InThread
    _zk_client: KafkaZkClient
    _dynamic_config: DynamicBrokerConfig
    _controller: Controller
    _clock: Clock
    _alter_config_policy: AlterConfigPolicy | None = None

    def _may(self, request: Request, operation: ACLOperation, resource_type: ResourceType, name: str) -> bool:
        return self._authorizer.authorize(request.context, operation, resource_type, name)

    def _require_cluster(self, request: Request, operation: ACLOperation) -> None:
        if not self._may(request, operation, ResourceType.CLUSTER, CLUSTER_NAME):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)

    async def handle_describe_configs(self, request: Request) -> DescribeConfigsResponse:
        body: DescribeConfigsRequest = request.body
        denied: dict[int, Errors] = {}
        known: dict[str, None] = {}
        for resource in body.resources:
            await self._clock.checkpoint()
            if error := self._denied(request, resource):
                denied[id(resource)] = error
            elif resource.resource_type == ConfigResourceType.TOPIC and self._metadata_cache.contains_topic(
                resource.resource_name
            ):
                known[resource.resource_name] = None
        topic_configs: dict[str, dict[str, str]] = {}
        if known:
            topic_configs = await self._in_thread(self._zk_client.get_entities_configs, zk_entity_configs.TOPICS, known)
        helper = ConfigHelper(self._dynamic_config, body.include_synonyms, body.include_documentation)
        allowed, refused = [], []
        for resource in body.resources:
            await self._clock.checkpoint()
            if error := denied.get(id(resource)):
                refused.append(
                    DescribeConfigsResponse.DescribeConfigsResult(
                        error_code=error.code,
                        error_message=error.message,
                        resource_type=resource.resource_type,
                        resource_name=resource.resource_name,
                    )
                )
            else:
                allowed.append(helper.describe(resource, topic_configs.get(resource.resource_name)))
        return DescribeConfigsResponse(results=allowed + refused)

    def _denied(self, request: Request, resource: DescribeConfigsRequest.DescribeConfigsResource) -> Errors | None:
        """Return the error if the resource may not be described. Raise `KafkaError` for an undefined type: the whole
        request fails."""
        match resource_type_of(resource.resource_type):
            case ConfigResourceType.TOPIC:
                allowed = self._may(request, ACLOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, resource.resource_name)
                return None if allowed else Errors.TOPIC_AUTHORIZATION_FAILED
            case ConfigResourceType.UNKNOWN:
                raise KafkaError(
                    Errors.INVALID_REQUEST, f"Unexpected resource type UNKNOWN for resource {resource.resource_name}"
                )
            case _:
                allowed = self._may(request, ACLOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
                return None if allowed else Errors.CLUSTER_AUTHORIZATION_FAILED

    async def handle_alter_configs(self, request: Request) -> AlterConfigsResponse:
        return AlterConfigsResponse(responses=await self._alter(request, AlterConfigsResponse, incremental=False))

    async def handle_incremental_alter_configs(self, request: Request) -> IncrementalAlterConfigsResponse:
        responses = await self._alter(request, IncrementalAlterConfigsResponse, incremental=True)
        return IncrementalAlterConfigsResponse(responses=responses)

    async def _alter(
        self,
        request: Request,
        message: type[AlterConfigsResponse] | type[IncrementalAlterConfigsResponse],
        incremental: bool,
    ) -> list[Any]:
        """Alter the configs; return each resource's result as the message's structs. A resource named twice is
        refused."""
        body = request.body
        manager = ConfigAdminManager(
            self._zk_client,
            self._metadata_cache,
            self._dynamic_config,
            self._authorizer,
            self._in_thread,
            request.context,
            incremental=incremental,
            validate_only=body.validate_only,
            policy=self._alter_config_policy,
        )
        times: dict[int, dict[str, int]] = {}
        for chunk in chunks(body.resources):
            await self._clock.checkpoint()
            for resource in chunk:
                of_type = times.setdefault(resource.resource_type, {})
                of_type[resource.resource_name] = of_type.get(resource.resource_name, 0) + 1
        once = []
        for chunk in chunks(body.resources):
            await self._clock.checkpoint()
            once += [resource for resource in chunk if times[resource.resource_type][resource.resource_name] == 1]
        errors = iter(await manager.alter_all(self._clock, once))
        responses = []
        for resource in body.resources:
            await self._clock.checkpoint()
            code, name = resource.resource_type, resource.resource_name
            error = next(errors) if times[code][name] == 1 else _TWICE
            responses.append(
                message.AlterConfigsResourceResponse(
                    error_code=error.code, error_message=error.message, resource_type=code, resource_name=name
                )
            )
        return responses

    async def handle_describe_client_quotas(self, request: Request) -> DescribeClientQuotasResponse:
        self._require_cluster(request, ACLOperation.DESCRIBE_CONFIGS)
        body: DescribeClientQuotasRequest = request.body
        filters = [(component.entity_type, _filter(component)) for component in body.components]
        found = await self._in_thread(client_quotas.describe_client_quotas, self._zk_client, filters, body.strict)
        response = DescribeClientQuotasResponse
        return response(
            entries=[
                response.EntryData(
                    entity=[response.EntityData(entity_type=t, entity_name=name) for t, name in entity.items()],
                    values=[response.ValueData(key=key, value=value) for key, value in quotas.items()],
                )
                for entity, quotas in found
            ]
        )

    async def handle_alter_client_quotas(self, request: Request) -> AlterClientQuotasResponse:
        self._require_cluster(request, ACLOperation.ALTER_CONFIGS)
        body: AlterClientQuotasRequest = request.body
        response = AlterClientQuotasResponse
        entries = []
        for entry in body.entries:
            entity = {part.entity_type: part.entity_name for part in entry.entity}
            ops = [QuotaOp(op.key, None if op.remove else op.value) for op in entry.ops]
            error = await self._in_thread(
                client_quotas.alter_client_quotas, self._zk_client, entity, ops, body.validate_only
            )
            entries.append(
                response.EntryData(
                    error_code=error.code,
                    error_message=error.message,
                    entity=[response.EntityData(entity_type=t, entity_name=name) for t, name in entity.items()],
                )
            )
        return response(entries=entries)

    async def handle_describe_user_scram_credentials(self, request: Request) -> DescribeUserScramCredentialsResponse:
        self._require_cluster(request, ACLOperation.DESCRIBE)
        body: DescribeUserScramCredentialsRequest = request.body
        users = None if body.users is None else [user.name for user in body.users]
        return DescribeUserScramCredentialsResponse(
            results=await self._in_thread(scram_credentials.describe, self._zk_client, users)
        )

    async def handle_alter_user_scram_credentials(self, request: Request) -> AlterUserScramCredentialsResponse:
        if not self._controller.is_active:
            raise KafkaError(Errors.NOT_CONTROLLER)
        self._require_cluster(request, ACLOperation.ALTER)
        body: AlterUserScramCredentialsRequest = request.body
        return AlterUserScramCredentialsResponse(
            results=await self._in_thread(scram_credentials.alter, self._zk_client, body.upsertions, body.deletions)
        )


# --------------------------------------------------------------------------------------------------- client quotas


def _filter(component: DescribeClientQuotasRequest.ComponentData) -> Filter:
    if component.match_type == _EXACT and component.match is not None:
        return Filter(any_name=False, name=component.match)
    if component.match_type == _DEFAULT:
        return Filter(any_name=False)
    if component.match_type == _SPECIFIED:
        return Filter(any_name=True)
    raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)  # as in Kafka


# ---------------------------------------------------------------------------------------------- SCRAM credentials
