"""The parts of a loaded log."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.log_config import LogConfig
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.segments.log_segments import LogSegments


class LoadedLog(NamedTuple):
    """The repaired content of a log directory, loaded by `log_loader` (Kafka's `LoadedLogOffsets`, extended).

    Invariant: there is at least one segment; `log_start_offset` <= `log_end_offset`, `recovery_point` <=
    `log_end_offset`; `epochs` and `producers` are those of the records below `log_end_offset`.
    """

    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    segments: LogSegments
    log_start_offset: int
    recovery_point: int
    log_end_offset: int
    epochs: LeaderEpochCache
    producers: ProducerStateManager
    topic_id: bytes | None
    """None if the log has no topic id yet."""
