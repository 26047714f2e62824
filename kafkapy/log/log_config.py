"""The configs of a topic (Kafka's `LogConfig`, KIP-226 topic level)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common import metadata_version
from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import (
    EachOneOf,
    KnownVersion,
    OneOf,
    RangeOr,
    ThrottledReplicas,
    at_least,
    between,
)
from kafkapy.common.limits import MAX_LONG
from kafkapy.common.wire_enums import ConfigType
from kafkapy.log import schema_configs
from kafkapy.protocol.errors import Errors, KafkaError

BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
DOUBLE, LIST = ConfigType.DOUBLE, ConfigType.LIST

DAY_MS: Final = 24 * 60 * 60 * 1000
WEEK_MS: Final = 7 * DAY_MS


class LogConfig(ConfigTable, slots=True):
    """The configs of one topic: its own (`overridden`), and the broker's defaults for the others.

    Invariant: immutable, so logs share it; a change of configs gives each log a new one.
    """

    __slots__ = ("compact", "delete", "overridden", "record_version", "value_schema_subjects", "zstd_supported")

    cleanup_policy: list[str] = config(
        LIST, "delete", EachOneOf("compact", "delete"),
        "What becomes of old segments: `delete` drops them after "
        "retention.ms or retention.bytes, `compact` keeps the latest record of every key; both together do both.",
        synonyms=("log.cleanup.policy",))
    compression_gzip_level: int = config(
        INT, -1, RangeOr(1, 9, -1),
        "The gzip level the broker compresses with; -1 is gzip's own default.", synonyms=("compression.gzip.level",))
    compression_lz4_level: int = config(
        INT, 9, between(1, 17), "The lz4 level the broker compresses with.", synonyms=("compression.lz4.level",))
    compression_type: str = config(
        STRING, "producer", OneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "The codec records are stored with. `producer` keeps each batch as its producer sent it.",
        synonyms=("compression.type",))
    compression_zstd_level: int = config(
        INT, 3, between(-131072, 22),
        "The zstd level the broker compresses with.", synonyms=("compression.zstd.level",))
    delete_retention_ms: int = config(
        LONG, DAY_MS, at_least(0),
        "How long a tombstone (and a transaction marker) of a compacted topic outlives the "
        "first cleaning that saw it: a reader that starts at offset 0 has this long to see all deletes.",
        synonyms=("log.cleaner.delete.retention.ms",))
    file_delete_delay_ms: int = config(
        LONG, 60000, at_least(0),
        "How long a dropped segment stays on disk under its .deleted name.", synonyms=("log.segment.delete.delay.ms",))
    flush_messages: int = config(
        LONG, MAX_LONG, at_least(1),
        "Fsync after so many messages. Replication is what keeps records safe, so the "
        "default leaves it to the operating system.", synonyms=("log.flush.interval.messages",))
    flush_ms: int = config(
        LONG, MAX_LONG, at_least(0),
        "Fsync what is older than this.", synonyms=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"))
    follower_replication_throttled_replicas: list[str] = config(
        LIST, "", ThrottledReplicas(),
        "The replicas whose fetching is throttled when they follow: "
        "`partition:broker,...`, or `*` for all of the topic.")
    index_interval_bytes: int = config(
        INT, 4096, at_least(0),
        "Bytes of records between two entries of the offset index.", synonyms=("log.index.interval.bytes",))
    leader_replication_throttled_replicas: list[str] = config(
        LIST, "", ThrottledReplicas(),
        "The replicas whose sending is throttled when they lead: `partition:broker,...`, or `*` for all of the topic.")
    local_retention_bytes: int = config(
        LONG, -2, at_least(-2),
        "Tiered storage: bytes kept on the broker's disk; -2 takes retention.bytes.",
        synonyms=("log.local.retention.bytes",))
    local_retention_ms: int = config(
        LONG, -2, at_least(-2),
        "Tiered storage: how long records stay on the broker's disk; -2 takes retention.ms.",
        synonyms=("log.local.retention.ms",))
    max_compaction_lag_ms: int = config(
        LONG, MAX_LONG, at_least(1),
        "The age at which a record must have become open to compaction.",
        synonyms=("log.cleaner.max.compaction.lag.ms",))
    max_message_bytes: int = config(
        INT, 1048588, at_least(0),
        "The largest batch accepted, as it is stored (after compression).", synonyms=("message.max.bytes",))
    message_downconversion_enable: bool = config(
        BOOLEAN, True, None,
        "Whether records are converted for consumers that only know an older message format.",
        Importance.LOW, synonyms=("log.message.downconversion.enable",))
    message_format_version: str = config(
        STRING, "3.0-IV1", KnownVersion(),
        "Deprecated, and without effect from inter.broker.protocol.version 3.0 on: "
        "records are stored in the message format of this version of Kafka.", synonyms=("log.message.format.version",))
    message_timestamp_after_max_ms: int = config(
        LONG, MAX_LONG, at_least(0),
        "How far a record's CreateTime may lie after the broker's clock.",
        synonyms=("log.message.timestamp.after.max.ms",))
    message_timestamp_before_max_ms: int = config(
        LONG, MAX_LONG, at_least(0),
        "How far a record's CreateTime may lie before the broker's clock.",
        synonyms=("log.message.timestamp.before.max.ms",))
    message_timestamp_difference_max_ms: int = config(
        LONG, MAX_LONG, at_least(0),
        "Deprecated: both of the above at once, where they are not set.",
        synonyms=("log.message.timestamp.difference.max.ms",))
    message_timestamp_type: str = config(
        STRING, "CreateTime", OneOf("CreateTime", "LogAppendTime"),
        "Whether a record's timestamp is its producer's or the time of its append.",
        synonyms=("log.message.timestamp.type",))
    min_cleanable_dirty_ratio: float = config(
        DOUBLE, 0.5, between(0, 1),
        "The share of not yet compacted bytes from which on the cleaner takes a log.",
        synonyms=("log.cleaner.min.cleanable.ratio",))
    min_compaction_lag_ms: int = config(
        LONG, 0, at_least(0),
        "How long a record stays out of compaction.", synonyms=("log.cleaner.min.compaction.lag.ms",))
    min_insync_replicas: int = config(
        INT, 1, at_least(1),
        "In-sync replicas that a write with acks=all needs; with fewer it is refused.",
        synonyms=("min.insync.replicas",))
    preallocate: bool = config(
        BOOLEAN, False, None, "Whether a new segment's file gets its full size at once.", synonyms=("log.preallocate",))
    remote_log_copy_disable: bool = config(
        BOOLEAN, False, None, "Tiered storage: make the remote part read-only. Refused in ZooKeeper mode.")
    remote_log_delete_on_disable: bool = config(
        BOOLEAN, False, None, "Tiered storage: drop the remote part when switched off. Refused in ZooKeeper mode.")
    remote_storage_enable: bool = config(BOOLEAN, False, None, "Tiered storage for this topic.")
    retention_bytes: int = config(
        LONG, -1, None,
        "Bytes that a partition may grow to before its oldest segments go; -1 is without limit.",
        synonyms=("log.retention.bytes",))
    retention_ms: int = config(
        LONG, WEEK_MS, at_least(-1),
        "How long records are kept; -1 is for ever.",
        synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours"))
    segment_bytes: int = config(
        INT, 1 << 30, at_least(14), "The size at which a log begins a new segment.", synonyms=("log.segment.bytes",))
    segment_index_bytes: int = config(
        INT, 10 << 20, at_least(4),
        "The size an index file is made with; a full index begins a new segment.",
        synonyms=("log.index.size.max.bytes",))
    segment_jitter_ms: int = config(
        LONG, 0, at_least(0),
        "A random part that is taken off segment.ms, so that not all logs roll at once.",
        synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours"))
    segment_ms: int = config(
        LONG, WEEK_MS, at_least(1),
        "The age at which a log begins a new segment, by the timestamps of its records.",
        synonyms=("log.roll.ms", "log.roll.hours"))
    unclean_leader_election_enable: bool = config(
        BOOLEAN, False, None,
        "Whether a replica that is not in sync may lead when no other is left. Loses records.",
        synonyms=("unclean.leader.election.enable",))

    compact: bool
    """Whether `cleanup.policy` contains compact."""
    delete: bool
    """Whether `cleanup.policy` contains delete."""
    record_version: int
    """The message format of stored records: 0, 1 or 2, by `message.format.version`."""
    zstd_supported: bool
    """Whether all brokers of the cluster support zstd: inter.broker.protocol.version is 2.1 or above."""
    overridden: frozenset[str]
    """Names of the topic's own configs."""
    value_schema_subjects: tuple[str, ...] | None
    """The subjects whose schemas values must have; None: values are not validated (`schema_configs.py`)."""

    def __init__(
        self,
        values: Mapping[str, Any],
        overridden: frozenset[str] = frozenset(),
        zstd_supported: bool = True,
        value_schema_subjects: tuple[str, ...] | None = None,
    ) -> None:
        """`values`: typed values by config name; Kafka's default is used for missing ones."""
        for name, attribute in self.attributes.items():
            setattr(self, attribute, values[name] if name in values else self.definition[name].default)
        self.compact = "compact" in self.cleanup_policy
        self.delete = "delete" in self.cleanup_policy
        self.record_version = metadata_version.record_version(self.message_format_version)
        self.zstd_supported = zstd_supported
        self.overridden = overridden
        self.value_schema_subjects = value_schema_subjects

    @classmethod
    def from_overrides(cls, broker_defaults: LogConfig, overrides: Mapping[str, object]) -> LogConfig:
        """Return a topic's config: `overrides` (text or typed values by name) over the broker's defaults.

        Unknown names are ignored, because a newer broker may have written them. `ConfigException` if a value is
        invalid.
        """
        own = {name: cls.definition[name].parse(value) for name, value in overrides.items() if name in cls.definition}
        subjects = schema_configs.subjects_of(overrides)
        if not own and not broker_defaults.overridden and subjects is None:
            return broker_defaults
        return cls({**broker_defaults.values(), **own}, frozenset(own), broker_defaults.zstd_supported, subjects)

    def random_segment_jitter(self) -> int:
        """Return the reduction of `segment_ms` for one segment, ms."""
        if self.segment_jitter_ms == 0:
            return 0
        return random.randrange(1 << 31) % min(self.segment_jitter_ms, self.segment_ms)

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment rolls, ms; a compacted log rolls early enough to be cleaned in time."""
        return min(self.max_compaction_lag_ms, self.segment_ms) if self.compact else self.segment_ms

    @property
    def init_file_size(self) -> int:
        """The initial size of a segment's file, bytes."""
        return self.segment_bytes if self.preallocate else 0


