"""Parameters and results of a fetch inside the broker (Kafka's `FetchParams`, `FetchPartitionData`)."""

from __future__ import annotations

from typing import Final

from kafkapy.cluster.replica import NO_BROKER_EPOCH
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_types import FetchIsolation, LogOffsetMetadata
from kafkapy.protocol.errors import Errors
from kafkapy.record.file_records import FileRecords
from kafkapy.record.lazy_records import LazyRecords

NO_RECORDS: Final = b""


class FetchPartition:
    """The request for one partition of a fetch."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        fetch_offset: int,
        log_start_offset: int,
        max_bytes: int,
        current_leader_epoch: int,
        last_fetched_epoch: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.fetch_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch


class FetchResult:
    """The result for one partition of a fetch. `start` is the fetch offset's position in the log, for a fetch that waits."""

    __slots__ = (
        "aborted_transactions",
        "diverging_epoch",
        "error",
        "has_all",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "preferred_read_replica",
        "records",
        "size",
        "start",
    )

    def __init__(
        self,
        error: Errors,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        records: bytes | FileRecords = NO_RECORDS,
        size: int = 0,
        start: LogOffsetMetadata | None = None,
    ) -> None:
        self.error = error
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.records: bytes | FileRecords | LazyRecords | None = records
        self.size = size
        self.start = start
        self.aborted_transactions: list[tuple[int, int]] | None = None
        self.diverging_epoch: tuple[int, int] | None = None
        self.preferred_read_replica = -1
        self.has_all = False
        """The reader is a follower that is in sync and caught up: the result stays the same until an event on the partition."""


class FetchParams:
    """Parameters of a fetch. `isolation` implies the kind of client: a follower reads to the log end."""

    __slots__ = (
        "hard_max_bytes",
        "isolation",
        "leader_only",
        "listener_name",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_epoch",
        "replica_id",
    )

    def __init__(
        self,
        replica_id: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        isolation: FetchIsolation,
        hard_max_bytes: bool,
        leader_only: bool = True,
        replica_epoch: int = NO_BROKER_EPOCH,
        rack_id: str = "",
        listener_name: str = "",
    ) -> None:
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation = isolation
        self.hard_max_bytes = hard_max_bytes
        """Fetch v0-2: not even the first batch may exceed the limits."""
        self.leader_only = leader_only
        """Consumers with KIP-392 may read from followers."""
        self.replica_epoch = replica_epoch
        self.rack_id = rack_id
        self.listener_name = listener_name


def is_enough(params: FetchParams, results: list[FetchResult]) -> bool:
    """Return whether the fetch can be answered now."""
    size = 0
    for result in results:
        if result.error is not Errors.NONE or result.diverging_epoch is not None or result.preferred_read_replica != -1:
            return True
        size += result.size
    return size >= params.min_bytes
