"""The broker's configuration (Kafka's `KafkaConfig`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafkapy.common import metadata_version
from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException, Password, to_text
from kafkapy.log.log_config import LogConfig
from kafkapy.server.config import validation
from kafkapy.server.config.listeners import csv_list, csv_map, parse_end_points, security_protocol_map
from kafkapy.server.config.tables.coordinators import CoordinatorConfigs
from kafkapy.server.config.tables.general import GeneralConfigs
from kafkapy.server.config.tables.kraft import KRaftConfigs
from kafkapy.server.config.tables.logs import LogConfigs
from kafkapy.server.config.tables.network import NetworkConfigs
from kafkapy.server.config.tables.replication import ReplicationConfigs
from kafkapy.server.config.tables.security import SecurityConfigs
from kafkapy.server.config.tables.tiered_storage import TieredStorageConfigs

_MAX_LONG = (1 << 63) - 1
_MINUTE_MS = 60 * 1000
_HOUR_MS = 60 * _MINUTE_MS
_LISTENER_PREFIX = re.compile(r"listener\.name\.([^.]+)\.(.+)")


class KafkaConfig(
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

    Where a value must be worked out of others, the attribute below has the result (`listeners`: end points) and
    `raw_...` has the text.

    Invariant: the values fit together (`config_validation`). There is one object for the life of the broker; a dynamic
    change replaces its values on the reactor thread (`update_current_config`), so a reader always reads what holds now.
    """

    originals: dict[str, str]
    """What was set, by name: the file, and dynamic configs over it."""
    zookeeper_connect: str
    """`host:port,host:port/chroot`."""
    listener_security_protocol_map: dict[str, str]
    """Listener name -> PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    listeners: list[EndPoint]
    """Where to listen; host None is every interface."""
    advertised_listeners: list[EndPoint]
    """What ZooKeeper and metadata say; one for each listener, or for some of them."""
    inter_broker_listener_name: str
    inter_broker_security_protocol: str
    control_plane_listener_name: str | None
    log_dirs: list[str]
    max_connections_per_ip_overrides: dict[str, int]
    """Host or address -> number of connections."""

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> KafkaConfig:
        """The config that a properties file makes; `ConfigException` names the key, the value and what is allowed."""
        return cls(properties)

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.originals = _with_synonyms(properties)
        for name, value in self.definition.parse(self.originals).items():
            setattr(self, self.attributes[name], value)
        validation.validate_mode(self)
        self.zookeeper_connect = self.raw_zookeeper_connect or ""
        self._work_out_listeners()
        self.log_dirs = csv_list(self.log_dir if self.raw_log_dirs is None else self.raw_log_dirs)
        self.max_connections_per_ip_overrides = _connections_per_ip(self.raw_max_connections_per_ip_overrides)
        validation.validate_values(self)

    def update_current_config(self, new: KafkaConfig) -> None:
        """Take over the values of `new`, all at once; a generated broker.id stays."""
        broker_id = self.broker_id
        vars(self).update(vars(new))
        self.broker_id = broker_id

    def _work_out_listeners(self) -> None:
        self.listener_security_protocol_map = protocols = security_protocol_map(
            "listener.security.protocol.map", self.raw_listener_security_protocol_map
        )
        self.listeners = parse_end_points(self.raw_listeners, protocols)
        self.advertised_listeners = (
            self.listeners
            if self.raw_advertised_listeners is None
            else parse_end_points(self.raw_advertised_listeners, protocols, require_distinct_ports=False)
        )
        if self.raw_inter_broker_listener_name is None:
            self.inter_broker_security_protocol = self.security_inter_broker_protocol
            self.inter_broker_listener_name = self.security_inter_broker_protocol
        else:
            if "security.inter.broker.protocol" in self.originals:
                raise ConfigException(
                    "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set."
                )
            self.inter_broker_listener_name = self.raw_inter_broker_listener_name.upper()
            if self.inter_broker_listener_name not in protocols:
                raise ConfigException(
                    f"Listener with name {self.inter_broker_listener_name} defined in inter.broker.listener.name "
                    "not found in listener.security.protocol.map."
                )
            self.inter_broker_security_protocol = protocols[self.inter_broker_listener_name]
        self.control_plane_listener_name = None
        if self.raw_control_plane_listener_name is not None:
            self.control_plane_listener_name = self.raw_control_plane_listener_name.upper()
            if self.control_plane_listener_name not in protocols:
                raise ConfigException(
                    f"Listener with {self.control_plane_listener_name} defined in control.plane.listener.name "
                    "not found in listener.security.protocol.map."
                )

    # What holds when several configs speak of one thing

    @property
    def data_plane_listeners(self) -> list[EndPoint]:
        return [e for e in self.listeners if e.listener_name != self.control_plane_listener_name]

    @property
    def control_plane_listener(self) -> EndPoint | None:
        return next((e for e in self.listeners if e.listener_name == self.control_plane_listener_name), None)

    @property
    def log_retention_time_millis(self) -> int:
        """log.retention.ms, else minutes, else hours; every negative value is -1: for ever."""
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
    def effective_num_replica_alter_log_dirs_threads(self) -> int:
        threads = self.num_replica_alter_log_dirs_threads
        return len(self.log_dirs) if threads is None else threads

    def listener_value(self, listener_name: str, name: str) -> Any:
        """The value of `name` for one listener: `listener.name.<listener>.<name>` where set, else the general one."""
        return self.own_listener_value(listener_name, name, self.get(name))

    def own_listener_value(self, listener_name: str, name: str, default: Any) -> Any:
        """The value of `listener.name.<listener>.<name>`; `default` where it isn't set."""
        own = self.originals.get(f"listener.name.{listener_name.lower()}.{name}")
        return default if own is None else self.definition[name].parse(own)

    # For others

    def log_config_defaults(self) -> LogConfig:
        """What holds for a topic without configs of its own (Kafka's `extractLogConfigMap`)."""
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
            "message.timestamp.before.max.ms": difference if before == _MAX_LONG else before,
            "message.timestamp.after.max.ms": difference if after == _MAX_LONG else after,
        }
        protocol_version = self.inter_broker_protocol_version
        if metadata_version.is_message_format_ignored(protocol_version):
            del values["message.format.version"]
        else:
            values["message.format.version"] = metadata_version.from_version_string(self.log_message_format_version)
        return LogConfig(values, zstd_supported=metadata_version.is_zstd_supported(protocol_version))

    def values_text(self) -> str:
        """What is set, for the log: `name = value` in the order of names, secrets hidden."""
        shown = {
            name: to_text(self.get(name)) if name in self.definition else Password.HIDDEN if _secret(name) else value
            for name, value in self.originals.items()
        }
        return ", ".join(f"{name} = {shown[name]}" for name in sorted(shown))


