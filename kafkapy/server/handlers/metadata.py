"""Metadata and DescribeCluster: leaders of partitions, and addresses of brokers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.topic_names import INTERNAL_TOPICS, reason_invalid
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafkapy.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.metadata.metadata_cache import MetadataCache, PartitionState

_CREATE: Final = ACLOperation.CREATE
_DESCRIBE: Final = ACLOperation.DESCRIBE
_CLUSTER: Final = ResourceType.CLUSTER
_TOPIC: Final = ResourceType.TOPIC

TopicMetadata = MetadataResponse.MetadataResponseTopic
PartitionMetadata = MetadataResponse.MetadataResponsePartition

CreateTopics = Callable[[list[str], Request], Awaitable[dict[str, Errors]]]
"""Creates missing topics on behalf of the request's sender; returns the errors for the response."""

_BROKERS, _CONTROLLERS = 1, 2
_FIRST_WITH_LISTENER_NOT_FOUND = 6


@dataclass(eq=False)
class MetadataHandler:
    """Responds from the metadata cache, with what the client is authorized to describe."""

    _metadata_cache: MetadataCache
    _cluster_id: str
    _authorizer: Authorizer
    _config: KafkaConfig
    create_topics: CreateTopics
    _clock: Clock

    async def handle_metadata(self, request: Request) -> MetadataResponse:
        """Return topics by name, by id, or all; missing ones are created if the request and the broker allow it."""
        body: MetadataRequest = request.body
        version = request.api_version
        cache = self._metadata_cache
        refused, topics, missing = await self._look_up(request, body)
        if missing:
            topics += await self._missing_topics(request, missing, refused)
        if version >= 8 and body.include_topic_authorized_operations:
            topics = await self._with_operations(request, topics)
        response = MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in cache.alive_nodes(request.context.listener_name)
            ],
            cluster_id=self._cluster_id,
            controller_id=-1 if cache.controller_id is None else cache.controller_id,
            topics=refused + topics,
        )
        if 8 <= version <= 10 and body.include_cluster_authorized_operations:
            response.cluster_authorized_operations = self._cluster_operations(request)
        return response

    async def _look_up(
        self, request: Request, body: MetadataRequest
    ) -> tuple[list[TopicMetadata], list[TopicMetadata], list[str]]:
        """Return the responses for refused topics or unknown ids, those for existing topics, and the names of missing
        ones."""
        cache = self._metadata_cache
        everything = body.topics is None or (request.api_version == 0 and not body.topics)
        refused: list[TopicMetadata] = []
        topics: list[TopicMetadata] = []
        missing: list[str] = []
        if everything:
            names = dict.fromkeys(sorted(cache.all_topics()), ZERO_UUID)
        else:
            names = await self._names(body, request.api_version, refused)
        for chunk in chunks(names):
            await self._clock.checkpoint()
            allowed = self._authorized(request, chunk, names, None if everything else refused)
            view = _View.of(cache, request)
            for name in view.unknown(allowed):
                view.topic(name)
                await self._clock.checkpoint()
            topics += [view.topic(name) for name in allowed if cache.contains_topic(name)]
            missing += [name for name in allowed if not cache.contains_topic(name)]
        return refused, topics, missing

    async def _names(self, body: MetadataRequest, version: int, refused: list[TopicMetadata]) -> dict[str, bytes]:
        """Return the requested topics with the ids by which they are requested, ZERO_UUID for a name.

        If a request has ids, its names are ignored; responses for unknown ids are added to `refused`.
        """
        ids: dict[bytes, None] = {}
        named: dict[str, None] = {}
        for chunk in chunks(body.topics or []):
            await self._clock.checkpoint()
            _validate(chunk, version)
            ids.update((topic.topic_id, None) for topic in chunk if topic.topic_id != ZERO_UUID)
            named.update((topic.name or "", None) for topic in chunk)
        if not ids:
            return dict.fromkeys(named, ZERO_UUID)
        names: dict[str, bytes] = {}
        for some_ids in chunks(ids):
            await self._clock.checkpoint()
            for topic_id in some_ids:
                name = self._metadata_cache.topic_name(topic_id)
                if name is None:
                    refused.append(TopicMetadata(error_code=Errors.UNKNOWN_TOPIC_ID.code, name=None, topic_id=topic_id))
                else:
                    names[name] = topic_id
        return names

    def _authorized(
        self,
        request: Request,
        names: Sequence[str],
        ids: Mapping[str, bytes],
        refused: list[TopicMetadata] | None,
    ) -> Sequence[str]:
        """Return the topics that may be described; add others to `refused`, existing or not, unless all are
        requested."""
        if not self._authorizer.enabled:
            return names
        allowed: list[str] = []
        for name in names:
            asked_for = refused is not None
            if self._authorizer.authorize(request.context, _DESCRIBE, _TOPIC, name, log_if_denied=asked_for):
                allowed.append(name)
            elif refused is not None:
                # A topic requested by id has no name in the response; one requested by name has no id.
                topic_id = ids[name]
                code = Errors.TOPIC_AUTHORIZATION_FAILED.code
                shown = name if topic_id == ZERO_UUID else None
                refused.append(TopicMetadata(error_code=code, name=shown, topic_id=topic_id))
        return allowed

    async def _missing_topics(
        self, request: Request, missing: list[str], refused: list[TopicMetadata]
    ) -> list[TopicMetadata]:
        """Return the responses for missing topics, which are created if the request and the broker allow it.

        Topics that the sender may not create are added to `refused`.
        """
        if request.body.allow_auto_topic_creation and self._config.auto_create_topics_enable:
            errors = await self.create_topics(await self._creatable(request, missing, refused), request)
        else:
            errors = await self._unknown(missing)
        topics: list[TopicMetadata] = []
        for chunk in chunks(errors):
            await self._clock.checkpoint()
            topics += [
                TopicMetadata(error_code=errors[name].code, name=name, is_internal=name in INTERNAL_TOPICS)
                for name in chunk
            ]
        return topics

    async def _creatable(self, request: Request, names: list[str], refused: list[TopicMetadata]) -> list[str]:
        """Return the topics that the sender may create; add errors for the others to `refused`."""
        authorizer, context = self._authorizer, request.context
        if not authorizer.enabled or authorizer.authorize(
            context, _CREATE, _CLUSTER, CLUSTER_NAME, log_if_denied=False
        ):
            return names
        allowed = []
        for chunk in chunks(names):
            await self._clock.checkpoint()
            for name in chunk:
                if authorizer.authorize(context, _CREATE, _TOPIC, name):
                    allowed.append(name)
                else:
                    code = Errors.TOPIC_AUTHORIZATION_FAILED.code
                    refused.append(TopicMetadata(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS))
        return allowed

    async def _unknown(self, names: list[str]) -> dict[str, Errors]:
        errors = {}
        for chunk in chunks(names):
            await self._clock.checkpoint()
            for name in chunk:
                valid = reason_invalid(name) is None
                errors[name] = Errors.UNKNOWN_TOPIC_OR_PARTITION if valid else Errors.INVALID_TOPIC_EXCEPTION
        return errors

    async def _with_operations(self, request: Request, topics: list[TopicMetadata]) -> list[TopicMetadata]:
        """Return copies with the operations that the client may do on the topics."""
        copies: list[TopicMetadata] = []
        for chunk in chunks(topics):
            await self._clock.checkpoint()
            copies += [
                TopicMetadata(
                    error_code=topic.error_code,
                    name=topic.name,
                    topic_id=topic.topic_id,
                    is_internal=topic.is_internal,
                    partitions=topic.partitions,
                    topic_authorized_operations=self._authorizer.authorized_operations(
                        request.context, _TOPIC, topic.name or ""
                    ),
                )
                for topic in chunk
            ]
        return copies

    def _cluster_operations(self, request: Request) -> int:
        """Return the permitted operations; none if the sender may not describe the cluster."""
        if not self._authorizer.authorize(request.context, _DESCRIBE, _CLUSTER, CLUSTER_NAME):
            return 0
        return self._authorizer.authorized_operations(request.context, _CLUSTER, CLUSTER_NAME)

    async def handle_describe_cluster(self, request: Request) -> DescribeClusterResponse:
        """Return the brokers and the controller (KIP-700). v1 may request controllers, which a ZooKeeper-mode broker
        refuses."""
        body: DescribeClusterRequest = request.body
        if body.endpoint_type != _BROKERS:
            known = body.endpoint_type == _CONTROLLERS
            return DescribeClusterResponse(
                error_code=(Errors.MISMATCHED_ENDPOINT_TYPE if known else Errors.UNSUPPORTED_ENDPOINT_TYPE).code,
                error_message="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
                if known
                else f"Unsupported endpoint type {body.endpoint_type}",
            )
        cache = self._metadata_cache
        response = DescribeClusterResponse(
            cluster_id=self._cluster_id,
            controller_id=-1 if cache.controller_id is None else cache.controller_id,
            brokers=[
                DescribeClusterResponse.DescribeClusterBroker(
                    broker_id=node.id, host=node.host, port=node.port, rack=node.rack
                )
                for node in cache.alive_nodes(request.context.listener_name)
            ],
        )
        if body.include_cluster_authorized_operations:
            response.cluster_authorized_operations = self._cluster_operations(request)
        return response


