"""Consumer groups: who is allowed to ask, whether the topics exist, and then the group coordinator's answer."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kafkapy.clients.metadata import Node
from kafkapy.common import metadata_version
from kafkapy.common.clock import InThread
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
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
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from kafkapy.server.admin.auto_topic_creation import AutoTopicCreationManager
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.handlers.metadata import ACL_OPERATIONS, GROUP_OPERATIONS
from kafkapy.server.handlers.zookeeper_offsets import fetch_from_zookeeper, write_offsets
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.zk.kafka_zk_client import KafkaZkClient


@dataclass(frozen=True)
class GroupServices:
    """What the group APIs need of the broker."""

    group_coordinator: GroupCoordinator
    metadata_cache: MetadataCache
    auto_topic_creation: AutoTopicCreationManager
    authorizer: Authorizer
    config: KafkaConfig
    zk_client: KafkaZkClient
    in_thread: InThread


GROUP_TYPE = 0
TRANSACTION_TYPE = 1
SHARE_TYPE = 2

T = TypeVar("T", OffsetCommitResponse.OffsetCommitResponseTopic, OffsetDeleteResponse.OffsetDeleteResponseTopic)

_NO_NODE = Node(-1, "", -1, None)
_NO_OFFSET = -1


def _require_group(broker: GroupServices, request: Request, operation: str, group_id: str) -> None:
    if not broker.authorizer.authorize(request.context, operation, "GROUP", group_id):
        raise KafkaError(Errors.GROUP_AUTHORIZATION_FAILED)


def _is_static_membership_unsupported(broker: GroupServices, group_instance_id: str | None) -> bool:
    """While brokers are about that would lose the instance id, the member would become a dynamic one there."""
    return group_instance_id is not None and not metadata_version.is_static_membership_supported(
        broker.config.inter_broker_protocol_version
    )


# ---------------------------------------------------------------------------------------------------- FindCoordinator


def handle_find_coordinator(broker: GroupServices, request: Request) -> FindCoordinatorResponse:
    """The broker that coordinates a group; from v4 on of several at once."""
    body: FindCoordinatorRequest = request.body
    if request.api_version < 4:
        error, node = _find_coordinator(broker, request, body.key_type, body.key)
        return FindCoordinatorResponse(
            error_code=error.code,
            error_message=_message(body.key_type, error),
            node_id=node.id,
            host=node.host,
            port=node.port,
        )
    response = FindCoordinatorResponse()
    for key in body.coordinator_keys:
        error, node = _find_coordinator(broker, request, body.key_type, key)
        coordinator = FindCoordinatorResponse.Coordinator(
            key=key, error_code=error.code, node_id=node.id, host=node.host, port=node.port
        )
        if error is Errors.INVALID_REQUEST and body.key_type not in (GROUP_TYPE, SHARE_TYPE):
            coordinator.error_message = _message(body.key_type, error)
        response.coordinators.append(coordinator)
    return response


def _find_coordinator(broker: GroupServices, request: Request, key_type: int, key: str) -> tuple[Errors, Node]:
    authorizer, context = broker.authorizer, request.context
    if key_type == GROUP_TYPE:
        if not authorizer.authorize(context, "DESCRIBE", "GROUP", key):
            return Errors.GROUP_AUTHORIZATION_FAILED, _NO_NODE
        return _group_coordinator(broker, context.listener_name, key)
    if key_type == TRANSACTION_TYPE:
        if not authorizer.authorize(context, "DESCRIBE", "TRANSACTIONAL_ID", key):
            return Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _NO_NODE
        # Not COORDINATOR_NOT_AVAILABLE: a producer would ask again and again instead of failing with the reason.
        return Errors.INVALID_REQUEST, _NO_NODE
    if key_type == SHARE_TYPE and request.api_version >= 6:
        if not authorizer.authorize(context, "CLUSTER_ACTION", "CLUSTER", CLUSTER_NAME):
            return Errors.CLUSTER_AUTHORIZATION_FAILED, _NO_NODE
        return Errors.COORDINATOR_NOT_AVAILABLE, _NO_NODE
    return Errors.INVALID_REQUEST, _NO_NODE


def _message(key_type: int, error: Errors) -> str | None:
    if key_type == TRANSACTION_TYPE and error is Errors.INVALID_REQUEST:
        return "This broker does not serve transactions yet"
    return error.message


def _group_coordinator(broker: GroupServices, listener_name: str, group_id: str) -> tuple[Errors, Node]:
    """The leader of the group's partition; the first who asks has the topic created."""
    cache = broker.metadata_cache
    if not cache.contains_topic(GROUP_METADATA_TOPIC):
        broker.auto_topic_creation.create_internal_topic(GROUP_METADATA_TOPIC)
        return Errors.COORDINATOR_NOT_AVAILABLE, _NO_NODE
    state = cache.partition_state(GROUP_METADATA_TOPIC, broker.group_coordinator.partition_for(group_id))
    node = None if state is None else cache.alive_broker(state.leader, listener_name)
    return (Errors.COORDINATOR_NOT_AVAILABLE, _NO_NODE) if node is None else (Errors.NONE, node)


