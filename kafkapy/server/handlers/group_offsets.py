"""Handles offsets of consumer groups: authorizes, checks that partitions exist, and calls the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator, TopicToCommit
from kafkapy.coordinator.group.group_events import PartitionErrors
from kafkapy.coordinator.group.responses import INVALID_OFFSET
from kafkapy.network.request import Request, RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.handlers.groups import is_static_membership_unsupported, require_group
from kafkapy.server.handlers.zookeeper_offsets import fetch_from_zookeeper, write_offsets
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.zk.kafka_zk_client import KafkaZkClient

_TopicOfFetch: TypeAlias = OffsetFetchRequest.OffsetFetchRequestTopic | OffsetFetchRequest.OffsetFetchRequestTopics
W = TypeVar("W", OffsetCommitRequest.OffsetCommitRequestTopic, OffsetDeleteRequest.OffsetDeleteRequestTopic)


class _HasName(Protocol):
    name: str


class _TopicOfResponse(Protocol):
    partitions: list[Any]


N = TypeVar("N", bound=_HasName)
T = TypeVar("T", bound=_TopicOfResponse)

BATCH_IN_THREAD_BYTES = 1 << 14
"""Above this size, about a thousand partitions, the batch of an OffsetCommit is created in a thread."""


@dataclass(eq=False)
class GroupOffsetsHandler:
    """Authorizes requests and passes them to the group coordinator, or to ZooKeeper (version 0)."""

    _coordinator: GroupCoordinator
    _cache: MetadataCache
    _authorizer: Authorizer
    _config: KafkaConfig
    _zk_client: KafkaZkClient
    _in_thread: InThread
    _clock: Clock

    async def handle_offset_commit(self, request: Request) -> OffsetCommitResponse:
        """Respond when the offsets are committed to the log; v0 stores them in ZooKeeper."""
        body: OffsetCommitRequest = request.body
        require_group(self._authorizer, request, ACLOperation.READ, body.group_id)
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        results = _Results(
            OffsetCommitResponse.OffsetCommitResponseTopic, OffsetCommitResponse.OffsetCommitResponsePartition
        )
        accepted: list[TopicToCommit] = await self._sort_out(request, body.topics, results)
        if accepted:
            errors = await self._commit(request, body, accepted)
            request.keep(list(errors))
            await results.add_all(errors, self._clock)
        return OffsetCommitResponse(topics=results.topics)

    async def _commit(
        self, request: Request, body: OffsetCommitRequest, topics: list[TopicToCommit]
    ) -> PartitionErrors:
        if request.api_version == 0:
            limit: int = self._config.offset_metadata_max_bytes
            return await self._in_thread(write_offsets, self._zk_client, body.group_id, topics, limit)
        new_commit = self._coordinator.new_commit
        if request.size > BATCH_IN_THREAD_BYTES:
            commit = await self._in_thread(new_commit, body, topics)
        else:
            commit = new_commit(body, topics)
        request.keep(list(commit.offsets.values()))
        return await self._coordinator.commit_offsets(body.group_id, commit)

    async def handle_offset_fetch(self, request: Request) -> OffsetFetchResponse:
        """Return the committed offsets of a group, or of several (from v8 on); v0 reads them from ZooKeeper."""
        body: OffsetFetchRequest = request.body
        version = request.api_version
        if version == 0:
            require_group(self._authorizer, request, ACLOperation.DESCRIBE, body.group_id)
            return await fetch_from_zookeeper(
                self._zk_client, self._cache, self._authorizer, self._in_thread, self._clock, request
            )
        if version >= 8:
            response = OffsetFetchResponse()
            for wanted in body.groups:
                await self._clock.checkpoint()
                response.groups.append(await self._fetch_offsets(request, wanted.group_id, wanted.topics))
            return response
        group = await self._fetch_offsets(request, body.group_id, body.topics)
        error = Errors.for_code(group.error_code)
        if version < 2 and error is Errors.GROUP_AUTHORIZATION_FAILED:
            return OffsetFetchResponse()  # this version has no error of the group, and Kafka returns no partitions
        if version < 2 and error is not Errors.NONE:
            raise KafkaError(error)  # returned for each partition
        # The structs of v8 have the fields of those before it.
        topics = cast("list[OffsetFetchResponse.OffsetFetchResponseTopic]", group.topics)
        return OffsetFetchResponse(error_code=error.code, topics=topics)

    async def _fetch_offsets(
        self, request: Request, group_id: str, topics: Sequence[_TopicOfFetch] | None
    ) -> OffsetFetchResponse.OffsetFetchResponseGroup:
        """`topics` None: all with offsets that the sender may describe."""
        context = request.context
        fetch_offsets = self._coordinator.fetch_offsets
        require_stable: bool = request.body.require_stable
        if not self._authorizer.authorize(context, ACLOperation.DESCRIBE, ResourceType.GROUP, group_id):
            return OffsetFetchResponse.OffsetFetchResponseGroup(
                group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
            )
        if topics is None:
            response = await fetch_offsets(group_id, None, require_stable)
            request.keep(response.topics)
            response.topics, _ = await self._visible(context, response.topics)
            return response
        allowed, denied = await self._visible(context, topics)
        partitions = (TopicPartition(topic.name, index) for topic in allowed for index in topic.partition_indexes)
        response = await fetch_offsets(group_id, partitions, require_stable)
        if response.error_code == Errors.NONE.code:
            for topic in denied:
                refused = OffsetFetchResponse.OffsetFetchResponseTopics(name=topic.name)
                response.topics.append(refused)
                for chunk in chunks(topic.partition_indexes):
                    await self._clock.checkpoint()
                    refused.partitions += [_unauthorized_offset(index) for index in chunk]
        return response

    async def _visible(self, context: RequestContext, topics: Sequence[N]) -> tuple[list[N], list[N]]:
        """Return the topics that the sender may describe, and the others."""
        allowed: list[N] = []
        denied: list[N] = []
        for topic in topics:
            may_see = self._authorizer.authorize(context, ACLOperation.DESCRIBE, ResourceType.TOPIC, topic.name)
            (allowed if may_see else denied).append(topic)
            await self._clock.checkpoint()
        return allowed, denied

    async def handle_offset_delete(self, request: Request) -> OffsetDeleteResponse:
        body: OffsetDeleteRequest = request.body
        require_group(self._authorizer, request, ACLOperation.DELETE, body.group_id)
        results = _Results(
            OffsetDeleteResponse.OffsetDeleteResponseTopic, OffsetDeleteResponse.OffsetDeleteResponsePartition
        )
        accepted = await self._sort_out(request, body.topics, results)
        named = (TopicPartition(topic, p.partition_index) for topic, partitions in accepted for p in partitions)
        errors = await self._coordinator.delete_offsets(body.group_id, named)
        request.keep(list(errors))
        await results.add_all(errors, self._clock)
        return OffsetDeleteResponse(topics=results.topics)

    async def _sort_out(
        self, request: Request, topics: Sequence[W], refused: _Results[T]
    ) -> list[tuple[str, Sequence[Any]]]:
        """Return the partitions whose offsets may be changed, by topic; add the errors of the others to `refused`."""
        accepted: list[tuple[str, Sequence[Any]]] = []
        request.keep(accepted)
        contains = self._cache.contains
        named = ((topic.name, chunk) for topic in topics for chunk in chunks(topic.partitions))
        for number, (name, chunk) in enumerate(named):
            if number:
                await self._clock.checkpoint()
            may_read = self._authorizer.authorize(request.context, ACLOperation.READ, ResourceType.TOPIC, name)
            error = Errors.UNKNOWN_TOPIC_OR_PARTITION if may_read else Errors.TOPIC_AUTHORIZATION_FAILED
            good = []
            for partition in chunk:
                if may_read and contains(name, partition.partition_index):
                    good.append(partition)
                else:
                    refused.add(name, partition.partition_index, error)
            if good:
                accepted.append((name, good))
        return accepted


class _Results(Generic[T]):
    """Collects a response's topics, each once, with the errors of their partitions."""

    def __init__(self, new_topic: Callable[..., T], new_partition: Callable[..., Any]) -> None:
        self._new_topic = new_topic
        self._new_partition = new_partition
        self._topics: dict[str, T] = {}

    @property
    def topics(self) -> list[T]:
        return list(self._topics.values())

    def add(self, name: str, index: int, error: Errors) -> None:
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = self._new_topic(name=name)
        topic.partitions.append(self._new_partition(partition_index=index, error_code=error.code))

    async def add_all(self, errors: PartitionErrors, clock: Clock) -> None:
        for number, chunk in enumerate(chunks(errors.items())):
            if number:
                await clock.checkpoint()
            for (name, index), error in chunk:
                self.add(name, index, error)


def _unauthorized_offset(index: int) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    return OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=INVALID_OFFSET,
        error_code=Errors.TOPIC_AUTHORIZATION_FAILED.code,
    )
