"""Topics: list, describe, create, wait for, delete."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.admin.core.configs import plain_config
from kafkapy.admin.core.router import Router, raise_first
from kafkapy.admin.core.structs import as_dict, with_operations
from kafkapy.admin.core.types import ConfigResourceType
from kafkapy.admin.topics import NewTopic
from kafkapy.clients.requests import VersionedRequest
from kafkapy.errors import IncompatibleBrokerVersion, KafkaTimeoutError, for_code
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest

_WAIT_MS = 100


class TopicOperations(Router):
    async def list_topics(self) -> list[str]:
        """Names of all topics."""
        metadata = await self._cluster_metadata(None)
        return [topic["name"] for topic in metadata["topics"]]

    async def describe_topics(self, topics: Iterable[str | uuid.UUID] | None = None) -> list[dict[str, Any]]:
        """Topics with their partitions, as in Metadata; None: all. A `uuid.UUID` is a topic's id (KIP-516)."""
        metadata = await self._cluster_metadata(topics)
        described: list[dict[str, Any]] = metadata["topics"]
        return described

    async def _cluster_metadata(self, topics: Iterable[str | uuid.UUID] | None) -> dict[str, Any]:
        wanted = None if topics is None else [_metadata_topic(topic) for topic in topics]
        lowest = 0 if wanted is None or all(topic.name is not None for topic in wanted) else 12

        def build(version: int) -> MetadataRequest:
            return MetadataRequest(
                topics=[] if version == 0 and wanted is None else wanted,
                allow_auto_topic_creation=version < 4,
                include_cluster_authorized_operations=8 <= version <= 10,
                include_topic_authorized_operations=version >= 8,
            )

        answer = await self._any(VersionedRequest(MetadataRequest, build), min_version=lowest)
        metadata = with_operations(as_dict(answer.response, answer.version), "cluster_authorized_operations")
        for topic in metadata["topics"]:
            with_operations(topic, "topic_authorized_operations")
        return metadata

    async def create_topics(
        self,
        new_topics: Any,
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Create topics: a list of names or `NewTopic`s, or a dict of name -> {num_partitions, replication_factor,
        assignments, configs}. Gives the response as a dict. Raises the first error, unless `raise_errors` is False."""
        if validate_only and wait_for_metadata:
            raise ValueError("validate_only and wait_for_metadata are mutually exclusive")
        timeout = self._timeout(timeout_ms)
        topics = _creatable_topics(new_topics)

        def build(version: int) -> CreateTopicsRequest:
            if validate_only and version < 1:
                raise IncompatibleBrokerVersion("validate_only needs a broker from 0.10.2 on")
            if version < 4 and any(
                -1 in (t.num_partitions, t.replication_factor) and not t.assignments for t in topics
            ):
                raise IncompatibleBrokerVersion(
                    "The broker is older than 2.4: num_partitions and replication_factor must be given"
                )
            return CreateTopicsRequest(topics=topics, timeout_ms=timeout, validate_only=validate_only)

        answer = await self._controller(
            VersionedRequest(CreateTopicsRequest, build), lambda r: [t.error_code for t in r.topics], timeout_ms
        )
        if raise_errors:
            raise_first((topic.error_code, topic.error_message) for topic in answer.response.topics)
        if wait_for_metadata:
            await self.wait_for_topics([topic.name for topic in topics])
        result = as_dict(answer.response, answer.version)
        result.pop("throttle_time_ms", None)
        for topic in result["topics"]:
            configs = topic.pop("configs", None)
            if configs:
                topic["configs"] = dict(plain_config(config, ConfigResourceType.TOPIC) for config in configs)
        return result

    async def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10_000) -> None:
        """Until each topic is there with a leader for each partition. Raises KafkaTimeoutError."""
        names = list(topic_names)
        time = self.client.driver.time
        deadline = time.monotonic_ms() + timeout_ms
        while names:
            try:
                described = {topic["name"]: topic for topic in await self.describe_topics(names)}
            except KafkaError:
                described = {}
            reasons = {name: _why_not_ready(described.get(name)) for name in names}
            pending = {name: reason for name, reason in reasons.items() if reason is not None}
            if not pending:
                return
            if time.monotonic_ms() >= deadline:
                raise KafkaTimeoutError(f"Topics not ready after {timeout_ms:g} ms: {pending}")
            await self.client.driver.sleep(_WAIT_MS)

    async def delete_topics(
        self, topics: Sequence[str | uuid.UUID], timeout_ms: int | None = None, raise_errors: bool = True
    ) -> dict[str, Any]:
        """Delete topics by name or id. Gives the response as a dict; raises the first error."""
        timeout = self._timeout(timeout_ms)
        lowest = 6 if any(isinstance(topic, uuid.UUID) for topic in topics) else 0

        def build(version: int) -> DeleteTopicsRequest:
            if version < 6:
                return DeleteTopicsRequest(topic_names=[str(topic) for topic in topics], timeout_ms=timeout)
            state = DeleteTopicsRequest.DeleteTopicState
            states = [state(topic_id=t.bytes) if isinstance(t, uuid.UUID) else state(name=t) for t in topics]
            return DeleteTopicsRequest(topics=states, timeout_ms=timeout)

        answer = await self._controller(
            VersionedRequest(DeleteTopicsRequest, build),
            lambda r: [t.error_code for t in r.responses],
            timeout_ms,
            min_version=lowest,
        )
        if raise_errors:
            raise_first((topic.error_code, topic.error_message) for topic in answer.response.responses)
        result = as_dict(answer.response, answer.version)
        result.pop("throttle_time_ms", None)
        result["topics"] = result.pop("responses")
        return result


def _metadata_topic(topic: str | uuid.UUID) -> MetadataRequest.MetadataRequestTopic:
    if isinstance(topic, uuid.UUID):
        return MetadataRequest.MetadataRequestTopic(name=None, topic_id=topic.bytes)
    return MetadataRequest.MetadataRequestTopic(name=topic)


def _creatable_topics(new_topics: Any) -> list[CreateTopicsRequest.CreatableTopic]:
    if isinstance(new_topics, Mapping):
        topics = [
            _creatable(
                name,
                options.get("num_partitions", -1),
                options.get("replication_factor", -1),
                options.get("assignments"),
                options.get("configs"),
            )
            for name, options in new_topics.items()
        ]
    else:
        topics = []
        for topic in new_topics:
            if isinstance(topic, str):
                topics.append(_creatable(topic, -1, -1, None, None))
            elif isinstance(topic, NewTopic):
                topics.append(_creatable(*topic))
            else:
                raise ValueError(f"new_topics must hold names or NewTopic objects, not {topic!r}")
    if not topics:
        raise ValueError(f"No valid topics found in new_topics: {new_topics}")
    return topics


def _creatable(
    name: str,
    partitions: int,
    replication_factor: int,
    assignments: Mapping[int, Sequence[int]] | None,
    configs: Mapping[str, Any] | None,
) -> CreateTopicsRequest.CreatableTopic:
    request = CreateTopicsRequest
    return request.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            request.CreatableReplicaAssignment(partition_index=partition, broker_ids=list(replicas))
            for partition, replicas in (assignments or {}).items()
        ],
        configs=[
            request.CreatableTopicConfig(name=key, value=None if value is None else str(value))
            for key, value in (configs or {}).items()
        ],
    )


def _why_not_ready(topic: dict[str, Any] | None) -> str | None:
    if topic is None:
        return "missing from metadata response"
    if topic["error_code"]:
        return for_code(topic["error_code"]).__name__
    if not topic["partitions"]:
        return "no partitions reported"
    for partition in topic["partitions"]:
        if partition["error_code"]:
            return f"p{partition['partition_index']}={for_code(partition['error_code']).__name__}"
        if partition["leader_id"] < 0:
            return f"p{partition['partition_index']}=no leader"
    return None
