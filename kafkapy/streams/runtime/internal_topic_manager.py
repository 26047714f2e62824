"""Creates an application's internal topics (Kafka's `InternalTopicManager`)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from kafkapy.admin.client import AdminClient
from kafkapy.admin.topics import NewTopic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.topology.internal_topics import InternalTopic
from kafkapy.structs import OffsetSpec

log = logging.getLogger("kafkapy.streams")

_RETRY_SECONDS: Final = 0.1
_TRY_AGAIN: Final = (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.LEADER_NOT_AVAILABLE, Errors.TOPIC_ALREADY_EXISTS)
"""Retriable errors: a topic is being deleted, or was just created by another instance."""


class InternalTopicManager:
    """Creates missing internal topics and validates existing ones.

    Invariant: a thread holds `_lock` while it uses the admin client.

    Args:
        admin: The admin client; `close` closes it.
        replication_factor: `replication.factor`.
        timeout_ms: Total time of all attempts.
        sleep: Blocks the thread, by s.
    """

    def __init__(
        self,
        admin: AdminClient,
        replication_factor: int,
        timeout_ms: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._admin = admin
        self._replication_factor = replication_factor
        self._timeout_ms = timeout_ms
        self._sleep = sleep
        self._lock = threading.Lock()

    def make_ready(self, topics: Mapping[str, tuple[InternalTopic, int]]) -> set[str]:
        """Create the topics that do not exist.

        Args:
            topics: Internal topics and their partition counts by name.

        Returns:
            The topics that were created by this call.

        Raises:
            StreamsException: A topic exists with another partition count, or could not be created in time.
        """
        with self._lock:
            return self._make_ready(dict(topics))

    def close(self) -> None:
        """Close the admin client."""
        self._admin.close()

    def _make_ready(self, left: dict[str, tuple[InternalTopic, int]]) -> set[str]:
        created: set[str] = set()
        deadline = time.monotonic() + self._timeout_ms / 1000
        while left:
            for name in self._existing(left):
                del left[name]
            if left:
                made, problem = self._create(left)
                created |= made
                for name in made:
                    del left[name]
                if left and time.monotonic() > deadline:
                    raise StreamsException(f"Could not create internal topics {', '.join(sorted(left))}: {problem}")
                if left:
                    self._sleep(_RETRY_SECONDS)
        return created

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int] | None:
        """Return the end offsets of changelogs; None if they are not available now."""
        if not partitions:
            return {}
        try:
            with self._lock:
                found = self._admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        except KafkaError as error:
            log.info("The ends of changelogs are not known: %s", error)
            return None
        ends = {}
        for partition, value in found.items():
            if isinstance(value, KafkaError):
                log.info("The end of %s is not known: %s", partition, value)
                return None
            ends[partition] = value.offset
        return ends

    def replica_racks(self, topics: Collection[str]) -> dict[TopicPartition, frozenset[str]] | None:
        """Return the racks with a replica of each partition; None if a broker has no rack, or it cannot be found out now.

        Args:
            topics: Their names.
        """
        try:
            with self._lock:
                racks = {node.id: node.rack for node in self._admin.describe_cluster().nodes}
                described = self._admin.describe_topics(list(topics))
        except KafkaError as error:
            log.info("The racks of partitions are not known: %s", error)
            return None
        found: dict[TopicPartition, frozenset[str]] = {}
        for topic in described.values():
            for partition in () if isinstance(topic, KafkaError) else topic.partitions:
                where = [racks.get(replica) for replica in partition.replicas]
                if not where or not all(where):
                    return None
                found[TopicPartition(partition.topic, partition.partition)] = frozenset(rack for rack in where if rack)
        return found

    def _existing(self, topics: Mapping[str, tuple[InternalTopic, int]]) -> list[str]:
        found = []
        for name, topic in self._admin.describe_topics(list(topics)).items():
            if isinstance(topic, KafkaError):
                if topic.error is not Errors.UNKNOWN_TOPIC_OR_PARTITION:
                    log.info("Topic %s cannot be described: %s", name, topic)
                continue
            wanted = topics[name][1]
            if len(topic.partitions) != wanted:
                raise StreamsException(
                    f"Existing internal topic {name} has invalid partitions: expected: {wanted}; actual: "
                    f"{len(topic.partitions)}. Use bin/kafka-streams-application-reset.sh to clean up invalid topics before "
                    "processing."
                )
            found.append(name)
        return found

    def _create(self, topics: Mapping[str, tuple[InternalTopic, int]]) -> tuple[set[str], Any]:
        new = [
            NewTopic(name, partitions, self._replication_factor, {}, dict(topic.config))
            for name, (topic, partitions) in topics.items()
        ]
        created, problem = set(), None
        for name, outcome in self._admin.create_topics(new).items():
            if not isinstance(outcome, KafkaError):
                created.add(name)
                log.info("Created the internal topic %s with %d partitions", name, topics[name][1])
            elif outcome.error in _TRY_AGAIN:
                problem = outcome
            else:
                raise StreamsException(f"Could not create the internal topic {name}: {outcome}") from outcome
        return created, problem
