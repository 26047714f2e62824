"""Configs of KRaft mode: recognized, checked, and named in a warning if set."""

from __future__ import annotations

import re

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import EachOneOf, OneOf, at_least, between
from kafkapy.common.limits import MAX_INT, MAX_LONG
from kafkapy.common.wire_enums import ConfigType

BOOLEAN, STRING, INT, SHORT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.SHORT
LONG, LIST = ConfigType.LONG, ConfigType.LIST
HIGH, LOW = Importance.HIGH, Importance.LOW


class _Entries:
    def __init__(self, pattern: str, form: str) -> None:
        self.pattern = re.compile(pattern)
        self.form = form

    def __call__(self, name: str, value: list[str]) -> None:
        if not all(self.pattern.fullmatch(entry) for entry in value):
            raise ConfigException(
                f"Invalid configuration value for {name}. Each entry should be in the form `{self.form}`."
            )

    def __str__(self) -> str:
        return "non-empty list"


VOTERS = _Entries(r"[0-9]+@.+:[0-9]+", "{id}@{host}:{port}")
SERVERS = _Entries(r".+:[0-9]+", "{host}:{port}")


class KRaftConfigs(ConfigTable):
    broker_heartbeat_interval_ms: int = config(INT, 2000, None, "KRaft: time between two heartbeats of a broker.")
    broker_session_timeout_ms: int = config(
        INT, 9000, None, "KRaft: time without heartbeat after which a broker is fenced.")
    controller_listener_names: str | None = config(
        STRING, None, None, "KRaft: listeners of the controller; must be empty in ZooKeeper mode.", HIGH)
    controller_quorum_append_linger_ms: int = config(
        INT, 25, None, "KRaft: how long the leader gathers records before it writes them.")
    controller_quorum_bootstrap_servers: list[str] = config(
        LIST, "", SERVERS, "KRaft: addresses to find the quorum by.", HIGH)
    controller_quorum_election_backoff_max_ms: int = config(
        INT, 1000, None, "KRaft: longest wait before a new election.", HIGH)
    controller_quorum_election_timeout_ms: int = config(INT, 1000, None, "KRaft: longest wait for votes.", HIGH)
    controller_quorum_fetch_timeout_ms: int = config(
        INT, 2000, None, "KRaft: time without an answer of the leader after which a voter stands for election.", HIGH)
    controller_quorum_request_timeout_ms: int = config(
        INT, 2000, None, "KRaft: longest wait for an answer within the quorum.")
    controller_quorum_retry_backoff_ms: int = config(
        INT, 20, None, "KRaft: wait before a failed request is sent again.", LOW)
    controller_quorum_voters: list[str] = config(LIST, "", VOTERS, "KRaft: the voters, `id@host:port,...`.", HIGH)
    early_start_listeners: str | None = config(
        STRING, None, None, "KRaft: listeners that open before the broker is ready.", HIGH)
    eligible_leader_replicas_enable: bool = config(
        BOOLEAN, False, None, "KRaft: eligible leader replicas (KIP-966).", HIGH)
    group_consumer_assignors: list[str] = config(
        LIST,
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor,org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        None,
        "Consumer protocol (KIP-848): server-side assignors.")
    group_consumer_heartbeat_interval_ms: int = config(
        INT, 5000, at_least(1), "Consumer protocol (KIP-848): heartbeat interval given to members.")
    group_consumer_max_heartbeat_interval_ms: int = config(
        INT, 15000, at_least(1), "Consumer protocol (KIP-848): upper bound of the heartbeat interval.")
    group_consumer_max_session_timeout_ms: int = config(
        INT, 60000, at_least(1), "Consumer protocol (KIP-848): upper bound of the session timeout.")
    group_consumer_max_size: int = config(
        INT, MAX_INT, at_least(1), "Consumer protocol (KIP-848): members a group may have.")
    group_consumer_migration_policy: str = config(
        STRING, "disabled", OneOf("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL", case_insensitive=True),
        "Consumer protocol (KIP-848): conversion between classic and consumer groups.", internal=True)
    group_consumer_min_heartbeat_interval_ms: int = config(
        INT, 5000, at_least(1), "Consumer protocol (KIP-848): lower bound of the heartbeat interval.")
    group_consumer_min_session_timeout_ms: int = config(
        INT, 45000, at_least(1), "Consumer protocol (KIP-848): lower bound of the session timeout.")
    group_consumer_session_timeout_ms: int = config(
        INT, 45000, at_least(1), "Consumer protocol (KIP-848): session timeout of members.")
    group_coordinator_append_linger_ms: int = config(
        INT, 10, at_least(0), "New group coordinator: how long writes are gathered.")
    group_coordinator_new_enable: bool = config(
        BOOLEAN, False, None, "New group coordinator (KIP-848), KRaft only.", internal=True)
    group_coordinator_rebalance_protocols: list[str] = config(
        LIST, "classic", EachOneOf("consumer", "classic", "share", "unknown"),
        "Rebalance protocols that are on; ZooKeeper mode has `classic` only.")
    group_coordinator_threads: int = config(INT, 1, at_least(1), "New group coordinator: its threads.")
    group_share_delivery_count_limit: int = config(
        INT, 5, between(2, 10), "Share groups (KIP-932): tries to deliver a record.")
    group_share_enable: bool = config(BOOLEAN, False, None, "Share groups (KIP-932), KRaft only.", internal=True)
    group_share_heartbeat_interval_ms: int = config(
        INT, 5000, at_least(1), "Share groups (KIP-932): heartbeat interval.")
    group_share_max_groups: int = config(SHORT, 10, between(1, 100), "Share groups (KIP-932): most groups.")
    group_share_max_heartbeat_interval_ms: int = config(
        INT, 15000, at_least(1), "Share groups (KIP-932): upper bound of the heartbeat interval.")
    group_share_max_record_lock_duration_ms: int = config(
        INT, 60000, between(30000, 3600000), "Share groups (KIP-932): upper bound of a record's lock.")
    group_share_max_session_timeout_ms: int = config(
        INT, 60000, at_least(1), "Share groups (KIP-932): upper bound of the session timeout.")
    group_share_max_size: int = config(
        SHORT, 200, between(10, 1000), "Share groups (KIP-932): members a group may have.")
    group_share_min_heartbeat_interval_ms: int = config(
        INT, 5000, at_least(1), "Share groups (KIP-932): lower bound of the heartbeat interval.")
    group_share_min_record_lock_duration_ms: int = config(
        INT, 15000, between(1000, 30000), "Share groups (KIP-932): lower bound of a record's lock.")
    group_share_min_session_timeout_ms: int = config(
        INT, 45000, at_least(1), "Share groups (KIP-932): lower bound of the session timeout.")
    group_share_partition_max_record_locks: int = config(
        INT, 200, between(100, 10000), "Share groups (KIP-932): records of a partition that may be locked at once.")
    group_share_record_lock_duration_ms: int = config(
        INT, 30000, between(1000, 60000), "Share groups (KIP-932): how long a fetched record stays locked.")
    group_share_session_timeout_ms: int = config(INT, 45000, at_least(1), "Share groups (KIP-932): session timeout.")
    initial_broker_registration_timeout_ms: int = config(
        INT, 60000, None, "KRaft: longest wait for the first registration.")
    metadata_log_dir: str | None = config(STRING, None, None, "KRaft: directory of the metadata log.", HIGH)
    metadata_log_max_record_bytes_between_snapshots: int = config(
        LONG, 20971520, at_least(1), "KRaft: bytes of the metadata log between two snapshots.", HIGH)
    metadata_log_max_snapshot_interval_ms: int = config(
        LONG, 3600000, at_least(0), "KRaft: time between two snapshots.", HIGH)
    metadata_log_segment_bytes: int = config(
        INT, 1073741824, at_least(12), "KRaft: segment size of the metadata log.", HIGH)
    metadata_log_segment_min_bytes: int = config(
        INT, 8388608, at_least(12), "KRaft: least segment size of the metadata log.", HIGH, internal=True)
    metadata_log_segment_ms: int = config(LONG, 604800000, None, "KRaft: segment age of the metadata log.", HIGH)
    metadata_max_idle_interval_ms: int = config(
        INT, 500, at_least(0), "KRaft: period of the no-op records of an idle controller.", LOW)
    metadata_max_retention_bytes: int = config(LONG, 104857600, None, "KRaft: size at which old metadata goes.", HIGH)
    metadata_max_retention_ms: int = config(LONG, 604800000, None, "KRaft: age at which old metadata goes.", HIGH)
    node_id: int = config(INT, -1, None, "Name of broker.id in KRaft mode; has to be equal to it.", HIGH)
    process_roles: list[str] = config(
        LIST, "", EachOneOf("broker", "controller"),
        "KRaft roles; must be empty: this broker runs in ZooKeeper mode.", HIGH)
    sasl_mechanism_controller_protocol: str = config(
        STRING, "GSSAPI", None, "KRaft: SASL mechanism towards the controller.", HIGH)
    server_max_startup_time_ms: int = config(
        LONG, MAX_LONG, at_least(0), "KRaft: longest time a start may take.", internal=True)
    unclean_leader_election_interval_ms: int = config(
        LONG, 300000, at_least(1), "KRaft: period of the scan for leaderless partitions.", internal=True)
    unstable_api_versions_enable: bool = config(
        BOOLEAN, False, None, "KRaft: offer versions of APIs that are not final.", HIGH, internal=True)
    unstable_feature_versions_enable: bool = config(
        BOOLEAN, False, None, "KRaft: offer feature levels that are not final.", HIGH, internal=True)
    zookeeper_metadata_migration_enable: bool = config(BOOLEAN, False, None, "Migration from ZooKeeper to KRaft.", HIGH)
    zookeeper_metadata_migration_min_batch_size: int = config(
        INT, 200, at_least(1), "Migration from ZooKeeper to KRaft: least size of a batch.", internal=True)
