"""The configs of the group coordinator; the server sets them from the broker's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kafkapy.common import metadata_version


@dataclass(frozen=True)
class OffsetConfig:
    """Configs of committed offsets and their topic (Kafka's `OffsetConfig`). Times in ms, sizes in bytes."""

    max_metadata_size: int = 4096
    """offset.metadata.max.bytes: counted, as Java does, in UTF-16 code units"""
    retention_ms: int = 7 * 24 * 60 * 60 * 1000
    """offsets.retention.minutes"""
    retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    topic_num_partitions: int = 50
    """offsets.topic.num.partitions"""
    compression_codec: int = 0
    """offsets.topic.compression.codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd"""
    commit_timeout_ms: int = 5_000
    """offsets.commit.timeout.ms"""
    inter_broker_protocol_version: str = "3.9-IV0"
    """inter.broker.protocol.version: decides the versions of records"""

    @cached_property
    def offset_value_version(self) -> int:
        return metadata_version.offset_commit_value_version(self.inter_broker_protocol_version)

    @cached_property
    def group_value_version(self) -> int:
        return metadata_version.group_metadata_value_version(self.inter_broker_protocol_version)

    def is_metadata_too_large(self, metadata: str) -> bool:
        """Return whether a commit's metadata are too long."""
        limit = self.max_metadata_size
        if len(metadata) * 2 <= limit:
            return False
        return len(metadata) > limit or len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > limit


class GroupConfig(NamedTuple):
    """Limits of groups and their members (Kafka's `GroupConfig` of the classic coordinator). Times in ms."""

    min_session_timeout_ms: int = 6_000
    """group.min.session.timeout.ms"""
    max_session_timeout_ms: int = 1_800_000
    """group.max.session.timeout.ms"""
    max_size: int = 2**31 - 1
    """group.max.size"""
    initial_rebalance_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms"""
    offsets: OffsetConfig = OffsetConfig()
