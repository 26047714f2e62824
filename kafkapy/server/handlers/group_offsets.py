"""The offsets of consumer groups: who is allowed to ask, whether the partitions exist, and then the coordinator's answer."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.coordinator.group.group_events import CommitOutcome
from kafkapy.coordinator.group.responses import INVALID_OFFSET, CommitResults
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkapy.runtime.clock import Clock, InThread, Steps, in_steps, portions, some_of, work_off
from kafkapy.runtime.completion import Completion
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.handlers.groups import is_static_membership_unsupported, require_group
from kafkapy.server.handlers.zookeeper_offsets import fetch_from_zookeeper, write_offsets
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.zk.kafka_zk_client import KafkaZkClient

T = TypeVar("T", OffsetCommitResponse.OffsetCommitResponseTopic, OffsetDeleteResponse.OffsetDeleteResponseTopic)
W = TypeVar("W", OffsetCommitRequest.OffsetCommitRequestTopic, OffsetDeleteRequest.OffsetDeleteRequestTopic)

_TopicOfFetch: TypeAlias = OffsetFetchRequest.OffsetFetchRequestTopic | OffsetFetchRequest.OffsetFetchRequestTopics

AT_ONCE = 1 << 14
"""Bytes of an OffsetCommit that is handled in one turn: some thousand partitions."""


@dataclass(eq=False)
class GroupOffsetsHandler:
    """Checks what is asked for, and passes requests on to the group coordinator, or to ZooKeeper (version 0)."""

    _coordinator: GroupCoordinator
    _cache: MetadataCache
    _authorizer: Authorizer
    _config: KafkaConfig
    _zk_client: KafkaZkClient
    _in_thread: InThread
    _clock: Clock

    def handle_offset_commit(self, request: Request) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse] | None:
        """Answered when the offsets are committed to the log; v0 keeps them in ZooKeeper."""
        body: OffsetCommitRequest = request.body
        require_group(self._authorizer, request, "READ", body.group_id)
        if is_static_membership_unsupported(self._config, body.group_instance_id):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        if request.size > AT_ONCE:
            return self._commit_large(request, body)
        refused = OffsetCommitResponse()
        accepted = []
        for topic in body.topics:
            errors = self._refusals(request, topic.name, [partition.partition_index for partition in topic.partitions])
            if errors:
                refused.topics.append(_commit_results(topic.name, errors))
            good = [partition for partition in topic.partitions if partition.partition_index not in errors]
            if good:
                accepted.append(OffsetCommitRequest.OffsetCommitRequestTopic(name=topic.name, partitions=good))
        if not accepted:
            return refused
        body.topics = accepted
        if request.api_version == 0:
            return self._commit_to_zookeeper(body, {topic.name: topic for topic in refused.topics})

        def reply(response: OffsetCommitResponse) -> None:
            response.topics = _merged(refused.topics, response.topics)
            request.respond(response)

        self._coordinator.commit_offsets(body, reply)
        return None

    async def _commit_large(self, request: Request, body: OffsetCommitRequest) -> OffsetCommitResponse:
        """One that may name so many partitions that others would have to wait."""
        errors, body.topics = await work_off(self._clock, self._sort_out(request, body.topics))
        results = await work_off(self._clock, _results(errors))
        if request.api_version == 0:
            return await self._commit_to_zookeeper(body, results)
        if body.topics:
            commit = await self._in_thread(self._coordinator.large_commit, body)
            done: Completion[CommitOutcome] = Completion()
            self._coordinator.commit_large(body.group_id, commit, done.set_result)
            outcome = await done
            await work_off(self._clock, self._coordinator.commit_results(results, commit, outcome))
        return OffsetCommitResponse(topics=list(results.values()))

    async def _commit_to_zookeeper(self, body: OffsetCommitRequest, results: CommitResults) -> OffsetCommitResponse:
        """Beside the results that there are."""
        limit: int = self._config.offset_metadata_max_bytes
        errors = await self._in_thread(write_offsets, self._zk_client, body, limit)
        of_zookeeper = await work_off(self._clock, _results(errors))
        return OffsetCommitResponse(topics=_merged(list(results.values()), list(of_zookeeper.values())))

    def handle_offset_fetch(self, request: Request) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
        """The committed offsets of a group, from v8 on of several; v0 finds them in ZooKeeper."""
        body: OffsetFetchRequest = request.body
        version = request.api_version
        if version == 0:
            require_group(self._authorizer, request, "DESCRIBE", body.group_id)
            return fetch_from_zookeeper(self._zk_client, self._cache, self._authorizer, self._in_thread, request)
        fetch = self._fetch_groups if version >= 8 else self._fetch_group
        return in_steps(self._clock, fetch(request, body))

    def _fetch_groups(self, request: Request, body: OffsetFetchRequest) -> Steps[OffsetFetchResponse]:
        response = OffsetFetchResponse()
        for group in body.groups:
            response.groups.append((yield from self._fetch_offsets(request, group.group_id, group.topics)))
            yield
        return response

    def _fetch_group(self, request: Request, body: OffsetFetchRequest) -> Steps[OffsetFetchResponse]:
        """Before v8."""
        group = yield from self._fetch_offsets(request, body.group_id, body.topics)
        error = Errors.for_code(group.error_code)
        if request.api_version < 2 and error is not Errors.NONE:
            raise KafkaError(error)  # told for each partition
        # The structs of v8 have the fields of those before it. Very many would take long to copy, and then to be freed.
        topics = cast("list[OffsetFetchResponse.OffsetFetchResponseTopic]", group.topics)
        return OffsetFetchResponse(error_code=error.code, topics=topics)

    def _fetch_offsets(
        self,
        request: Request,
        group_id: str,
        topics: Sequence[_TopicOfFetch] | None,
    ) -> Steps[OffsetFetchResponse.OffsetFetchResponseGroup]:
        """`topics` None: all that have offsets and that the sender may see."""
        authorizer, context = self._authorizer, request.context
        fetch_offsets = self._coordinator.fetch_offsets
        require_stable: bool = request.body.require_stable
        if not authorizer.authorize(context, "DESCRIBE", "GROUP", group_id):
            return OffsetFetchResponse.OffsetFetchResponseGroup(
                group_id=group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED.code
            )
        if topics is None:
            response = yield from fetch_offsets(group_id, None, require_stable)
            response.topics = [t for t in response.topics if authorizer.authorize(context, "DESCRIBE", "TOPIC", t.name)]
            return response
        allowed: list[_TopicOfFetch] = []
        denied = []
        for topic in topics:
            yield
            if authorizer.authorize(context, "DESCRIBE", "TOPIC", topic.name):
                allowed.append(topic)
            else:
                denied.append(_unauthorized_offsets(topic.name, topic.partition_indexes))
        response = yield from fetch_offsets(group_id, _Named(allowed), require_stable)
        if response.error_code == Errors.NONE.code:
            response.topics += denied
        return response

    def handle_offset_delete(self, request: Request) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
        body: OffsetDeleteRequest = request.body
        require_group(self._authorizer, request, "DELETE", body.group_id)
        return in_steps(self._clock, self._delete_offsets(request, body))

    def _delete_offsets(self, request: Request, body: OffsetDeleteRequest) -> Steps[OffsetDeleteResponse]:
        refused, body.topics = yield from self._sort_out(request, body.topics)
        response = yield from self._coordinator.delete_offsets(body)
        if response.error_code == Errors.NONE.code and refused:
            of_topic, of_partition = (
                OffsetDeleteResponse.OffsetDeleteResponseTopic,
                OffsetDeleteResponse.OffsetDeleteResponsePartition,
            )
            results = []
            for name, errors in refused.items():
                results.append(of_topic(name=name))
                for some in some_of(errors.items()):
                    results[-1].partitions += [
                        of_partition(partition_index=index, error_code=error.code) for index, error in some
                    ]
                    yield
            response.topics = _merged(results, response.topics)
        return response

    def _sort_out(self, request: Request, topics: Sequence[W]) -> Steps[tuple[dict[str, dict[int, Errors]], list[W]]]:
        """The partitions whose offsets are not to be touched, and why; and the topics with the others."""
        refused: dict[str, dict[int, Errors]] = {}
        accepted = []
        for topic in topics:
            good = []
            for some in portions(topic.partitions):
                errors = self._refusals(request, topic.name, [partition.partition_index for partition in some])
                if errors:
                    refused.setdefault(topic.name, {}).update(errors)
                good += [partition for partition in some if partition.partition_index not in errors]
                yield
            if good:
                topic.partitions = good
                accepted.append(topic)
        return refused, accepted

    def _refusals(self, request: Request, topic: str, partitions: list[int]) -> dict[int, Errors]:
        """The partitions whose offsets are not to be touched, and why."""
        if not self._authorizer.authorize(request.context, "READ", "TOPIC", topic):
            return dict.fromkeys(partitions, Errors.TOPIC_AUTHORIZATION_FAILED)
        contains = self._cache.contains
        return {index: Errors.UNKNOWN_TOPIC_OR_PARTITION for index in partitions if not contains(topic, index)}


class _Named:
    """The partitions of which an OffsetFetch names the topics and indexes, made one by one: very many that were there together
    would be freed together."""

    def __init__(self, topics: Sequence[_TopicOfFetch]) -> None:
        self._topics = topics

    def __len__(self) -> int:
        return sum(len(topic.partition_indexes) for topic in self._topics)

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic in self._topics:
            for index in topic.partition_indexes:
                yield TopicPartition(topic.name, index)


def _commit_results(topic: str, errors: dict[int, Errors]) -> OffsetCommitResponse.OffsetCommitResponseTopic:
    return OffsetCommitResponse.OffsetCommitResponseTopic(
        name=topic,
        partitions=[
            OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=index, error_code=error.code)
            for index, error in errors.items()
        ],
    )


def _results(errors: Mapping[str, Mapping[int, Errors]]) -> Steps[CommitResults]:
    results: CommitResults = {}
    for name, of_topic in errors.items():
        topic = results[name] = OffsetCommitResponse.OffsetCommitResponseTopic(name=name)
        for some in some_of(of_topic.items()):
            topic.partitions += _commit_results(name, dict(some)).partitions
            yield
    return results


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


def _unauthorized_offsets(topic: str, indexes: list[int]) -> OffsetFetchResponse.OffsetFetchResponseTopics:
    return OffsetFetchResponse.OffsetFetchResponseTopics(
        name=topic,
        partitions=[
            OffsetFetchResponse.OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=INVALID_OFFSET,
                error_code=Errors.TOPIC_AUTHORIZATION_FAILED.code,
            )
            for index in indexes
        ],
    )
