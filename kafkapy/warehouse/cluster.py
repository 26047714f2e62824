"""Queries the topics' logs: their ids and offsets."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.types import ConfigResource
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import IsolationLevel
from kafkapy.warehouse.client_options import client_options
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.plan import AFTER_LAST, FIRST, Bounds, LogLook

_NO_ID = bytes(16)


class TopicLogs:
    """Queries through one admin client, which is replaced after a failure. Thread-safe. Raises KafkaError."""

    def __init__(self, config: WarehouseConfig) -> None:
        self._options = client_options(config.kafka)
        self._topics = [table.topic for table in config.tables]
        committed = config.kafka["isolation.level"] == "read_committed"
        self._level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        self._lock = threading.Lock()
        self._admin: AdminClient | None = None
        self.ends: dict[tuple[str, str], dict[int, int]] = {}
        """(topic, id) -> partition -> end offset at the last query, including deleted topics."""

    def look(self) -> dict[str, LogLook]:
        """Query all existing topics of the configuration."""
        with self._lock:
            try:
                while True:
                    ids = self._described()
                    found = self._bounds(ids)
                    if {topic: id for topic, (id, _) in self._described().items()} == {
                        t: id for t, (id, _) in ids.items()
                    }:
                        break  # else the offsets may be those of a topic that was recreated meanwhile
            except KafkaError:
                self._close()
                raise
            for topic, look in found.items():
                self.ends[topic, look.topic_id] = {each: bounds.end for each, bounds in look.partitions.items()}
            return found

    def topic_ids(self) -> dict[str, str]:
        """Return topic -> id in hexadecimal, of existing topics."""
        with self._lock:
            try:
                return {topic: id for topic, (id, _) in self._described().items()}
            except KafkaError:
                self._close()
                raise

    def compacted(self) -> set[str]:
        """Return the compacted topics; empty without the right to read configs."""
        with self._lock:
            wanted = [ConfigResource("topic", topic) for topic in self._described()]
            found = self._client().describe_configs(wanted)
        policies = {
            resource.name: entry.value or ""
            for resource, entries in found.items()
            if not isinstance(entries, KafkaError)
            for entry in entries
            if entry.name == "cleanup.policy"
        }
        return {topic for topic, policy in policies.items() if "compact" in policy}

    def close(self) -> None:
        with self._lock:
            self._close()

    def _described(self) -> dict[str, tuple[str, list[int]]]:
        """Return ids and partitions."""
        found: dict[str, tuple[str, list[int]]] = {}
        for topic, described in self._client().describe_topics(self._topics).items():
            if isinstance(described, KafkaError):
                if described.error is not Errors.UNKNOWN_TOPIC_OR_PARTITION:
                    raise described
                continue
            id = "" if described.topic_id == _NO_ID else described.topic_id.hex()
            found[topic] = id, [each.partition for each in described.partitions]
        return found

    def _bounds(self, topics: Mapping[str, tuple[str, Iterable[int]]]) -> dict[str, LogLook]:
        whole = [TopicPartition(topic, each) for topic, (_, partitions) in topics.items() for each in partitions]
        first = self._offsets(whole, FIRST, IsolationLevel.READ_UNCOMMITTED)
        stable = self._offsets(whole, AFTER_LAST, self._level)
        end = self._offsets(whole, AFTER_LAST, IsolationLevel.READ_UNCOMMITTED)
        return {
            topic: LogLook(
                id,
                {
                    each: Bounds(*(offsets[TopicPartition(topic, each)] for offsets in (first, stable, end)))
                    for each in ps
                },
            )
            for topic, (id, ps) in topics.items()
        }

    def _offsets(self, partitions: list[TopicPartition], which: int, level: int) -> dict[TopicPartition, int]:
        if not partitions:
            return {}
        found = values_of(self._client().list_offsets(dict.fromkeys(partitions, which), level))
        return {partition: answer.offset for partition, answer in found.items()}

    def _client(self) -> AdminClient:
        if self._admin is None:
            options: dict[str, Any] = dict(self._options)
            self._admin = AdminClient(options.pop("bootstrap_servers"), **options)
        return self._admin

    def _close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None
