"""Configs that are set on topics and brokers: good values, bad ones, and names that do not exist."""

from __future__ import annotations

from kafkapy.common.wire_enums import ConfigResourceType
from system_tests.beside_apache.draw import Draw

GROUP = 32
"""A type of resource that a broker with ZooKeeper does not know."""

_Configs = tuple[tuple[str, str | None], ...]

_GOOD_TOPIC_CONFIGS: _Configs = (
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "delete"),
    ("compression.gzip.level", "1"),
    ("compression.type", "gzip"),
    ("compression.type", "lz4"),
    ("compression.type", "producer"),
    ("compression.type", "snappy"),
    ("compression.type", "uncompressed"),
    ("compression.type", "zstd"),
    ("compression.zstd.level", "3"),
    ("file.delete.delay.ms", "100"),
    ("flush.messages", "1"),
    ("index.interval.bytes", "0"),
    ("leader.replication.throttled.replicas", "*"),
    ("leader.replication.throttled.replicas", "0:1"),
    ("local.retention.ms", "-2"),
    ("max.message.bytes", "1048588"),
    ("max.message.bytes", "2000"),
    ("message.format.version", "2.0"),
    ("message.timestamp.after.max.ms", "1000"),
    ("message.timestamp.difference.max.ms", "9223372036854775807"),
    ("message.timestamp.type", "CreateTime"),
    ("message.timestamp.type", "LogAppendTime"),
    ("min.cleanable.dirty.ratio", "0.1"),
    ("min.compaction.lag.ms", "10"),
    ("min.insync.replicas", "1"),
    ("min.insync.replicas", "2"),
    ("preallocate", "true"),
    ("retention.ms", "-1"),
    ("segment.bytes", "1048576"),
    ("segment.jitter.ms", "5"),
    ("unclean.leader.election.enable", "true"),
)
"""None that deletes or refuses records for their age (retention.ms, message.timestamp.before.max.ms): theirs is years."""

_BAD_TOPIC_CONFIGS: _Configs = (
    ("cleanup.policy", "none"),
    ("compression.gzip.level", "10"),
    ("compression.type", "foo"),
    ("leader.replication.throttled.replicas", "bad"),
    ("max.compaction.lag.ms", "0"),
    ("max.message.bytes", "-1"),
    ("message.format.version", "9.9"),
    ("message.timestamp.type", "x"),
    ("min.cleanable.dirty.ratio", "1.5"),
    ("min.insync.replicas", "0"),
    ("remote.storage.enable", "true"),
    ("retention.bytes", None),
    ("retention.ms", "x"),
    ("segment.bytes", "1"),
    ("segment.ms", "0"),
    ("unclean.leader.election.enable", "maybe"),
    ("unknown.config", "1"),
)

_BROKER_CONFIGS: _Configs = (
    ("background.threads", "x"),
    ("broker.id", "3"),
    ("compression.type", "gzip"),
    ("compression.type", "producer"),
    ("follower.replication.throttled.rate", "1000000"),
    ("leader.replication.throttled.rate", "-5"),
    ("listeners", "PLAINTEXT://x:1"),
    ("log.cleaner.threads", "1"),
    ("log.cleanup.policy", "zzz"),
    ("log.retention.ms", "-1"),
    ("log.segment.bytes", "1000000"),
    ("max.connections.per.ip", "100"),
    ("message.max.bytes", "1048588"),
    ("message.max.bytes", "2097152"),
    ("metric.reporters", "x.Y"),
    ("num.io.threads", "100"),
    ("num.io.threads", "8"),
    ("unknown.x", "1"),
)
"""Without log.cleaner.threads=0, which both refuse with sentences that differ."""

DESCRIBED_TOPIC_KEYS: tuple[list[str] | None, ...] = (
    ["retention.ms", "segment.bytes", "compression.type"],
    ["unknown"],
    ["retention.ms"],
    ["log.retention.ms", "num.io.threads"],
    None,
)
DESCRIBED_BROKER_KEYS = ["log.segment.bytes", "message.max.bytes", "log.cleaner.threads"]


def draw_configs(draw: Draw, resource_type: int, count: int) -> list[tuple[str, str | None]]:
    """At most one bad one, and at most one for a broker: of several Apache names the first in the order of a hash map."""
    if resource_type == ConfigResourceType.BROKER:
        return [draw.choice(_BROKER_CONFIGS) for _ in range(min(count, 1))]
    pools = [_GOOD_TOPIC_CONFIGS + _BAD_TOPIC_CONFIGS] + [_GOOD_TOPIC_CONFIGS] * (count - 1)
    return [draw.choice(pool) for pool in pools[:count]]