def _validate(topics: Sequence[MetadataRequest.MetadataRequestTopic], version: int) -> None:
    if version >= 12:
        return
    for topic in topics:
        if topic.name is None:
            raise KafkaError(Errors.INVALID_REQUEST, f"Topic name can not be null for version {version}")
        if topic.topic_id != ZERO_UUID:
            raise KafkaError(Errors.INVALID_REQUEST, f"Topic IDs are not supported in requests for version {version}")


class _View:
    """Responses for topics on one listener, for clients of a version range that know the same errors.

    They are cached, because clients request the same topics repeatedly, and some clients request all. Invariant: a
    view is discarded at the next update of the metadata cache.
    """

    def __init__(self, cache: MetadataCache, listener: str, version: int) -> None:
        self._cache = cache
        self._version = version
        self._reachable = {node.id for node in cache.alive_nodes(listener)}
        self._topics: dict[str, MetadataResponse.MetadataResponseTopic] = {}

    @staticmethod
    def of(cache: MetadataCache, request: Request) -> _View:
        listener = request.context.listener_name
        version = min(request.api_version, _FIRST_WITH_LISTENER_NOT_FOUND)
        key = ("Metadata", listener, version)
        view: _View | None = cache.answers.get(key)
        if view is None:
            view = cache.answers[key] = _View(cache, listener, version)
        return view

    def unknown(self, names: Sequence[str]) -> list[str]:
        """Return the names whose response is not cached."""
        return [name for name in names if name not in self._topics and self._cache.contains_topic(name)]

    def topic(self, name: str) -> MetadataResponse.MetadataResponseTopic:
        """Return the topic's response; it is shared by responses, so it must not be changed."""
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = TopicMetadata(
                name=name,
                topic_id=self._cache.topic_id(name),
                is_internal=name in INTERNAL_TOPICS,
                partitions=[self._partition(state) for state in self._cache.partitions(name)],
            )
        return topic

    def _partition(self, state: PartitionState) -> MetadataResponse.MetadataResponsePartition:
        replicas = state.replicas
        isr = state.isr
        if self._version == 0:
            replicas = [r for r in replicas if r in self._reachable]
            isr = [r for r in isr if r in self._reachable]
        error = Errors.NONE
        leader = state.leader
        if leader not in self._reachable:
            alive = self._cache.has_alive_broker(leader)
            known = self._version >= _FIRST_WITH_LISTENER_NOT_FOUND
            error = Errors.LISTENER_NOT_FOUND if alive and known else Errors.LEADER_NOT_AVAILABLE
            leader = -1
        elif len(replicas) < len(state.replicas) or len(isr) < len(state.isr):
            error = Errors.REPLICA_NOT_AVAILABLE
        return PartitionMetadata(
            error_code=error.code,
            partition_index=state.partition_index,
            leader_id=leader,
            leader_epoch=state.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=state.offline_replicas,
        )
