"""FindCoordinator: the broker that coordinates a group, or a transactional id."""

from __future__ import annotations

from dataclasses import dataclass

from kafkapy.clients.metadata import Node
from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkapy.runtime.clock import Clock
from kafkapy.server.admin.auto_topic_creation import AutoTopicCreationManager
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.metadata.metadata_cache import MetadataCache

GROUP_TYPE = 0
TRANSACTION_TYPE = 1
SHARE_TYPE = 2

_NO_NODE = Node(-1, "", -1, None)


@dataclass(eq=False)
class FindCoordinatorHandler:
    """Finds the coordinator of a key: the leader of its partition."""

    _coordinator: GroupCoordinator
    _transactions: TransactionCoordinator
    _cache: MetadataCache
    _auto_topics: AutoTopicCreationManager
    _authorizer: Authorizer
    _clock: Clock

    async def handle_find_coordinator(self, request: Request) -> FindCoordinatorResponse:
        """Return the coordinators of a group or transactional id, or of several (from v4 on)."""
        body: FindCoordinatorRequest = request.body
        if request.api_version < 4:
            error, node = self._find_coordinator(request, body.key_type, body.key)
            return FindCoordinatorResponse(
                error_code=error.code,
                error_message=error.message,
                node_id=node.id,
                host=node.host,
                port=node.port,
            )
        response = FindCoordinatorResponse()
        for key in body.coordinator_keys:
            await self._clock.checkpoint()
            error, node = self._find_coordinator(request, body.key_type, key)
            coordinator = FindCoordinatorResponse.Coordinator(
                key=key, error_code=error.code, node_id=node.id, host=node.host, port=node.port
            )
            if error is Errors.INVALID_REQUEST and body.key_type not in (GROUP_TYPE, SHARE_TYPE):
                coordinator.error_message = error.message
            response.coordinators.append(coordinator)
        return response

    def _find_coordinator(self, request: Request, key_type: int, key: str) -> tuple[Errors, Node]:
        authorizer, context = self._authorizer, request.context
        if key_type == GROUP_TYPE:
            if not authorizer.authorize(context, ACLOperation.DESCRIBE, ResourceType.GROUP, key):
                return Errors.GROUP_AUTHORIZATION_FAILED, _NO_NODE
            return self._leader(request, GROUP_METADATA_TOPIC, self._coordinator.partition_for(key))
        if key_type == TRANSACTION_TYPE:
            if not authorizer.authorize(context, ACLOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, key):
                return Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _NO_NODE
            partition = self._transactions.partition_for(key)
            return self._leader(request, TRANSACTION_STATE_TOPIC, partition)
        if key_type == SHARE_TYPE and request.api_version >= 6:
            if not authorizer.authorize(context, ACLOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
                return Errors.CLUSTER_AUTHORIZATION_FAILED, _NO_NODE
            return Errors.COORDINATOR_NOT_AVAILABLE, _NO_NODE
        return Errors.INVALID_REQUEST, _NO_NODE

    def _leader(self, request: Request, topic: str, partition: int) -> tuple[Errors, Node]:
        """Return the leader of the key's partition; the first request creates the topic."""
        cache = self._cache
        if not cache.contains_topic(topic):
            self._auto_topics.create_internal_topic(topic, request)
            return Errors.COORDINATOR_NOT_AVAILABLE, _NO_NODE
        state = cache.partition_state(topic, partition)
        node = None if state is None else cache.alive_broker(state.leader, request.context.listener_name)
        return (Errors.COORDINATOR_NOT_AVAILABLE, _NO_NODE) if node is None else (Errors.NONE, node)