def base_name(name: str) -> str:
    """The config behind a listener's form of it: `listener.name.<listener>.[<mechanism>.]<config>` -> `<config>`."""
    match = _LISTENER_PREFIX.fullmatch(name)
    if not match:
        return name
    config = match[2]
    if config not in KafkaConfig.definition and "." in config:
        mechanism_config = config.partition(".")[2]
        if mechanism_config in KafkaConfig.definition:
            return mechanism_config
    return config


def _secret(name: str) -> bool:
    """A config that is not known may be a secret of a plug-in: it is not shown, as Kafka does."""
    key = KafkaConfig.definition.get(base_name(name))
    return key is None or key.type.name == "PASSWORD"


def _with_synonyms(properties: Mapping[str, str]) -> dict[str, str]:
    originals = dict(properties)
    if "broker.id" in originals:
        originals.setdefault("node.id", originals["broker.id"])
    elif "node.id" in originals:
        originals["broker.id"] = originals["node.id"]
    return originals


def _connections_per_ip(text: str) -> dict[str, int]:
    name = "max.connections.per.ip.overrides"
    overrides = {}
    for address, count in csv_map(name, text).items():
        if not re.fullmatch(r"[+-]?[0-9]+", count):
            raise ConfigException.invalid(name, text, f"{count} is not a number of connections")
        overrides[address] = int(count)
    return overrides
