"""The result of a validation, in the form of the REST interface (Kafka's `ConfigInfos`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigKey, ConfigValue, convert_to_string


@dataclass(frozen=True)
class ConfigKeyInfo:
    """Convert the definition of a config; `prefix` is prepended to its name."""

    key: ConfigKey
    prefix: str = ""

    def to_json(self) -> dict[str, Any]:
        key = self.key
        return {
            "name": self.prefix + key.name,
            "type": key.type.name,
            "required": not key.has_default,
            "default_value": convert_to_string(key.default, key.type) if key.has_default else None,
            "importance": key.importance.name,
            "documentation": key.doc,
            "group": key.group,
            "width": key.width.name,
            "display_name": key.display_name,
            "dependents": list(key.dependents),
            "order": key.order_in_group,
        }


@dataclass(frozen=True)
class ConfigValueInfo:
    name: str
    value: str | None
    recommended_values: Sequence[str | None]
    errors: Sequence[str]
    visible: bool

    @classmethod
    def of(cls, value: ConfigValue, type: ConfigType | None, prefix: str = "") -> ConfigValueInfo:
        return cls(
            prefix + value.name,
            convert_to_string(value.value, type),
            [convert_to_string(each, type) for each in value.recommended_values],
            list(value.errors),
            value.visible,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "recommended_values": list(self.recommended_values),
            "errors": list(self.errors),
            "visible": self.visible,
        }


@dataclass(frozen=True)
class ConfigInfo:
    definition: ConfigKeyInfo | None
    value: ConfigValueInfo | None

    @property
    def errors(self) -> Sequence[str]:
        return () if self.value is None else self.value.errors

    def to_json(self) -> dict[str, Any]:
        return {
            "definition": None if self.definition is None else self.definition.to_json(),
            "value": None if self.value is None else self.value.to_json(),
        }


@dataclass(frozen=True)
class ConfigInfos:
    """The result of a validation. `error_count` counts client configs with errors, and all errors of other configs."""

    name: str
    error_count: int
    groups: Sequence[str]
    configs: Sequence[ConfigInfo]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "error_count": self.error_count,
            "groups": list(self.groups),
            "configs": [config.to_json() for config in self.configs],
        }


def generate_result(
    name: str, keys: Mapping[str, ConfigKey], values: Iterable[ConfigValue], groups: Sequence[str]
) -> ConfigInfos:
    """Combine definitions and values; the last value of a name wins.

    Args:
        name: The connector's class, as it was given.
        keys: The definitions.
        values: The results of validation. groups: All groups, in order.
    """
    by_name: dict[str, ConfigValue] = {}
    infos: list[ConfigInfo] = []
    errors = 0
    for value in values:
        by_name[value.name] = value
        if value.name not in keys:
            infos.append(ConfigInfo(None, ConfigValueInfo.of(value, None)))
            errors += len(value.errors)
    for key in keys.values():
        found = by_name.get(key.name)
        info = None if found is None else ConfigValueInfo.of(found, key.type)
        errors += 0 if found is None else len(found.errors)
        infos.append(ConfigInfo(ConfigKeyInfo(key), info))
    return ConfigInfos(name, errors, groups, infos)


def prefixed_infos(keys: Mapping[str, ConfigKey], values: Iterable[ConfigValue], prefix: str) -> ConfigInfos:
    """Combine definitions and values of a part of the connector, such as a converter or a client."""
    infos: list[ConfigInfo] = []
    groups: dict[str, None] = {}
    errors = 0
    for value in values:
        key = keys.get(value.name)
        if key is not None and key.group is not None:
            groups[key.group] = None
        errors += bool(value.errors)
        info = ConfigValueInfo.of(
            ConfigValue(value.name, value.value, value.recommended_values, value.errors),
            None if key is None else key.type,
            prefix,
        )
        infos.append(ConfigInfo(None if key is None else ConfigKeyInfo(key, prefix), info))
    return ConfigInfos("", errors, hash_map_order(groups), infos)


def merged(name: str, parts: Iterable[ConfigInfos | None]) -> ConfigInfos:
    found = [part for part in parts if part is not None]
    groups = dict.fromkeys(group for part in found for group in part.groups)
    return ConfigInfos(
        name,
        sum(part.error_count for part in found),
        list(groups),
        [config for part in found for config in part.configs],
    )
