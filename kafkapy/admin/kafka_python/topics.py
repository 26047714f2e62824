"""Operations on topics: list, describe, create, wait for, delete, add partitions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.admin.kafka_python.base import Face, raise_first
from kafkapy.admin.kafka_python.configs import plain_config
from kafkapy.admin.structs import as_dict, with_operations
from kafkapy.admin.topics import NewPartitions, NewTopic
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.errors import KafkaTimeoutError, for_code
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.create_partitions import CreatePartitionsResponse

_WAIT_MS = 100

NewTopics = Iterable[str | NewTopic] | Mapping[str, Mapping[str, Any]]


class TopicMethods(Face):
    async def list_topics(self) -> list[str]:
        """Return the names of all topics."""
        metadata = await self._cluster_metadata(None)
        return [topic["name"] for topic in metadata["topics"]]

    async def describe_topics(self, topics: Iterable[str | uuid.UUID] | None = None) -> list[dict[str, Any]]:
        """Return topics with their partitions, as in Metadata; None: all. A `uuid.UUID` is a topic's id (KIP-516).

        Args:
            topics: Names or ids of the topics. None (default): all.
        """
        metadata = await self._cluster_metadata(topics)
        described: list[dict[str, Any]] = metadata["topics"]
        return described

    async def _cluster_metadata(self, topics: Iterable[str | uuid.UUID] | None) -> dict[str, Any]:
        answer = await self.core.metadata(self._call("Metadata"), topics, operations=True)
        metadata = with_operations(as_dict(answer.response, answer.version), "cluster_authorized_operations")
        for topic in metadata["topics"]:
            with_operations(topic, "topic_authorized_operations")
        return metadata

    async def create_topics(
        self,
        new_topics: NewTopics,
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Create topics; return the response as a dict. Raises the first error, unless `raise_errors` is False.

        `new_topics`: a list of names or `NewTopic`s, or a dict of name -> {num_partitions, replication_factor,
        assignments, configs}.

        Args:
            new_topics: The topics.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
            validate_only: Check, and change nothing. Default False.
            raise_errors: Raise the first error. Default True; else errors are in the response.
            wait_for_metadata: Return only when the topics are in the brokers' metadata. Default False.
        """
        if validate_only and wait_for_metadata:
            raise ValueError("validate_only and wait_for_metadata are mutually exclusive")
        topics = _new_topics(new_topics)
        answer = await self.core.create(self._controller_call("CreateTopics", timeout_ms), topics, validate_only)
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
        """Wait until each topic exists and each partition has a leader. Raises KafkaTimeoutError.

        Args:
            topic_names: Names of the topics.
            timeout_ms: The longest time to wait, in ms. Default 10,000.
        """
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
        """Delete topics by name or id; return the response as a dict. Raises the first error, unless `raise_errors` is
        False.

        Args:
            topics: Names or ids of the topics.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
            raise_errors: Raise the first error. Default True; else errors are in the response.
        """
        answer = await self.core.delete(self._controller_call("DeleteTopics", timeout_ms), topics)
        if raise_errors:
            raise_first((topic.error_code, topic.error_message) for topic in answer.response.responses)
        result = as_dict(answer.response, answer.version)
        result.pop("throttle_time_ms", None)
        result["topics"] = result.pop("responses")
        return result

    async def create_partitions(
        self,
        topic_partitions: Mapping[str, int | NewPartitions | Mapping[str, Any]],
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> CreatePartitionsResponse:
        """Add partitions: topic -> the new count, a `NewPartitions`, or {count, assignments}; return the response.

        Raises the first error, unless `raise_errors` is False.

        Args:
            topic_partitions: By topic, the count in total.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
            validate_only: Check, and change nothing. Default False.
            raise_errors: Raise the first error. Default True; else errors are in the response.
        """
        wanted = {topic: _new_partitions(new) for topic, new in topic_partitions.items()}
        call = self._controller_call("CreatePartitions", timeout_ms)
        response: CreatePartitionsResponse = (await self.core.add_partitions(call, wanted, validate_only)).response
        if raise_errors:
            raise_first((topic.error_code, topic.error_message) for topic in response.results)
        return response


def _new_topics(new_topics: NewTopics) -> list[NewTopic]:
    topics = []
    if isinstance(new_topics, Mapping):
        for name, given in new_topics.items():
            counts = given.get("num_partitions", -1), given.get("replication_factor", -1)
            topics.append(NewTopic(name, *counts, given.get("assignments") or {}, given.get("configs") or {}))
    else:
        for topic in new_topics:
            if not isinstance(topic, str | NewTopic):
                raise ValueError(f"new_topics must hold names or NewTopic objects, not {topic!r}")
            topics.append(NewTopic(topic) if isinstance(topic, str) else topic)
    if not topics:
        raise ValueError(f"No valid topics found in new_topics: {new_topics}")
    return topics


def _new_partitions(wanted: int | NewPartitions | Mapping[str, Any]) -> NewPartitions:
    if isinstance(wanted, int):
        return NewPartitions(wanted)
    if isinstance(wanted, Mapping):
        return NewPartitions(wanted["count"], wanted.get("assignments"))
    return wanted


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