def check_topic_configs(
    overrides: Mapping[str, str | None], broker_defaults: LogConfig | None = None, tiered_storage: bool = False
) -> None:
    """Refuse invalid topic configs.

    Args:
        overrides: The topic's own configs by name.
        broker_defaults: The values of all other configs; None (default): Kafka's defaults.
        tiered_storage: Whether the broker has tiered storage enabled; default False.

    Raises:
        KafkaError: INVALID_CONFIG with a message, as from Kafka's `LogConfig.validate`.
        ConfigException: a value is invalid for its config.
    """
    for name in overrides:
        if name not in LogConfig.definition and name not in schema_configs.CONFIGS:
            raise KafkaError(Errors.INVALID_CONFIG, f"Unknown topic config name: {name}")
    values = broker_defaults.values() if broker_defaults else LogConfig.definition.parse({})
    schema_configs.check(overrides)
    for name, value in overrides.items():
        if name not in schema_configs.CONFIGS:
            values[name] = LogConfig.definition[name].parse(value)
    least, most = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if least > most:
        raise KafkaError(
            Errors.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})",
        )
    if values["remote.log.delete.on.disable"] or values["remote.log.copy.disable"]:
        raise KafkaError(
            Errors.INVALID_CONFIG,
            "It is invalid to set `remote.log.delete.on.disable` or `remote.log.copy.disable` under Zookeeper's mode.",
        )
    if values["remote.storage.enable"] and not tiered_storage:
        raise ConfigException(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
