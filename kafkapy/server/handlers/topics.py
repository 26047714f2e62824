"""CreateTopics, DeleteTopics, CreatePartitions: the controller's broker writes to ZooKeeper and waits for metadata
updates."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.leader_and_isr import NO_LEADER
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread, R
from kafkapy.server.admin.controller import Controller
from kafkapy.server.admin.zk_admin_manager import CreatableTopic, CreatePartitionsTopic, TopicChange, ZkAdminManager
from kafkapy.server.api_error import ApiError
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.describe_configs import ConfigHelper
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.in_time import MIN_TIME_LIMIT_MS, in_time
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.quotas.controller_mutation_quota_manager import ControllerMutationQuota
from kafkapy.server.quotas.quota_managers import QuotaManagers

log = logging.getLogger("kafkapy.server.KafkaApis")

CreatableTopicResult = CreateTopicsResponse.CreatableTopicResult
CreatableTopicConfigs = CreateTopicsResponse.CreatableTopicConfigs
DeletableTopicResult = DeleteTopicsResponse.DeletableTopicResult
CreatePartitionsTopicResult = CreatePartitionsResponse.CreatePartitionsTopicResult

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
"""KRaft's own; a topic of that name cannot be created."""

_TIMED_OUT = ApiError(Errors.REQUEST_TIMED_OUT)
_NOT_CONTROLLER = ApiError(Errors.NOT_CONTROLLER)


# ---------------------------------------------------------------------------------------------------- CreateTopics


