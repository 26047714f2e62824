"""Definitions of configs: name, type, default, validator (Kafka's `ConfigDef`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

from kafkapy.common.java_text import java_double, java_trim
from kafkapy.common.wire_enums import ConfigType

Validator = Callable[[str, Any], None]
"""Called with name and parsed value; raises `ConfigException`. Its `str` describes the allowed values."""


class ConfigException(ValueError):
    """An invalid config; the message names the key, the value and what is allowed.

    The message may be sent to a client, so it is Kafka's where Kafka has one. `advice` is shown in errors at start-up
    only (see `with_advice`).
    """

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice
        self.config: str | None = None
        """Name of the config whose value is wrong, if it is one."""

    @property
    def with_advice(self) -> str:
        return f"{str(self).removesuffix('.')}. {self.advice}" if self.advice else str(self)

    @classmethod
    def invalid(cls, name: str, value: object, reason: str = "") -> ConfigException:
        """Make the exception for an invalid value."""
        shown = f"[{', '.join(value)}]" if isinstance(value, list) else to_text(value)
        error = cls(f"Invalid value {shown} for configuration {name}" + (f": {reason}" if reason else ""))
        error.config = name
        return error


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class UpdateMode(Enum):
    """Whether a broker config can be changed while the broker runs (KIP-226).

    The values are those of Kafka's reference.
    """

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Password:
    """A secret that logs and messages show as `[hidden]`; `value` is the text."""

    HIDDEN: Final = "[hidden]"
    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return self.HIDDEN


class ConfigKey:
    """The definition of a config. `default` is a typed value.

    `synonyms` are the broker configs that a topic config inherits from; the first one that is set wins.
    """

    __slots__ = ("default", "doc", "importance", "internal", "mode", "name", "synonyms", "type", "validator")

    def __init__(
        self,
        name: str,
        type: ConfigType,
        default: object,
        doc: str = "",
        validator: Validator | None = None,
        importance: Importance = Importance.MEDIUM,
        mode: UpdateMode = UpdateMode.READ_ONLY,
        internal: bool = False,
        synonyms: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.type = type
        self.default = parse_type(name, default, type) if isinstance(default, str) else default
        self.doc = doc
        self.validator = validator
        self.importance = importance
        self.mode = mode
        self.internal = internal
        self.synonyms = synonyms

    def parse(self, value: object, name: str | None = None) -> Any:
        """Return `value` (text or typed) as a value of this key's type.

        `name`: the name in error messages, if it differs from the key's.

        Raises:
            ConfigException: the value is not allowed.
        """
        name = name or self.name
        parsed = parse_type(name, value, self.type)
        if self.validator is not None:
            self.validator(name, parsed)
        return parsed

    def __repr__(self) -> str:
        return f"ConfigKey({self.name})"


class ConfigDef(Mapping[str, ConfigKey]):
    """Definitions of configs by name, in the order of definition."""

    def __init__(self, keys: Mapping[str, ConfigKey]) -> None:
        self._keys = dict(keys)

    def __getitem__(self, name: str) -> ConfigKey:
        return self._keys[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def parse(self, properties: Mapping[str, object]) -> dict[str, Any]:
        """Return the typed value of every key, from `properties` or its default. Unknown names are ignored."""
        return {
            name: key.parse(properties[name]) if name in properties else key.default for name, key in self._keys.items()
        }


_NUMBER_RANGES = {
    ConfigType.SHORT: (-(1 << 15), (1 << 15) - 1),
    ConfigType.INT: (-(1 << 31), (1 << 31) - 1),
    ConfigType.LONG: (-(1 << 63), (1 << 63) - 1),
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?")
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")


def parse_type(name: str, value: object, type: ConfigType) -> Any:
    """Return `value` as a value of `type`. Text is trimmed first; None and typed values are returned as they are."""
    if not isinstance(value, str):
        return value
    text = java_trim(value)
    match type:
        case ConfigType.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise ConfigException.invalid(name, value, "Expected value to be either true or false")
            return text.lower() == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            lowest, highest = _NUMBER_RANGES[type]
            if not _INTEGER.fullmatch(text) or not lowest <= int(text) <= highest:
                raise ConfigException.invalid(name, value, f"Not a number of type {type.name}")
            return int(text)
        case ConfigType.DOUBLE:
            number = _DOUBLE.fullmatch(text)
            if not number:
                raise ConfigException.invalid(name, value, f"Not a number of type {type.name}")
            return float(number[1])
        case ConfigType.LIST:
            return _COMMA.split(text) if text else []
        case ConfigType.PASSWORD:
            return Password(text)
        case _:
            return text


def to_text(value: object) -> str:
    """Format a typed value as Kafka does: `true`, `0.5`, `1.7976931348623157E308`, `a,b`, `null`; secrets are hidden."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, list):
        return ",".join(value)
    return str(value)
