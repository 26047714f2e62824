"""A fetch that waits for `min_bytes` (Kafka's `DelayedFetch`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from kafkapy.log.log_types import LogOffsetMetadata
from kafkapy.protocol.errors import KafkaError
from kafkapy.server.purgatory.purgatory import DelayedOperation
from kafkapy.server.replication.fetch_params import FetchParams, FetchPartition
from kafkapy.server.replication.hosted_partitions import HostedPartitions


class DelayedFetch(DelayedOperation):
    """Completes when (A) a partition is not readable on this broker any more, (B) its log was truncated below the
    fetch offset or rolled past it, (C) enough bytes are available, (D) the log now diverges from the follower's, or
    (E) at its deadline.

    `waiting` pairs each partition with its fetch offset's position in the log at the read that found too few bytes.
    Invariant: `_bytes` holds each partition's available bytes, as of the last event on it, and `_accumulated` their
    sum: an event on one partition checks that one only.
    """

    __slots__ = ("_accumulated", "_bytes", "_done", "_params", "_replicas", "_waiting")

    def __init__(
        self,
        params: FetchParams,
        waiting: list[tuple[FetchPartition, LogOffsetMetadata]],
        replicas: HostedPartitions,
        done: Callable[[], None],
    ) -> None:
        super().__init__(params.max_wait_ms)
        self._params = params
        self._waiting: dict[Hashable, tuple[FetchPartition, LogOffsetMetadata]] = {
            fetch.topic_partition: (fetch, start) for fetch, start in waiting
        }
        self._bytes: dict[Hashable, int] = {}
        self._accumulated = 0
        self._replicas = replicas
        self._done = done

    def try_complete(self) -> bool:
        return any(self.try_complete_after(key) for key in list(self._waiting))

    def try_complete_after(self, key: Hashable) -> bool:
        waiting = self._waiting.get(key)
        if waiting is None:
            return False
        try:
            available = self._available(*waiting)
        except KafkaError:
            return self.force_complete()  # A
        if available is None:
            return self.force_complete()  # B, D
        if available:
            self._accumulated += available - self._bytes.get(key, 0)
            self._bytes[key] = available
            if self._accumulated >= self._params.min_bytes:
                return self.force_complete()  # C
        return False

    def wait_also(self, fetch: FetchPartition, start: LogOffsetMetadata) -> bool:
        """Add a partition. Return True if its bytes completed the fetch."""
        self._waiting[fetch.topic_partition] = (fetch, start)
        return self.try_complete_after(fetch.topic_partition)

    def _available(self, fetch: FetchPartition, start: LogOffsetMetadata) -> int | None:
        """Return the bytes that can be read now; None if the fetch must complete however few there are."""
        params, replicas = self._params, self._replicas
        partition = replicas.partition_for_fetch(fetch)
        log = partition.local_log(fetch.current_leader_epoch, params.leader_only)
        end = log.end_offset_metadata(params.isolation)
        if end.message_offset < start.message_offset:
            return None
        available = 0
        if end.message_offset > start.message_offset and not (
            params.replica_id >= 0 and replicas.should_leader_throttle(partition, params.replica_id)
        ):
            if not end.on_same_segment(start):
                return None
            available = min(end.position_diff(start), fetch.max_bytes)
        if fetch.last_fetched_epoch >= 0:
            found = partition.end_offset_for_epoch(fetch.last_fetched_epoch)
            if found is None or found[0] < fetch.last_fetched_epoch or found[1] < fetch.fetch_offset:
                return None
        return available

    def on_complete(self) -> None:
        self._done()
