"""A fetch that waits for `min_bytes` (Kafka's `DelayedFetch`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkapy.log.log_types import FetchIsolation, LogOffsetMetadata
from kafkapy.protocol.errors import KafkaError
from kafkapy.server.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kafkapy.server.replica_manager import FetchPartition, ReplicaManager


class DelayedFetch(DelayedOperation):
    """Done when (A) a partition is not readable here any more, (B) its log was cut below the fetch offset or rolled past it,
    (C) enough bytes are there, or its time is up (D).

    `waiting` pairs each partition with the position its fetch offset had when it was read without finding enough.
    """

    __slots__ = ("_done", "_isolation", "_min_bytes", "_replica_manager", "_waiting")

    def __init__(
        self,
        delay_ms: int,
        min_bytes: int,
        isolation: FetchIsolation,
        waiting: list[tuple[FetchPartition, LogOffsetMetadata]],
        replica_manager: ReplicaManager,
        done: Callable[[], None],
    ) -> None:
        super().__init__(delay_ms)
        self._min_bytes = min_bytes
        self._isolation = isolation
        self._waiting = waiting
        self._replica_manager = replica_manager
        self._done = done

    def try_complete(self) -> bool:
        accumulated = 0
        isolation = self._isolation
        for fetch, start in self._waiting:
            try:
                end = self._replica_manager.log_for_fetch(fetch).end_offset_metadata(isolation)
            except KafkaError:
                return self.force_complete()  # A
            if end.message_offset == start.message_offset:
                continue
            if end.message_offset < start.message_offset or not end.on_same_segment(start):
                return self.force_complete()  # B
            accumulated += min(end.position_diff(start), fetch.max_bytes)
            if accumulated >= self._min_bytes:
                return self.force_complete()  # C
        return False

    def on_complete(self) -> None:
        self._done()
