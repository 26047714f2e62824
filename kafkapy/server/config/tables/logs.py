"""Logs, their retention and cleaning; most are the defaults of a topic config."""

from __future__ import annotations

import sys

from kafkapy.common.config_def import Importance, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import EachOneOf, KnownVersion, OneOf, RangeOr, at_least, between
from kafkapy.common.limits import MAX_LONG
from kafkapy.common.wire_enums import ConfigType

BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
DOUBLE, LIST, CLASS = ConfigType.DOUBLE, ConfigType.LIST, ConfigType.CLASS
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
MAX_DOUBLE = sys.float_info.max


class LogConfigs(ConfigTable):
    auto_create_topics_enable: bool = config(BOOLEAN, True, None, "Make a topic when it is first asked for.", HIGH)
    compression_gzip_level: int = config(
        INT, -1, RangeOr(1, 9, -1),
        "The gzip level where the broker compresses; -1 is gzip's own default.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    compression_lz4_level: int = config(
        INT, 9, between(1, 17), "The lz4 level where the broker compresses.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    compression_type: str = config(
        STRING, "producer", OneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "Default topic compression; producer = keep the producer's.", HIGH, UpdateMode.CLUSTER_WIDE)
    compression_zstd_level: int = config(
        INT, 3, between(-131072, 22), "The zstd level where the broker compresses.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    create_topic_policy_class_name: str | None = config(CLASS, None, None, "Plug-in that may refuse new topics.", LOW)
    log_cleaner_backoff_ms: int = config(
        LONG, 15000, at_least(0), "Sleep when nothing to clean.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_dedupe_buffer_size: int = config(
        LONG, 134217728, None,
        "Memory for the offset maps of all cleaner threads, bytes.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_delete_retention_ms: int = config(
        LONG, 86400000, at_least(0),
        "How long tombstones and transaction markers outlive their first cleaning.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_enable: bool = config(
        BOOLEAN, True, None, "Run the log cleaner; needed for compacted topics, __consumer_offsets among them.")
    log_cleaner_io_buffer_load_factor: float = config(
        DOUBLE, 0.9, None, "Share of the offset map that may be filled.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_io_buffer_size: int = config(
        INT, 524288, at_least(0),
        "Memory for the I/O buffers of all cleaner threads, bytes.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_io_max_bytes_per_second: float = config(
        DOUBLE, MAX_DOUBLE, None,
        "Read plus write rate of the cleaner that is not exceeded.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_max_compaction_lag_ms: int = config(
        LONG, MAX_LONG, at_least(1),
        "The age at which a record must have become open to compaction.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_min_cleanable_ratio: float = config(
        DOUBLE, 0.5, between(0, 1), "Dirty ratio that makes a log cleanable.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_min_compaction_lag_ms: int = config(
        LONG, 0, at_least(0), "How long a record stays out of compaction.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleaner_threads: int = config(INT, 1, at_least(0), "Cleaner threads.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_cleanup_policy: list[str] = config(
        LIST, "delete", EachOneOf("compact", "delete"),
        "What becomes of old segments: `delete`, `compact` or both.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_dir: str = config(STRING, "/tmp/kafka-logs", None, "Directory of the data, where log.dirs is unset.", HIGH)
    log_dir_failure_timeout_ms: int = config(
        LONG, 30000, at_least(1),
        "KRaft: time to tell the controller of a failed data directory before the broker stops.", LOW)
    raw_log_dirs: str | None = config(
        STRING, None, None, "Directories of the data, separated by commas.", HIGH, name="log.dirs")
    log_flush_interval_messages: int = config(
        LONG, MAX_LONG, at_least(1), "Fsync a log after so many messages.", HIGH, UpdateMode.CLUSTER_WIDE)
    log_flush_interval_ms: int | None = config(
        LONG, None, None,
        "Fsync a log whose records are older; unset takes log.flush.scheduler.interval.ms.", HIGH, UpdateMode.CLUSTER_WIDE)
    log_flush_offset_checkpoint_interval_ms: int = config(
        INT, 60000, at_least(0), "Period of writing the recovery points.", HIGH)
    log_flush_scheduler_interval_ms: int = config(LONG, MAX_LONG, None, "Period of the check for logs to fsync.", HIGH)
    log_flush_start_offset_checkpoint_interval_ms: int = config(
        INT, 60000, at_least(0), "Period of writing the log start offsets.", HIGH)
    log_index_interval_bytes: int = config(
        INT, 4096, at_least(0), "Bytes between index entries.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_index_size_max_bytes: int = config(
        INT, 10485760, at_least(4), "Size an index file is made with, bytes.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_initial_task_delay_ms: int = config(
        LONG, 30000, at_least(0),
        "Wait before the log manager's periodic tasks run for the first time.", LOW, internal=True)
    log_message_downconversion_enable: bool = config(
        BOOLEAN, True, None,
        "Convert records for consumers that only know an older message format.", LOW, UpdateMode.CLUSTER_WIDE)
    log_message_format_version: str = config(
        STRING, "3.0-IV1", KnownVersion(),
        "Deprecated, and without effect from inter.broker.protocol.version 3.0 on: records are stored in the message "
        "format of this version of Kafka.")
    log_message_timestamp_after_max_ms: int = config(
        LONG, MAX_LONG, at_least(0),
        "How far a record's CreateTime may lie after the broker's clock.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_message_timestamp_before_max_ms: int = config(
        LONG, MAX_LONG, at_least(0),
        "How far a record's CreateTime may lie before the broker's clock.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_message_timestamp_difference_max_ms: int = config(
        LONG, MAX_LONG, at_least(0),
        "Deprecated: both of the above at once, where they are not set.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_message_timestamp_type: str = config(
        STRING, "CreateTime", OneOf("CreateTime", "LogAppendTime"),
        "Whether a record's timestamp is its producer's or the time of its append.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_preallocate: bool = config(BOOLEAN, False, None, "Preallocate segment files.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_retention_bytes: int = config(
        LONG, -1, None,
        "Bytes that a partition may grow to before its oldest segments go; -1 is without limit.", HIGH, UpdateMode.CLUSTER_WIDE)
    log_retention_check_interval_ms: int = config(
        LONG, 300000, at_least(1), "Period of the check for segments to drop.")
    log_retention_hours: int = config(
        INT, 168, None, "How long records are kept, hours; log.retention.minutes and log.retention.ms go first.", HIGH)
    log_retention_minutes: int | None = config(
        INT, None, None,
        "How long records are kept, minutes; log.retention.ms goes first; unset takes the hours.", HIGH)
    log_retention_ms: int | None = config(
        LONG, None, None,
        "How long records are kept; -1 is for ever; unset takes the minutes.", HIGH, UpdateMode.CLUSTER_WIDE)
    log_roll_hours: int = config(
        INT, 168, at_least(1), "Age at which a log begins a new segment, hours; log.roll.ms goes first.", HIGH)
    log_roll_jitter_hours: int = config(
        INT, 0, at_least(0), "Random part taken off the roll time, hours; log.roll.jitter.ms goes first.", HIGH)
    log_roll_jitter_ms: int | None = config(
        LONG, None, None, "Random part taken off the roll time; unset takes the hours.", HIGH, UpdateMode.CLUSTER_WIDE)
    log_roll_ms: int | None = config(
        LONG, None, None,
        "Age at which a log begins a new segment; unset takes the hours.", HIGH, UpdateMode.CLUSTER_WIDE)
    log_segment_bytes: int = config(
        INT, 1073741824, at_least(14), "The size at which a log begins a new segment.", HIGH, UpdateMode.CLUSTER_WIDE)
    log_segment_delete_delay_ms: int = config(
        LONG, 60000, at_least(0),
        "How long a dropped segment stays on disk under its .deleted name.", HIGH, UpdateMode.CLUSTER_WIDE)
    message_max_bytes: int = config(
        INT, 1048588, at_least(0),
        "The largest batch accepted, as it is stored (after compression).", HIGH, UpdateMode.CLUSTER_WIDE)
    min_insync_replicas: int = config(
        INT, 1, at_least(1), "In-sync replicas that a write with acks=all needs.", HIGH, UpdateMode.CLUSTER_WIDE)
    num_partitions: int = config(INT, 1, at_least(1), "Partitions of a topic that is made on first use.")
    num_recovery_threads_per_data_dir: int = config(
        INT, 1, at_least(1),
        "Threads per data directory that load logs at start and flush them at shutdown.", HIGH, UpdateMode.CLUSTER_WIDE)
    producer_id_expiration_check_interval_ms: int = config(
        INT, 600000, at_least(1), "Period of the scan for producer ids that have expired.", LOW, internal=True)
    producer_id_expiration_ms: int = config(
        INT, 86400000, at_least(1), "How long the state of an idle producer id is kept.", LOW, UpdateMode.CLUSTER_WIDE)
