"""Handles consumer groups: authorizes and calls the group coordinator."""

from __future__ import annotations

from dataclasses import dataclass

from kafkapy.common import metadata_version
from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.coordinator.group.responses import join_error
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafkapy.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig


@dataclass(eq=False)
class GroupsHandler:
    """Authorizes requests and passes them to the group coordinator."""

    _coordinator: GroupCoordinator
    _authorizer: Authorizer
    _config: KafkaConfig
    _clock: Clock

    # ------------------------------------------------------------------------------------------------ membership

    async def handle_join_group(self, request: Request) -> JoinGroupResponse:
        """Respond when the rebalance is complete."""
        body: JoinGroupRequest = request.body
        version, context = request.api_version, request.context
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            response = join_error("", Errors.UNSUPPORTED_VERSION)
        elif not self._authorizer.authorize(context, ACLOperation.READ, ResourceType.GROUP, body.group_id):
            response = join_error("", Errors.GROUP_AUTHORIZATION_FAILED)
        else:
            response = await self._coordinator.join_group(body, version, context.client_id, context.client_host)
        # The protocol's name may be null from v7 on, and is never empty then.
        response.protocol_name = response.protocol_name or ("" if version < 7 else None)
        return response

    async def handle_sync_group(self, request: Request) -> SyncGroupResponse:
        """Respond when the group's leader has sent the assignment."""
        body: SyncGroupRequest = request.body
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        if request.api_version >= 5 and (body.protocol_type is None or body.protocol_name is None):
            raise KafkaError(Errors.INCONSISTENT_GROUP_PROTOCOL)
        require_group(self._authorizer, request, ACLOperation.READ, body.group_id)
        return await self._coordinator.sync_group(body)

    async def handle_heartbeat(self, request: Request) -> HeartbeatResponse:
        body: HeartbeatRequest = request.body
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        require_group(self._authorizer, request, ACLOperation.READ, body.group_id)
        return self._coordinator.heartbeat(body)

    async def handle_leave_group(self, request: Request) -> LeaveGroupResponse:
        body: LeaveGroupRequest = request.body
        require_group(self._authorizer, request, ACLOperation.READ, body.group_id)
        return self._coordinator.leave_group(body, request.api_version)

    # ------------------------------------------------------------------------------------------------ administration

    async def handle_describe_groups(self, request: Request) -> DescribeGroupsResponse:
        body: DescribeGroupsRequest = request.body
        response = DescribeGroupsResponse()
        described = []
        for group_id in body.groups:
            await self._clock.checkpoint()
            if not self._authorizer.authorize(request.context, ACLOperation.DESCRIBE, ResourceType.GROUP, group_id):
                response.groups.append(
                    DescribeGroupsResponse.DescribedGroup(
                        group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
                    )
                )
                continue
            group = self._coordinator.describe_group(group_id)
            if body.include_authorized_operations and group.error_code == Errors.NONE.code:
                group.authorized_operations = self._authorizer.authorized_operations(
                    request.context, ResourceType.GROUP, group_id
                )
            described.append(group)
        response.groups += described
        return response

    async def handle_list_groups(self, request: Request) -> ListGroupsResponse:
        """Return all groups if the sender may describe the cluster, else those that it may describe."""
        response = await self._coordinator.list_groups(request.body)
        authorize = self._authorizer.authorize
        if not authorize(
            request.context, ACLOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME, log_if_denied=False
        ):
            listed, response.groups = response.groups, []
            request.keep(listed)
            for group in listed:
                await self._clock.checkpoint()
                if authorize(
                    request.context, ACLOperation.DESCRIBE, ResourceType.GROUP, group.group_id, log_if_denied=False
                ):
                    response.groups.append(group)
        return response

    async def handle_delete_groups(self, request: Request) -> DeleteGroupsResponse:
        body: DeleteGroupsRequest = request.body
        authorize = self._authorizer.authorize
        allowed: list[str] = []
        denied: list[DeleteGroupsResponse.DeletableGroupResult] = []
        for name in dict.fromkeys(body.groups_names):
            await self._clock.checkpoint()
            if authorize(request.context, ACLOperation.DELETE, ResourceType.GROUP, name):
                allowed.append(name)
            else:
                denied.append(_refused(name))
        results = await self._coordinator.delete_groups(allowed)
        return DeleteGroupsResponse(results=results + denied)

    # ------------------------------------------------------------------------------------------------ KIP-848

    async def handle_consumer_group_heartbeat(self, request: Request) -> ConsumerGroupHeartbeatResponse:
        """Refuse the request: the API is advertised, but only KRaft brokers support the new group protocol."""
        return ConsumerGroupHeartbeatResponse(error_code=Errors.UNSUPPORTED_VERSION.code)

    async def handle_consumer_group_describe(self, request: Request) -> ConsumerGroupDescribeResponse:
        body: ConsumerGroupDescribeRequest = request.body
        response = ConsumerGroupDescribeResponse()
        code, described = Errors.UNSUPPORTED_VERSION.code, ConsumerGroupDescribeResponse.DescribedGroup
        for chunk in chunks(body.group_ids):
            await self._clock.checkpoint()
            response.groups += [described(group_id=group_id, error_code=code) for group_id in chunk]
        return response


def _refused(group_id: str) -> DeleteGroupsResponse.DeletableGroupResult:
    return DeleteGroupsResponse.DeletableGroupResult(
        group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
    )


def require_group(authorizer: Authorizer, request: Request, operation: ACLOperation, group_id: str) -> None:
    """Raise `KafkaError` GROUP_AUTHORIZATION_FAILED unless the sender may do the operation on the group."""
    if not authorizer.authorize(request.context, operation, ResourceType.GROUP, group_id):
        raise KafkaError(Errors.GROUP_AUTHORIZATION_FAILED)


def is_static_membership_unsupported(config: KafkaConfig, group_instance_id: str | None) -> bool:
    """Return whether static membership must be refused: older brokers would lose the instance id, so that the member
    became a dynamic one there."""
    return group_instance_id is not None and not metadata_version.is_static_membership_supported(
        config.inter_broker_protocol_version
    )