@dataclass(eq=False)
class TopicsHandler:
    """Creates, deletes and extends topics, on the controller's broker."""

    _controller: Controller
    _metadata_cache: MetadataCache
    _in_thread: InThread
    _admin_manager: ZkAdminManager
    _authorizer: Authorizer
    _dynamic_config: DynamicBrokerConfig
    _config: KafkaConfig
    _clock: Clock
    _quotas: QuotaManagers

    async def _in_time(self, request: Request, timeout_ms: int, work: Callable[[], R]) -> tuple[R | None, int]:
        """Run work that waits for ZooKeeper; return its result and the remaining time. The result is None after the
        time-out."""
        time_limit_ms = max(timeout_ms, MIN_TIME_LIMIT_MS)
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        pending = self._in_thread(self._admin_manager.with_time_limit, time_limit_ms, work)
        result = await in_time(self._clock, time_limit_ms, pending, request)
        left_ms = max(1, deadline_ms - self._clock.monotonic_ms())
        return result, left_ms if timeout_ms > 0 else timeout_ms

    async def handle_create_topics(self, request: Request) -> CreateTopicsResponse:
        """Respond when this broker knows a leader of every new partition, or after the time-out."""
        body: CreateTopicsRequest = request.body
        response = CreateTopicsResponse()
        if not self._controller.is_active:
            for chunk in chunks(body.topics):
                await self._clock.checkpoint()
                response.topics += [_create_error(topic.name, Errors.NOT_CONTROLLER) for topic in chunk]
            return response
        results, wanted = await self._sort_out_topics(request, body)
        quota = self._quotas.mutations_for(request)
        brokers = {live.id: live.rack for live in self._metadata_cache.alive_brokers()}
        changes, left_ms = await self._in_time(
            request,
            body.timeout_ms,
            lambda: self._admin_manager.create_topics(wanted, brokers, body.validate_only, quota.record),
        )
        if changes is None:
            changes = await self._timed_out(wanted)
        elif not body.validate_only:
            changes = await self._wait_for_leaders(changes, left_ms)
        shown = _ShownConfigs(self._dynamic_config)
        for change in changes:
            await self._clock.checkpoint()
            results[change.topic] = self._create_result(request, change, shown)
        for chunk in chunks(body.topics):
            await self._clock.checkpoint()
            response.topics += [results[topic.name] for topic in chunk]
        response.throttle_time_ms = quota.throttle_ms()
        return response

    async def _sort_out_topics(
        self, request: Request, body: CreateTopicsRequest
    ) -> tuple[dict[str, CreateTopicsResponse.CreatableTopicResult], list[CreatableTopic]]:
        """Return the results of topics that are refused without access to ZooKeeper, and the other topics."""
        may_create_all = self._authorizer.authorize(
            request.context, ACLOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME, log_if_denied=False
        )
        counts: Counter[str] = Counter()
        for chunk in chunks(body.topics):
            await self._clock.checkpoint()
            counts.update(topic.name for topic in chunk)
        refused: dict[str, CreateTopicsResponse.CreatableTopicResult] = {}
        wanted: list[CreatableTopic] = []
        for topic in body.topics:
            await self._clock.checkpoint()
            if topic.name in refused:
                continue
            refusal = self._refusal(request, topic.name, counts[topic.name] > 1, may_create_all)
            if refusal is None:
                wanted.append(topic)
            else:
                refused[topic.name] = refusal
        return refused, wanted

    def _refusal(
        self, request: Request, name: str, is_named_twice: bool, may_create_all: bool
    ) -> CreateTopicsResponse.CreatableTopicResult | None:
        """Return the error if the topic must not be created, else None."""
        authorize = self._authorizer.authorize
        if name == CLUSTER_METADATA_TOPIC:
            return _create_error(name, Errors.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
        if is_named_twice:
            refusal = _create_error(name, Errors.INVALID_REQUEST, "Found multiple entries for this topic.")
        elif not (may_create_all or authorize(request.context, ACLOperation.CREATE, ResourceType.TOPIC, name)):
            refusal = _create_error(name, Errors.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        elif self._metadata_cache.contains_topic(name):
            return _create_error(name, Errors.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        else:
            return None
        if not self._may_describe_configs(request, name):
            refusal.topic_config_error_code = Errors.TOPIC_AUTHORIZATION_FAILED.code
        return refusal

    async def _timed_out(self, topics: Iterable[CreatableTopic | CreatePartitionsTopic]) -> list[TopicChange]:
        """Return a time-out for each topic: ZooKeeper was disconnected for longer than the client waits."""
        changes: list[TopicChange] = []
        for chunk in chunks(topics):
            await self._clock.checkpoint()
            changes += [TopicChange(topic.name, _TIMED_OUT) for topic in chunk]
        return changes

    def _may_describe_configs(self, request: Request, topic: str) -> bool:
        return self._authorizer.authorize(
            request.context, ACLOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic, log_if_denied=False
        )

    def _create_result(
        self, request: Request, change: TopicChange, shown: _ShownConfigs
    ) -> CreateTopicsResponse.CreatableTopicResult:
        """Return the topic's result, with its configs and numbers (KIP-525) if the client may describe them."""
        may_describe = self._may_describe_configs(request, change.topic)
        result = _create_error(change.topic, change.error.error, change.error.message)
        result.topic_id = change.topic_id if may_describe else ZERO_UUID
        if not change.succeeded:
            return result
        if not may_describe:
            result.topic_config_error_code = Errors.TOPIC_AUTHORIZATION_FAILED.code
            return result
        result.num_partitions = len(change.assignment)
        result.replication_factor = len(change.assignment[0])
        result.configs = shown.of(change)
        return result

    async def _wait_for_leaders(self, changes: list[TopicChange], timeout_ms: int) -> list[TopicChange]:
        """Turn changes whose leaders are not known in time into REQUEST_TIMED_OUT (Kafka's `DelayedCreatePartitions`)."""
        cache = self._metadata_cache
        waiting: list[TopicChange] = []
        for chunk in chunks(changes):
            await self._clock.checkpoint()
            waiting += [change for change in chunk if change.succeeded]

        def all_have_leaders() -> bool:
            while waiting and _has_leaders(cache, waiting[-1]):
                waiting.pop()  # partitions with leaders are not checked again
            return not waiting

        if timeout_ms > 0:
            await cache.wait_for(all_have_leaders, timeout_ms)
        outcomes: list[TopicChange] = []
        for change in changes:
            await self._clock.checkpoint()
            if change.succeeded and (timeout_ms <= 0 or not _has_leaders(cache, change)):
                change = TopicChange(change.topic, _TIMED_OUT, topic_id=change.topic_id)
            outcomes.append(change)
        return outcomes

    async def handle_delete_topics(self, request: Request) -> DeleteTopicsResponse:
        """Delete topics by name or (v6) by id; respond when they are no longer in this broker's metadata, or after the
        time-out."""
        body: DeleteTopicsRequest = request.body
        topics: Iterable[tuple[str | None, bytes]] = (
            ((topic.name, topic.topic_id) for topic in body.topics)
            if body.topics
            else ((name, ZERO_UUID) for name in body.topic_names)
        )
        error = None
        if not self._controller.is_active:
            error = Errors.NOT_CONTROLLER
        elif not self._config.delete_topic_enable:
            error = Errors.INVALID_REQUEST if request.api_version < 3 else Errors.TOPIC_DELETION_DISABLED
        results: list[DeleteTopicsResponse.DeletableTopicResult] = []
        names: dict[str, None] = {}
        for name, topic_id in topics:
            await self._clock.checkpoint()
            if error is not None:
                results.append(DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code))
                continue
            result = self._resolve(request, name, topic_id)
            results.append(result)
            if result.name is not None and result.error_code == 0:
                names[result.name] = None
        quota = self._quotas.mutations_for(request)
        refused = self._not_now(quota, names)
        errors = await self._delete(request, [name for name in names if name not in refused], body.timeout_ms)
        errors |= refused
        for chunk in chunks(results):
            await self._clock.checkpoint()
            for result in chunk:
                if result.name is not None and result.error_code == 0:
                    # As in Kafka, only the first of duplicate names gets the result.
                    result.error_code = errors.pop(result.name, Errors.NONE).code
        return DeleteTopicsResponse(throttle_time_ms=quota.throttle_ms(), responses=results)

    def _not_now(self, quota: ControllerMutationQuota, names: Iterable[str]) -> dict[str, Errors]:
        """Return the topics that must not be deleted now, because the client's quota of controller mutations is
        exhausted."""
        refused: dict[str, Errors] = {}
        for name in names:
            try:
                quota.record(self._metadata_cache.num_partitions(name) or 0)
            except KafkaError as problem:
                refused[name] = problem.error
        return refused

    def _resolve(
        self, request: Request, name: str | None, topic_id: bytes
    ) -> DeleteTopicsResponse.DeletableTopicResult:
        """Return the result for one topic before any deletion; error 0: the topic will be deleted."""
        by_id = topic_id != ZERO_UUID
        if by_id and name is not None:
            raise KafkaError(Errors.INVALID_REQUEST, "Topic name and topic ID can not both be specified.")
        if by_id:
            name = self._metadata_cache.topic_name(topic_id)
        result = DeletableTopicResult(name=name, topic_id=topic_id)
        authorize = self._authorizer.authorize
        if name is None:
            result.error_code = (Errors.UNKNOWN_TOPIC_ID if by_id else Errors.TOPIC_AUTHORIZATION_FAILED).code
        elif by_id and not authorize(request.context, ACLOperation.DESCRIBE, ResourceType.TOPIC, name):
            result.name = None  # without DESCRIBE a client must not find out a topic's name by its id
            result.error_code = Errors.TOPIC_AUTHORIZATION_FAILED.code
        elif not authorize(request.context, ACLOperation.DELETE, ResourceType.TOPIC, name):
            result.error_code = Errors.TOPIC_AUTHORIZATION_FAILED.code
        elif not self._metadata_cache.contains_topic(name):
            result.error_code = Errors.UNKNOWN_TOPIC_OR_PARTITION.code
        return result

    async def _delete(self, request: Request, names: list[str], timeout_ms: int) -> dict[str, Errors]:
        if not names:
            return {}
        cache = self._metadata_cache
        errors, left_ms = await self._in_time(request, timeout_ms, lambda: self._admin_manager.delete_topics(names))
        if errors is None:
            return dict.fromkeys(names, Errors.REQUEST_TIMED_OUT)
        marked: list[str] = []
        for chunk in chunks(errors.items()):
            await self._clock.checkpoint()
            marked += [name for name, error in chunk if error is Errors.NONE]
        if timeout_ms > 0:
            await cache.wait_for(lambda: not any(map(cache.contains_topic, marked)), left_ms)
        for name in marked:
            await self._clock.checkpoint()
            if timeout_ms <= 0 or cache.contains_topic(name):
                errors[name] = Errors.REQUEST_TIMED_OUT
        return errors

    async def handle_create_partitions(self, request: Request) -> CreatePartitionsResponse:
        """Respond when this broker knows a leader of every partition, or after the time-out."""
        body: CreatePartitionsRequest = request.body
        answered: dict[str, CreatePartitionsResponse.CreatePartitionsTopicResult] = {}
        if not self._controller.is_active:
            for chunk in chunks(body.topics):
                await self._clock.checkpoint()
                answered.update((topic.name, _grown(topic.name, _NOT_CONTROLLER)) for topic in chunk)
            return CreatePartitionsResponse(results=list(answered.values()))
        errors, valid = await self._sort_out_partitions(request, body)
        quota = self._quotas.mutations_for(request)
        changes, left_ms = await self._in_time(
            request,
            body.timeout_ms,
            lambda: self._admin_manager.create_partitions(valid, body.validate_only, quota.record),
        )
        if changes is None:
            changes = await self._timed_out(valid)
        elif not body.validate_only:
            changes = await self._wait_for_leaders(changes, left_ms)
        for changed in chunks(changes):
            await self._clock.checkpoint()
            errors.update((change.topic, change.error) for change in changed)
        for chunk in chunks(body.topics):  # duplicate topics get one result
            await self._clock.checkpoint()
            answered.update((topic.name, _grown(topic.name, errors[topic.name])) for topic in chunk)
        return CreatePartitionsResponse(throttle_time_ms=quota.throttle_ms(), results=list(answered.values()))

    async def _sort_out_partitions(
        self, request: Request, body: CreatePartitionsRequest
    ) -> tuple[dict[str, ApiError], list[CreatePartitionsTopic]]:
        """Return the errors of topics that can't be extended, and the other topics."""
        counts: Counter[str] = Counter()
        for chunk in chunks(body.topics):
            await self._clock.checkpoint()
            counts.update(topic.name for topic in chunk)
        errors: dict[str, ApiError] = {}
        valid: list[CreatePartitionsTopic] = []
        for topic in body.topics:
            await self._clock.checkpoint()
            if counts[topic.name] > 1:
                errors[topic.name] = ApiError(Errors.INVALID_REQUEST, "Duplicate topic in request.")
            elif not self._authorizer.authorize(request.context, ACLOperation.ALTER, ResourceType.TOPIC, topic.name):
                errors[topic.name] = ApiError(Errors.TOPIC_AUTHORIZATION_FAILED, "The topic authorization is failed.")
            elif self._controller.is_topic_queued_for_deletion(topic.name):
                errors[topic.name] = ApiError(Errors.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
            else:
                valid.append(topic)
        return errors, valid


class _ShownConfigs:
    """Converts the configs of new topics for the response, and caches them, because most topics of a request have the
    same."""

    def __init__(self, dynamic_config: DynamicBrokerConfig) -> None:
        self._helper = ConfigHelper(dynamic_config)
        self._known: dict[frozenset[tuple[str, str]], list[CreateTopicsResponse.CreatableTopicConfigs]] = {}

    def of(self, change: TopicChange) -> list[CreateTopicsResponse.CreatableTopicConfigs]:
        """Return the configs; topics share the list, so it must not be changed."""
        key = frozenset(change.configs.items())
        found = self._known.get(key)
        if found is None:
            resource = DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=ConfigResourceType.TOPIC, resource_name=change.topic, configuration_keys=None
            )
            found = self._known[key] = [
                CreatableTopicConfigs(
                    name=entry.name,
                    value=entry.value,
                    read_only=entry.read_only,
                    config_source=entry.config_source,
                    is_sensitive=entry.is_sensitive,
                )
                for entry in self._helper.describe(resource, change.configs).configs
            ]
        return found


def _create_error(name: str, error: Errors, message: str | None = None) -> CreateTopicsResponse.CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=message, configs=[])


def _has_leaders(cache: MetadataCache, change: TopicChange) -> bool:
    states = (cache.partition_state(change.topic, partition) for partition in change.assignment)
    return all(state is not None and state.leader != NO_LEADER for state in states)


# ---------------------------------------------------------------------------------------------------- DeleteTopics


# ---------------------------------------------------------------------------------------------------- CreatePartitions


def _grown(name: str, error: ApiError) -> CreatePartitionsResponse.CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)
