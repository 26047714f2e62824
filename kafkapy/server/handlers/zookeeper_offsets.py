"""OffsetCommit v0 and OffsetFetch v0: consumers of Kafka 0.8 have their offsets in ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import TopicToCommit
from kafkapy.coordinator.group.group_events import PartitionErrors
from kafkapy.coordinator.group.responses import INVALID_OFFSET
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.zk.errors import ZooKeeperError
from kafkapy.zk.kafka_zk_client import KafkaZkClient


def write_offsets(
    zk_client: KafkaZkClient, group_id: str, topics: Iterable[TopicToCommit], max_metadata_size: int
) -> PartitionErrors:
    """Store all offsets, without their metadata. Blocks."""

    def write(name: TopicPartition, partition: OffsetCommitRequest.OffsetCommitRequestPartition) -> Errors:
        if len(partition.committed_metadata or "") > max_metadata_size:
            return Errors.OFFSET_METADATA_TOO_LARGE
        try:
            zk_client.set_or_create_consumer_offset(group_id, name, partition.committed_offset)
        except ZooKeeperError:
            return Errors.UNKNOWN_SERVER_ERROR
        return Errors.NONE

    named = ((TopicPartition(topic, p.partition_index), p) for topic, partitions in topics for p in partitions)
    return {name: write(name, partition) for name, partition in named}


def _read_offset(zk_client: KafkaZkClient, group_id: str, partition: TopicPartition) -> tuple[int, Errors]:
    try:
        offset = zk_client.get_consumer_offset(group_id, partition)
    except ZooKeeperError:
        return INVALID_OFFSET, Errors.UNKNOWN_SERVER_ERROR
    return (INVALID_OFFSET, Errors.UNKNOWN_TOPIC_OR_PARTITION) if offset is None else (offset, Errors.NONE)


async def fetch_from_zookeeper(
    zk_client: KafkaZkClient,
    cache: MetadataCache,
    authorizer: Authorizer,
    in_thread: InThread,
    clock: Clock,
    request: Request,
) -> OffsetFetchResponse:
    """Return the offsets of the requested partitions; UNKNOWN_TOPIC_OR_PARTITION if there is none."""
    body: OffsetFetchRequest = request.body
    response = OffsetFetchResponse()
    for topic in body.topics or ():
        authorized = authorizer.authorize(request.context, ACLOperation.DESCRIBE, ResourceType.TOPIC, topic.name)
        answer = OffsetFetchResponse.OffsetFetchResponseTopic(name=topic.name)
        for index in topic.partition_indexes:
            await clock.checkpoint()
            offset, error = INVALID_OFFSET, Errors.UNKNOWN_TOPIC_OR_PARTITION
            if not authorized:
                error = Errors.TOPIC_AUTHORIZATION_FAILED
            elif cache.contains(topic.name, index):
                partition = TopicPartition(topic.name, index)
                offset, error = await in_thread(_read_offset, zk_client, body.group_id, partition)
            answer.partitions.append(
                OffsetFetchResponse.OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=offset, metadata="", error_code=error.code
                )
            )
        response.topics.append(answer)
    return response