# ---------------------------------------------------------------------------------------------------- membership


def handle_join_group(broker: GroupServices, request: Request) -> None:
    """Answered when the rebalance is through."""
    body: JoinGroupRequest = request.body
    version = request.api_version

    def reply(response: JoinGroupResponse) -> None:
        # The protocol's name may be null from v7 on, and is never empty then.
        response.protocol_name = response.protocol_name or ("" if version < 7 else None)
        request.respond(response)

    context = request.context
    if _is_static_membership_unsupported(broker, body.group_instance_id):
        reply(join_error("", Errors.UNSUPPORTED_VERSION))
    elif broker.authorizer.authorize(context, "READ", "GROUP", body.group_id):
        broker.group_coordinator.join_group(body, version, context.client_id, context.client_host, reply)
    else:
        reply(join_error("", Errors.GROUP_AUTHORIZATION_FAILED))


def handle_sync_group(broker: GroupServices, request: Request) -> None:
    """Answered when the leader has sent the assignment."""
    body: SyncGroupRequest = request.body
    if _is_static_membership_unsupported(broker, body.group_instance_id):
        raise KafkaError(Errors.UNSUPPORTED_VERSION)
    if request.api_version >= 5 and (body.protocol_type is None or body.protocol_name is None):
        raise KafkaError(Errors.INCONSISTENT_GROUP_PROTOCOL)
    _require_group(broker, request, "READ", body.group_id)
    broker.group_coordinator.sync_group(body, request.respond)


def handle_heartbeat(broker: GroupServices, request: Request) -> HeartbeatResponse:
    body: HeartbeatRequest = request.body
    if _is_static_membership_unsupported(broker, body.group_instance_id):
        raise KafkaError(Errors.UNSUPPORTED_VERSION)
    _require_group(broker, request, "READ", body.group_id)
    return broker.group_coordinator.heartbeat(body)


def handle_leave_group(broker: GroupServices, request: Request) -> LeaveGroupResponse:
    body: LeaveGroupRequest = request.body
    _require_group(broker, request, "READ", body.group_id)
    return broker.group_coordinator.leave_group(body, request.api_version)


# ---------------------------------------------------------------------------------------------------- offsets


def handle_offset_commit(
    broker: GroupServices, request: Request
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse] | None:
    """Answered when the offsets are committed to the log; v0 keeps them in ZooKeeper."""
    body: OffsetCommitRequest = request.body
    _require_group(broker, request, "READ", body.group_id)
    if _is_static_membership_unsupported(broker, body.group_instance_id):
        raise KafkaError(Errors.UNSUPPORTED_VERSION)
    refused = OffsetCommitResponse()
    accepted = []
    for topic in body.topics:
        errors = _refusals(broker, request, topic.name, [partition.partition_index for partition in topic.partitions])
        if errors:
            refused.topics.append(_commit_results(topic.name, errors))
        good = [partition for partition in topic.partitions if partition.partition_index not in errors]
        if good:
            accepted.append(OffsetCommitRequest.OffsetCommitRequestTopic(name=topic.name, partitions=good))
    if not accepted:
        return refused
    body.topics = accepted
    if request.api_version == 0:
        return _commit_to_zookeeper(broker, body, refused)

    def reply(response: OffsetCommitResponse) -> None:
        response.topics = _merged(refused.topics, response.topics)
        request.respond(response)

    broker.group_coordinator.commit_offsets(body, reply)
    return None


