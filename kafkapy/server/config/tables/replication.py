"""Replication, the controller, controlled shutdown."""

from __future__ import annotations

from kafkapy.common.config_def import Importance, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import KnownVersion, at_least
from kafkapy.common.wire_enums import ConfigType

BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
HIGH, LOW = Importance.HIGH, Importance.LOW


class ReplicationConfigs(ConfigTable):
    auto_leader_rebalance_enable: bool = config(
        BOOLEAN, True, None, "Give leadership back to preferred replicas.", HIGH)
    controlled_shutdown_enable: bool = config(BOOLEAN, True, None, "Hand leaderships over before the broker stops.")
    controlled_shutdown_max_retries: int = config(INT, 3, None, "Tries of a controlled shutdown.")
    controlled_shutdown_retry_backoff_ms: int = config(LONG, 5000, None, "Wait between two such tries.")
    controller_quota_window_num: int = config(
        INT, 11, at_least(1), "Samples kept for the quota on partition changes.", LOW)
    controller_quota_window_size_seconds: int = config(
        INT, 1, at_least(1), "Length of one sample of the quota on partition changes, seconds.", LOW)
    controller_socket_timeout_ms: int = config(
        INT, 30000, None, "Socket timeout of the controller's connections to brokers.")
    default_replication_factor: int = config(
        INT, 1, None, "Replicas of topics that are made on first use, or where -1 is asked.")
    fetch_max_bytes: int = config(
        INT, 57671680, at_least(1024),
        "Most bytes of one fetch answer, whatever the client asks; one batch is always sent.")
    fetch_purgatory_purge_interval_requests: int = config(
        INT, 1000, None, "Completed fetches that may wait in purgatory to be purged.")
    inter_broker_protocol_version: str = config(
        STRING, "3.9-IV0", KnownVersion(), "Version of the protocol between brokers.")
    leader_imbalance_check_interval_seconds: int = config(
        LONG, 300, at_least(1), "Period of the check for preferred leaders, seconds.", HIGH)
    leader_imbalance_per_broker_percentage: int = config(
        INT, 10, None, "Share of partitions away from their preferred leader, per broker, that starts elections.", HIGH)
    num_replica_alter_log_dirs_threads: int | None = config(
        INT, None, None,
        "Threads that move replicas between data directories; unset takes the number of directories.", HIGH)
    num_replica_fetchers: int = config(
        INT, 1, None, "Fetcher threads for each broker that is followed.", HIGH, UpdateMode.CLUSTER_WIDE)
    replica_fetch_backoff_ms: int = config(INT, 1000, at_least(0), "How long a follower waits after a failed fetch.")
    replica_fetch_max_bytes: int = config(INT, 1048576, at_least(0), "Bytes a follower asks for per partition.")
    replica_fetch_min_bytes: int = config(INT, 1, None, "Bytes a follower waits for.", HIGH)
    replica_fetch_response_max_bytes: int = config(INT, 10485760, at_least(0), "Bytes a follower takes in one answer.")
    replica_fetch_wait_max_ms: int = config(
        INT, 500, None, "How long a follower waits for replica.fetch.min.bytes.", HIGH)
    replica_high_watermark_checkpoint_interval_ms: int = config(
        LONG, 5000, None, "Period of writing the high watermarks.", HIGH)
    replica_lag_time_max_ms: int = config(
        LONG, 30000, None, "How long a follower may not catch up before it leaves the in-sync replicas.", HIGH)
    replica_selector_class: str | None = config(
        STRING, None, None,
        "Plug-in that picks the replica a consumer reads from; "
        "org.apache.kafka.common.replica.RackAwareReplicaSelector picks its rack's.")
    replica_socket_receive_buffer_bytes: int = config(
        INT, 65536, None, "Receive buffer of the followers' connections.", HIGH)
    replica_socket_timeout_ms: int = config(INT, 30000, None, "Socket timeout between brokers.", HIGH)
    replication_quota_window_num: int = config(
        INT, 11, at_least(1), "Samples kept for the quotas of throttled replicas.", LOW)
    replication_quota_window_size_seconds: int = config(INT, 1, at_least(1), "Length of one such sample, seconds.", LOW)
    unclean_leader_election_enable: bool = config(
        BOOLEAN, False, None,
        "Let a replica that is not in sync lead when no other is left. Loses records.", HIGH, UpdateMode.CLUSTER_WIDE)
