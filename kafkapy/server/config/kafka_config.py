"""The broker's configuration (Kafka's `KafkaConfig`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafkapy.common.config_def import ConfigException, Password, to_text
from kafkapy.server.config import validation
from kafkapy.server.config.config_values import ConfigValues
from kafkapy.server.config.listeners import csv_list, csv_map, parse_end_points, security_protocol_map

_LISTENER_PREFIX = re.compile(r"listener\.name\.([^.]+)\.(.+)")


class KafkaConfig(ConfigValues):
    """A broker's configuration from its properties.

    Invariant: the values are consistent (`validation`). There is one object for the life of the broker; a dynamic
    change replaces its values on the reactor thread (`update_current_config`), so readers always get current values.
    """

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> KafkaConfig:
        """Create the config of a properties file; `ConfigException` names the key, the value and what is allowed."""
        return cls(properties)

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.originals = _with_synonyms(properties)
        for name, value in self.definition.parse(self.originals).items():
            setattr(self, self.attributes[name], value)
        self._check_listener_values()
        validation.validate_mode(self)
        self.zookeeper_connect = self.raw_zookeeper_connect or ""
        self._work_out_listeners()
        self.log_dirs = csv_list(self.log_dir if self.raw_log_dirs is None else self.raw_log_dirs)
        self.max_connections_per_ip_overrides = _connections_per_ip(self.raw_max_connections_per_ip_overrides)
        validation.validate_values(self)

    def update_current_config(self, new: KafkaConfig) -> None:
        """Take over the values of `new` atomically; a generated broker.id remains."""
        broker_id = self.broker_id
        vars(self).update(vars(new))
        self.broker_id = broker_id

    def _check_listener_values(self) -> None:
        for name, value in self.originals.items():
            key = self.definition.get(base_name(name))
            if key is not None and key.name != name:
                key.parse(value, name)

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

    def values_text(self) -> str:
        """Return the set values for the log: `name = value`, ordered by name, with secrets hidden."""
        shown = {
            name: to_text(self.get(name)) if name in self.definition else Password.HIDDEN if _secret(name) else value
            for name, value in self.originals.items()
        }
        return ", ".join(f"{name} = {shown[name]}" for name in sorted(shown))


def base_name(name: str) -> str:
    """Return the config of a listener's form: `listener.name.<listener>.[<mechanism>.]<config>` -> `<config>`."""
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
    """Unknown configs may be secrets of plug-ins, so they are hidden, as in Kafka."""
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