async def _commit_to_zookeeper(
    broker: GroupServices, body: OffsetCommitRequest, refused: OffsetCommitResponse
) -> OffsetCommitResponse:
    limit: int = broker.config.offset_metadata_max_bytes
    errors = await broker.in_thread(write_offsets, broker.zk_client, body, limit)
    results = [_commit_results(topic, of_topic) for topic, of_topic in errors.items()]
    return OffsetCommitResponse(topics=_merged(refused.topics, results))


def _refusals(broker: GroupServices, request: Request, topic: str, partitions: list[int]) -> dict[int, Errors]:
    """The partitions whose offsets are not to be touched, and why."""
    if not broker.authorizer.authorize(request.context, "READ", "TOPIC", topic):
        return dict.fromkeys(partitions, Errors.TOPIC_AUTHORIZATION_FAILED)
    contains = broker.metadata_cache.contains
    return {index: Errors.UNKNOWN_TOPIC_OR_PARTITION for index in partitions if not contains(topic, index)}


def _commit_results(topic: str, errors: dict[int, Errors]) -> OffsetCommitResponse.OffsetCommitResponseTopic:
    return OffsetCommitResponse.OffsetCommitResponseTopic(
        name=topic,
        partitions=[
            OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=index, error_code=error.code)
            for index, error in errors.items()
        ],
    )


def _merged(first: list[T], second: list[T]) -> list[T]:
    """Results by topic, each topic once."""
    if not first:
        return second
    by_name = {topic.name: topic for topic in first}
    for topic in second:
        if topic.name in by_name:
            by_name[topic.name].partitions.extend(topic.partitions)
        else:
            first.append(topic)
    return first


def handle_offset_fetch(
    broker: GroupServices, request: Request
) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
    """The committed offsets of a group, from v8 on of several; v0 finds them in ZooKeeper."""
    body: OffsetFetchRequest = request.body
    version = request.api_version
    if version == 0:
        _require_group(broker, request, "DESCRIBE", body.group_id)
        return fetch_from_zookeeper(
            broker.zk_client, broker.metadata_cache, broker.authorizer, broker.in_thread, request
        )
    if version >= 8:
        groups = [_fetch_offsets(broker, request, group.group_id, group.topics) for group in body.groups]
        return OffsetFetchResponse(groups=groups)
    group = _fetch_offsets(broker, request, body.group_id, body.topics)
    error = Errors.for_code(group.error_code)
    if version < 2 and error is not Errors.NONE:
        raise KafkaError(error)  # told for each partition
    return OffsetFetchResponse(
        error_code=error.code,
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponse.OffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


def _fetch_offsets(
    broker: GroupServices,
    request: Request,
    group_id: str,
    topics: Sequence[OffsetFetchRequest.OffsetFetchRequestTopic | OffsetFetchRequest.OffsetFetchRequestTopics] | None,
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    """`topics` None: all that have offsets and that the sender may see."""
    authorizer, context = broker.authorizer, request.context
    fetch_offsets = broker.group_coordinator.fetch_offsets
    require_stable: bool = request.body.require_stable
    if not authorizer.authorize(context, "DESCRIBE", "GROUP", group_id):
        return OffsetFetchResponse.OffsetFetchResponseGroup(
            group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
        )
    if topics is None:
        response = fetch_offsets(group_id, None, require_stable)
        response.topics = [t for t in response.topics if authorizer.authorize(context, "DESCRIBE", "TOPIC", t.name)]
        return response
    allowed, denied = [], []
    for topic in topics:
        if authorizer.authorize(context, "DESCRIBE", "TOPIC", topic.name):
            allowed += [TopicPartition(topic.name, index) for index in topic.partition_indexes]
        else:
            denied.append(_unauthorized_offsets(topic.name, topic.partition_indexes))
    response = fetch_offsets(group_id, allowed, require_stable)
    if response.error_code == Errors.NONE.code:
        response.topics += denied
    return response


def _unauthorized_offsets(topic: str, indexes: list[int]) -> OffsetFetchResponse.OffsetFetchResponseTopics:
    return OffsetFetchResponse.OffsetFetchResponseTopics(
        name=topic,
        partitions=[
            OffsetFetchResponse.OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=_NO_OFFSET,
                error_code=Errors.TOPIC_AUTHORIZATION_FAILED.code,
            )
            for index in indexes
        ],
    )


def handle_offset_delete(broker: GroupServices, request: Request) -> OffsetDeleteResponse:
    body: OffsetDeleteRequest = request.body
    _require_group(broker, request, "DELETE", body.group_id)
    refused = OffsetDeleteResponse()
    accepted = []
    for topic in body.topics:
        errors = _refusals(broker, request, topic.name, [partition.partition_index for partition in topic.partitions])
        if errors:
            refused.topics.append(
                OffsetDeleteResponse.OffsetDeleteResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetDeleteResponse.OffsetDeleteResponsePartition(partition_index=index, error_code=error.code)
                        for index, error in errors.items()
                    ],
                )
            )
        good = [partition for partition in topic.partitions if partition.partition_index not in errors]
        if good:
            accepted.append(OffsetDeleteRequest.OffsetDeleteRequestTopic(name=topic.name, partitions=good))
    body.topics = accepted
    response = broker.group_coordinator.delete_offsets(body)
    if response.error_code == Errors.NONE.code:
        response.topics = _merged(refused.topics, response.topics)
    return response


