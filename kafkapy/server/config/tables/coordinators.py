"""Groups, offsets and transactions."""

from __future__ import annotations

from kafkapy.common.config_def import Importance, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import at_least
from kafkapy.common.limits import MAX_INT
from kafkapy.common.wire_enums import ConfigType

BOOLEAN, INT, SHORT, LONG = ConfigType.BOOLEAN, ConfigType.INT, ConfigType.SHORT, ConfigType.LONG
HIGH, LOW = Importance.HIGH, Importance.LOW


class CoordinatorConfigs(ConfigTable):
    group_initial_rebalance_delay_ms: int = config(
        INT, 3000, None, "How long the first join of an empty group waits for more members.")
    group_max_session_timeout_ms: int = config(INT, 1800000, None, "Upper session-timeout bound.")
    group_max_size: int = config(INT, MAX_INT, at_least(1), "Members per group.")
    group_min_session_timeout_ms: int = config(INT, 6000, None, "Lower session-timeout bound.")
    offset_metadata_max_bytes: int = config(INT, 4096, None, "Longest metadata text of an offset commit, bytes.", HIGH)
    offsets_commit_required_acks: int = config(
        SHORT, -1, None, "Deprecated: acks an offset commit waits for; -1 is all in-sync replicas.", HIGH)
    offsets_commit_timeout_ms: int = config(
        INT, 5000, at_least(1), "How long an offset commit waits for its replication.", HIGH)
    offsets_load_buffer_size: int = config(
        INT, 5242880, at_least(1), "Bytes read at once when groups are loaded.", HIGH)
    offsets_retention_check_interval_ms: int = config(
        LONG, 600000, at_least(1), "Period of the check for offsets to expire.", HIGH)
    offsets_retention_minutes: int = config(
        INT, 10080, at_least(1), "How long offsets outlive their group's last member.", HIGH)
    offsets_topic_compression_codec: int = config(
        INT, 0, None, "Codec of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.", HIGH)
    offsets_topic_num_partitions: int = config(INT, 50, at_least(1), "Partitions of __consumer_offsets.", HIGH)
    offsets_topic_replication_factor: int = config(SHORT, 3, at_least(1), "Replicas of __consumer_offsets.", HIGH)
    offsets_topic_segment_bytes: int = config(INT, 104857600, at_least(1), "Segment size of __consumer_offsets.", HIGH)
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = config(
        INT, 10000, at_least(1), "Period of the check for transactions that have timed out.", LOW)
    transaction_max_timeout_ms: int = config(
        INT, 900000, at_least(1), "Longest timeout a producer may ask for its transactions.", HIGH)
    transaction_partition_verification_enable: bool = config(
        BOOLEAN, True, None,
        "Check with the transaction coordinator that a partition belongs to the transaction.", LOW, UpdateMode.CLUSTER_WIDE)
    transaction_remove_expired_transaction_cleanup_interval_ms: int = config(
        INT, 3600000, at_least(1), "Period of the check for transactional ids to expire.", LOW)
    transaction_state_log_load_buffer_size: int = config(
        INT, 5242880, at_least(1), "Bytes read at once when transactions are loaded.", HIGH)
    transaction_state_log_min_isr: int = config(
        INT, 2, at_least(1), "Min.insync.replicas of __transaction_state.", HIGH)
    transaction_state_log_num_partitions: int = config(INT, 50, at_least(1), "Partitions of __transaction_state.", HIGH)
    transaction_state_log_replication_factor: int = config(
        SHORT, 3, at_least(1), "Replicas of __transaction_state.", HIGH)
    transaction_state_log_segment_bytes: int = config(
        INT, 104857600, at_least(1), "Segment size of __transaction_state.", HIGH)
    transactional_id_expiration_ms: int = config(
        INT, 604800000, at_least(1), "How long an idle transactional id is kept.", HIGH)
