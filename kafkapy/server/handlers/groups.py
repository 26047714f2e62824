"""Consumer groups: who is allowed to ask, whether the topics exist, and then the group coordinator's answer."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from kafkapy.common import metadata_version
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
from kafkapy.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from kafkapy.runtime.clock import Clock, Steps, in_steps, portions, some_of
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.handlers.metadata import ACL_OPERATIONS, GROUP_OPERATIONS


@dataclass(eq=False)
class GroupsHandler:
    """Checks who asks, and passes requests on to the group coordinator."""

    _coordinator: GroupCoordinator
    _authorizer: Authorizer
    _config: KafkaConfig
    _clock: Clock

    # ------------------------------------------------------------------------------------------------ membership

    def handle_join_group(self, request: Request) -> None:
        """Answered when the rebalance is through."""
        body: JoinGroupRequest = request.body
        version = request.api_version

        def reply(response: JoinGroupResponse) -> None:
            # The protocol's name may be null from v7 on, and is never empty then.
            response.protocol_name = response.protocol_name or ("" if version < 7 else None)
            request.respond(response)

        context = request.context
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            reply(join_error("", Errors.UNSUPPORTED_VERSION))
        elif self._authorizer.authorize(context, "READ", "GROUP", body.group_id):
            self._coordinator.join_group(body, version, context.client_id, context.client_host, reply)
        else:
            reply(join_error("", Errors.GROUP_AUTHORIZATION_FAILED))

    def handle_sync_group(self, request: Request) -> None:
        """Answered when the leader has sent the assignment."""
        body: SyncGroupRequest = request.body
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        if request.api_version >= 5 and (body.protocol_type is None or body.protocol_name is None):
            raise KafkaError(Errors.INCONSISTENT_GROUP_PROTOCOL)
        require_group(self._authorizer, request, "READ", body.group_id)
        self._coordinator.sync_group(body, request.respond)

    def handle_heartbeat(self, request: Request) -> HeartbeatResponse:
        body: HeartbeatRequest = request.body
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        require_group(self._authorizer, request, "READ", body.group_id)
        return self._coordinator.heartbeat(body)

    def handle_leave_group(self, request: Request) -> LeaveGroupResponse:
        body: LeaveGroupRequest = request.body
        require_group(self._authorizer, request, "READ", body.group_id)
        return self._coordinator.leave_group(body, request.api_version)

    # ------------------------------------------------------------------------------------------------ administration

    def handle_describe_groups(self, request: Request) -> DescribeGroupsResponse | Awaitable[DescribeGroupsResponse]:
        return in_steps(self._clock, self._describe_groups(request, request.body))

    def _describe_groups(self, request: Request, body: DescribeGroupsRequest) -> Steps[DescribeGroupsResponse]:
        response = DescribeGroupsResponse()
        described = []
        for group_id in body.groups:
            yield
            if not self._authorizer.authorize(request.context, "DESCRIBE", "GROUP", group_id):
                response.groups.append(
                    DescribeGroupsResponse.DescribedGroup(
                        group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
                    )
                )
                continue
            group = self._coordinator.describe_group(group_id)
            if body.include_authorized_operations and group.error_code == Errors.NONE.code:
                group.authorized_operations = self._authorized_operations(request, group_id)
            described.append(group)
        response.groups += described
        return response

    def _authorized_operations(self, request: Request, group_id: str) -> int:
        """What the sender may do with the group, as a bit field (KIP-430)."""
        return sum(
            1 << code
            for code, operation in ACL_OPERATIONS.items()
            if GROUP_OPERATIONS >> code & 1
            and self._authorizer.authorize(request.context, operation, "GROUP", group_id)
        )

    def handle_list_groups(self, request: Request) -> ListGroupsResponse | Awaitable[ListGroupsResponse]:
        """All groups for those who may describe the cluster, else those that the sender may describe."""
        return in_steps(self._clock, self._list_groups(request, request.body))

    def _list_groups(self, request: Request, body: ListGroupsRequest) -> Steps[ListGroupsResponse]:
        response = yield from self._coordinator.list_groups(body)
        authorize = self._authorizer.authorize
        if not authorize(request.context, "DESCRIBE", "CLUSTER", CLUSTER_NAME):
            listed, response.groups = response.groups, []
            for some in portions(listed):
                response.groups += [g for g in some if authorize(request.context, "DESCRIBE", "GROUP", g.group_id)]
                yield
        return response

    def handle_delete_groups(self, request: Request) -> DeleteGroupsResponse | Awaitable[DeleteGroupsResponse]:
        return in_steps(self._clock, self._delete_groups(request, request.body))

    def _delete_groups(self, request: Request, body: DeleteGroupsRequest) -> Steps[DeleteGroupsResponse]:
        authorize = self._authorizer.authorize
        allowed: list[str] = []
        denied: list[str] = []
        names: dict[str, None] = {}
        for some in portions(body.groups_names):
            names.update(dict.fromkeys(some))
            yield
        for some in some_of(names):
            for name in some:
                (allowed if authorize(request.context, "DELETE", "GROUP", name) else denied).append(name)
            yield
        results = yield from self._coordinator.delete_groups(allowed)
        for some in portions(denied):
            results += [_refused(name) for name in some]
            yield
        return DeleteGroupsResponse(results=results)


def _refused(group_id: str) -> DeleteGroupsResponse.DeletableGroupResult:
    return DeleteGroupsResponse.DeletableGroupResult(
        group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
    )


def require_group(authorizer: Authorizer, request: Request, operation: str, group_id: str) -> None:
    """Raises GROUP_AUTHORIZATION_FAILED."""
    if not authorizer.authorize(request.context, operation, "GROUP", group_id):
        raise KafkaError(Errors.GROUP_AUTHORIZATION_FAILED)


def is_static_membership_unsupported(config: KafkaConfig, group_instance_id: str | None) -> bool:
    """While brokers are about that would lose the instance id, the member would become a dynamic one there."""
    return group_instance_id is not None and not metadata_version.is_static_membership_supported(
        config.inter_broker_protocol_version
    )


# ---------------------------------------------------------------------------------------------------- KIP-848


def handle_consumer_group_heartbeat(request: Request) -> ConsumerGroupHeartbeatResponse:
    """Advertised, but only KRaft brokers have the new group protocol."""
    return ConsumerGroupHeartbeatResponse(error_code=Errors.UNSUPPORTED_VERSION.code)


def handle_consumer_group_describe(request: Request) -> ConsumerGroupDescribeResponse:
    body: ConsumerGroupDescribeRequest = request.body
    return ConsumerGroupDescribeResponse(
        groups=[
            ConsumerGroupDescribeResponse.DescribedGroup(group_id=group_id, error_code=Errors.UNSUPPORTED_VERSION.code)
            for group_id in body.group_ids
        ]
    )