# ---------------------------------------------------------------------------------------------------- administration


def handle_describe_groups(broker: GroupServices, request: Request) -> DescribeGroupsResponse:
    body: DescribeGroupsRequest = request.body
    response = DescribeGroupsResponse()
    described = []
    for group_id in body.groups:
        if not broker.authorizer.authorize(request.context, "DESCRIBE", "GROUP", group_id):
            response.groups.append(
                DescribeGroupsResponse.DescribedGroup(
                    group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
                )
            )
            continue
        group = broker.group_coordinator.describe_group(group_id)
        if body.include_authorized_operations and group.error_code == Errors.NONE.code:
            group.authorized_operations = _authorized_operations(broker, request, group_id)
        described.append(group)
    response.groups += described
    return response


def _authorized_operations(broker: GroupServices, request: Request, group_id: str) -> int:
    """What the sender may do with the group, as a bit field (KIP-430)."""
    return sum(
        1 << code
        for code, operation in ACL_OPERATIONS.items()
        if GROUP_OPERATIONS >> code & 1 and broker.authorizer.authorize(request.context, operation, "GROUP", group_id)
    )


def handle_list_groups(broker: GroupServices, request: Request) -> ListGroupsResponse:
    """All groups for those who may describe the cluster, else those that the sender may describe."""
    body: ListGroupsRequest = request.body
    response = broker.group_coordinator.list_groups(body)
    authorize = broker.authorizer.authorize
    if not authorize(request.context, "DESCRIBE", "CLUSTER", CLUSTER_NAME):
        response.groups = [g for g in response.groups if authorize(request.context, "DESCRIBE", "GROUP", g.group_id)]
    return response


def handle_delete_groups(broker: GroupServices, request: Request) -> DeleteGroupsResponse:
    body: DeleteGroupsRequest = request.body
    authorize = broker.authorizer.authorize
    names = list(dict.fromkeys(body.groups_names))
    denied = [name for name in names if not authorize(request.context, "DELETE", "GROUP", name)]
    results = broker.group_coordinator.delete_groups([name for name in names if name not in denied])
    results += [
        DeleteGroupsResponse.DeletableGroupResult(group_id=name, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code)
        for name in denied
    ]
    return DeleteGroupsResponse(results=results)


# ---------------------------------------------------------------------------------------------------- KIP-848


def handle_consumer_group_heartbeat(broker: GroupServices, request: Request) -> ConsumerGroupHeartbeatResponse:
    """Advertised, but only KRaft brokers have the new group protocol."""
    return ConsumerGroupHeartbeatResponse(error_code=Errors.UNSUPPORTED_VERSION.code)


def handle_consumer_group_describe(broker: GroupServices, request: Request) -> ConsumerGroupDescribeResponse:
    body: ConsumerGroupDescribeRequest = request.body
    return ConsumerGroupDescribeResponse(
        groups=[
            ConsumerGroupDescribeResponse.DescribedGroup(group_id=group_id, error_code=Errors.UNSUPPORTED_VERSION.code)
            for group_id in body.group_ids
        ]
    )
