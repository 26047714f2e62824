"""All values of a broker's configuration by name and type, and values derived from several configs."""

from __future__ import annotations

from typing import Any

from kafkapy.common import metadata_version
from kafkapy.common.broker import EndPoint
from kafkapy.common.limits import MAX_LONG
from kafkapy.log.log_config import LogConfig
from kafkapy.server.config.tables.coordinators import CoordinatorConfigs
from kafkapy.server.config.tables.general import GeneralConfigs
from kafkapy.server.config.tables.kraft import KRaftConfigs
from kafkapy.server.config.tables.logs import LogConfigs
from kafkapy.server.config.tables.network import NetworkConfigs
from kafkapy.server.config.tables.replication import ReplicationConfigs
from kafkapy.server.config.tables.security import SecurityConfigs
from kafkapy.server.config.tables.tiered_storage import TieredStorageConfigs

_MINUTE_MS = 60 * 1000
_HOUR_MS = 60 * _MINUTE_MS


class ConfigValues(
    GeneralConfigs,
    NetworkConfigs,
    LogConfigs,
    ReplicationConfigs,
    CoordinatorConfigs,
    SecurityConfigs,
    TieredStorageConfigs,
    KRaftConfigs,
):
    """Every config of a broker as a typed attribute: `log.segment.bytes` is `log_segment_bytes`.

    If a value is derived from others, the attribute below has the result (`listeners`: end points) and `raw_...` has
    the text.
    """

    originals: dict[str, str]
    """The explicitly set values by name: those of the file, overridden by dynamic configs."""
    zookeeper_connect: str
    """`host:port,host:port/chroot`."""
    listener_security_protocol_map: dict[str, str]
    """Listener name -> PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    listeners: list[EndPoint]
    """The addresses to listen on; host None means every interface."""
    advertised_listeners: list[EndPoint]
    """The addresses in ZooKeeper and metadata; one for each listener, or for some of them."""
    inter_broker_listener_name: str
    inter_broker_security_protocol: str
    control_plane_listener_name: str | None
    log_dirs: list[str]
    max_connections_per_ip_overrides: dict[str, int]
    """Host or address -> number of connections."""

    # Values derived from several configs

    @property
    def log_retention_time_millis(self) -> int:
        """log.retention.ms, else minutes, else hours; every negative value becomes -1: unlimited."""
        if self.log_retention_ms is not None:
            millis = self.log_retention_ms
        elif self.log_retention_minutes is not None:
            millis = self.log_retention_minutes * _MINUTE_MS
        else:
            millis = self.log_retention_hours * _HOUR_MS
        return max(millis, -1)

    @property
    def log_roll_time_millis(self) -> int:
        return self.log_roll_hours * _HOUR_MS if self.log_roll_ms is None else self.log_roll_ms

    @property
    def log_roll_time_jitter_millis(self) -> int:
        return self.log_roll_jitter_hours * _HOUR_MS if self.log_roll_jitter_ms is None else self.log_roll_jitter_ms

    @property
    def log_flush_time_millis(self) -> int:
        """log.flush.interval.ms, else log.flush.scheduler.interval.ms."""
        interval = self.log_flush_interval_ms
        return self.log_flush_scheduler_interval_ms if interval is None else interval

    @property
    def zk_connection_timeout_ms(self) -> int:
        timeout = self.zookeeper_connection_timeout_ms
        return self.zookeeper_session_timeout_ms if timeout is None else timeout

    @property
    def token_secret_key(self) -> str | None:
        """delegation.token.secret.key, else delegation.token.master.key; None if delegation tokens are off."""
        key = self.delegation_token_secret_key
        key = self.delegation_token_master_key if key is None else key
        return None if key is None or not key.value else key.value

    @property
    def effective_num_replica_alter_log_dirs_threads(self) -> int:
        threads = self.num_replica_alter_log_dirs_threads
        return len(self.log_dirs) if threads is None else threads

    def listener_value(self, listener_name: str, name: str) -> Any:
        """Return the value of `name` for one listener: `listener.name.<listener>.<name>` if set, else the general one."""
        return self.own_listener_value(listener_name, name, self.get(name))

    def own_listener_value(self, listener_name: str, name: str, default: Any) -> Any:
        """Return the value of `listener.name.<listener>.<name>`; `default` if it isn't set."""
        own = self.originals.get(f"listener.name.{listener_name.lower()}.{name}")
        return default if own is None else self.definition[name].parse(own)

    def log_config_defaults(self) -> LogConfig:
        """Return the configs of a topic without its own (Kafka's `extractLogConfigMap`)."""
        difference = self.log_message_timestamp_difference_max_ms
        before, after = self.log_message_timestamp_before_max_ms, self.log_message_timestamp_after_max_ms
        values = {
            name: self.get(key.synonyms[0]) for name, key in LogConfig.definition.items() if len(key.synonyms) == 1
        }
        values |= {
            "retention.ms": self.log_retention_time_millis,
            "segment.ms": self.log_roll_time_millis,
            "segment.jitter.ms": self.log_roll_time_jitter_millis,
            "flush.ms": self.log_flush_time_millis,
            "message.timestamp.before.max.ms": difference if before == MAX_LONG else before,
            "message.timestamp.after.max.ms": difference if after == MAX_LONG else after,
        }
        protocol_version = self.inter_broker_protocol_version
        if metadata_version.is_message_format_ignored(protocol_version):
            del values["message.format.version"]
        else:
            values["message.format.version"] = metadata_version.from_version_string(self.log_message_format_version)
        return LogConfig(values, zstd_supported=metadata_version.is_zstd_supported(protocol_version))
