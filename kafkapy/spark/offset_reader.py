"""Finds partitions and their offsets, on the driver (Spark's `KafkaOffsetReaderAdmin`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kafkapy.admin.client import AdminClient
from kafkapy.admin.partitions import UNKNOWN_OFFSET
from kafkapy.admin.results import values_of
from kafkapy.common.time import SystemTime, Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.spark.errors import OffsetError
from kafkapy.spark.kafka_params import SECURITY
from kafkapy.spark.offset_limits import (
    EARLIEST,
    LATEST,
    EarliestOffsets,
    GlobalTimestamp,
    LatestOffsets,
    OffsetRangeLimit,
    PartitionOffsets,
    SpecificOffsets,
    names,
)
from kafkapy.spark.options import Assign, SourceOptions, Subscribe
from kafkapy.structs import IsolationLevel, OffsetAndMetadata

T = TypeVar("T")

_log = logging.getLogger("kafkapy.spark")


class OffsetReader:
    """Queries the cluster through one admin client, which is replaced after a failure. Not thread-safe.

    Every query is attempted `fetchOffset.numRetries` times before its `KafkaError` is raised, but not again after
    `default.api.timeout.ms`, nor if the configs are wrong.
    """

    def __init__(self, options: SourceOptions, time: Time | None = None) -> None:
        self._options = options
        self._time: Time = time or SystemTime()
        self._admin: AdminClient | None = None
        committed = options.kafka["isolation.level"] == "read_committed"
        self._isolation_level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    # --- partitions

    def partitions(self) -> set[TopicPartition]:
        """Return the current partitions of the query's strategy."""
        return self._retry(self._partitions)

    def _partitions(self) -> set[TopicPartition]:
        strategy = self._options.strategy
        if isinstance(strategy, Subscribe):
            return self._partitions_of(strategy.topics)
        if isinstance(strategy, Assign):
            return self._partitions_of({p.topic for p in strategy.partitions}) & strategy.partitions
        wanted = strategy.pattern
        topics = self.admin.list_topics(list_internal=False).values()
        return {TopicPartition(t.name, p.partition) for t in topics if wanted.search(t.name) for p in t.partitions}

    def _partitions_of(self, topics: Iterable[str]) -> set[TopicPartition]:
        found = self.admin.describe_topics(topics)
        for name, topic in found.items():
            if isinstance(topic, KafkaError):
                raise KafkaError(topic.error, f"Topic {name}: {topic.message}") from topic
        described = values_of(found).values()
        return {TopicPartition(t.name, p.partition) for t in described if not t.internal for p in t.partitions}

    # --- offsets

    def resolve(self, limit: OffsetRangeLimit, *, starting: bool) -> PartitionOffsets:
        """Resolve a limit to numeric offsets of all partitions that the query reads.

        Raises `OffsetError` if the option names other partitions, or if no record is as young as a starting timestamp.
        """
        return self._retry(lambda: self._resolve(limit, starting))

    def _resolve(self, limit: OffsetRangeLimit, starting: bool) -> PartitionOffsets:
        partitions = self._partitions()
        if isinstance(limit, EarliestOffsets | LatestOffsets):
            symbol = EARLIEST if isinstance(limit, EarliestOffsets) else LATEST
            return self._list_offsets(dict.fromkeys(partitions, symbol))
        if isinstance(limit, SpecificOffsets):
            _check_all_specified("start" if starting else "end", limit.offsets, partitions)
            symbolic = {p: offset for p, offset in limit.offsets.items() if offset in (LATEST, EARLIEST)}
            return {**limit.offsets, **self._list_offsets(symbolic)}
        if isinstance(limit, GlobalTimestamp):
            timestamps: Mapping[TopicPartition, int] = dict.fromkeys(partitions, limit.timestamp)
        else:
            timestamps = limit.timestamps
            _check_all_timestamps("start" if starting else "end", timestamps, partitions)
        return self._resolve_timestamps(timestamps, error_if_none=starting and not limit.latest_if_none)

    def _resolve_timestamps(self, timestamps: Mapping[TopicPartition, int], error_if_none: bool) -> PartitionOffsets:
        offsets = self._list_offsets(timestamps)
        without = [p for p, offset in offsets.items() if offset == UNKNOWN_OFFSET]
        if without and error_if_none:
            partition = min(without)
            raise OffsetError(
                f"No offset matched from request of topic-partition {partition} and timestamp {timestamps[partition]}."
            )
        return {**offsets, **self._list_offsets(dict.fromkeys(without, LATEST))}

    def earliest(self, partitions: Iterable[TopicPartition]) -> PartitionOffsets:
        """Return the earliest offsets of those `partitions` that still exist."""
        wanted = set(partitions)
        return self._retry(lambda: self._list_offsets(dict.fromkeys(wanted & self._partitions(), EARLIEST)))

    def latest(self, known: Mapping[TopicPartition, int]) -> PartitionOffsets:
        """Return the latest offsets of all partitions. An end before a `known` offset may be outdated, and is
        requested again."""
        attempts = self._options.fetch_offset_attempts
        while True:
            offsets = self.resolve(LatestOffsets(), starting=False)
            attempts -= 1
            behind = {p: (known[p], offset) for p, offset in offsets.items() if p in known and known[p] > offset}
            if not behind:
                return offsets
            _log.warning("Found incorrect offsets in some partitions (previous offset, fetched offset): %s", behind)
            if attempts <= 0:
                return offsets
            self._time.sleep(self._options.fetch_offset_retry_interval_ms / 1000)

    def by_timestamp(self, timestamps: Mapping[TopicPartition, int]) -> PartitionOffsets:
        """Return the first offset of each partition with at least this timestamp (ms); -1 if there is none."""
        return self._retry(lambda: self._list_offsets(timestamps))

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets of a group without members. Raises `KafkaError`."""
        values_of(self.admin.alter_group_offsets(group, {p: OffsetAndMetadata(o) for p, o in offsets.items()}))

    def _list_offsets(self, timestamps: Mapping[TopicPartition, int]) -> PartitionOffsets:
        """Kafka's numbers for latest and earliest are those of the options."""
        if not timestamps:
            return {}
        found = values_of(self.admin.list_offsets(timestamps, self._isolation_level))
        return {partition: answer.offset for partition, answer in found.items()}

    # --- the client

    @property
    def admin(self) -> AdminClient:
        if self._admin is None:
            params = self._options.kafka
            self._admin = AdminClient(
                params["bootstrap.servers"],
                client_id=params["client.id"] or f"{self._options.group_id_prefix}-driver",
                request_timeout_ms=params["request.timeout.ms"],
                default_api_timeout_ms=params["default.api.timeout.ms"],
                retry_backoff_ms=params["retry.backoff.ms"],
                retry_backoff_max_ms=params["retry.backoff.max.ms"],
                socket_connection_setup_timeout_ms=params["socket.connection.setup.timeout.ms"],
                **params[SECURITY],
            )
        return self._admin

    def _retry(self, ask: Callable[[], T]) -> T:
        attempt = 1
        deadline = self._time.monotonic_ms() + self._options.kafka["default.api.timeout.ms"]
        while True:
            try:
                return ask()
            except KafkaError as error:
                if error.error is Errors.INVALID_CONFIG:
                    raise
                _log.warning("Error in attempt %d getting Kafka offsets: %s", attempt, error)
                self.close()
                interval_ms = self._options.fetch_offset_retry_interval_ms
                if attempt >= self._options.fetch_offset_attempts or self._time.monotonic_ms() + interval_ms > deadline:
                    raise
                attempt += 1
                self._time.sleep(interval_ms / 1000)


def _check_all_specified(
    which: str, offsets: Mapping[TopicPartition, int], partitions: Iterable[TopicPartition]
) -> None:
    if offsets.keys() != set(partitions):
        raise OffsetError(
            f"Partitions specified for Kafka {which} offsets don't match what are assigned. Maybe topic partitions "
            "are created or deleted while the query is running. Use -1 for latest, -2 for earliest. "
            f"Specified: {names(offsets)} Assigned: {names(partitions)}"
        )


def _check_all_timestamps(
    which: str, timestamps: Mapping[TopicPartition, int], partitions: Iterable[TopicPartition]
) -> None:
    if timestamps.keys() != set(partitions):
        raise OffsetError(
            f"Partitions specified for Kafka timestamp based {which} offsets don't match what are assigned. Maybe "
            "topic partitions are created or deleted while the query is running, or you didn't specify all the "
            f"partitions. Specified: {names(timestamps)} Assigned: {names(partitions)}"
        )
