"""What a log is made of."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.log_config import LogConfig
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.segments.log_segments import LogSegments


class LoadedLog(NamedTuple):
    """What `log_loader` has found in a directory, mended (Kafka's `LoadedLogOffsets` with the rest).

    Invariant: there is at least one segment; `log_start_offset` <= `log_end_offset`, `recovery_point` <= `log_end_offset`;
    `epochs` and `producers` are those of the records below `log_end_offset`.
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
    """None if it is tied to no life of the topic yet."""
