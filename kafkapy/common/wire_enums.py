"""Enums of the protocol for brokers and clients, with kafka-python's names where it has them."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, Self


class EnumHelper:
    """Mixin of enums that can be built from a member, its value, or its name in any case, with dashes or underscores."""

    @classmethod
    def build_from(cls, value: Any) -> Self:
        """Return the member. Raises ValueError.

        Args:
            value: A member, its name in any case, or its code.
        """
        enum: Any = cls
        if isinstance(value, cls):
            return value
        try:
            found: Self = enum(value)
            return found
        except ValueError:
            pass
        try:
            found = enum[str(value).strip().upper().replace("-", "_")]
        except KeyError:
            raise ValueError(f"Unrecognized {cls.__name__}: {value}") from None
        return found

    @classmethod
    def value_for(cls, value: Any) -> Any:
        """Return the value of the member that `build_from` returns.

        Args:
            value: A member, its name in any case, or its code.
        """
        found: Any = cls.build_from(value)
        assert isinstance(found, Enum)
        return found.value


class AlterConfigOp(EnumHelper, IntEnum):
    """What to do with a config (KIP-339).

    Example:
        >>> AlterConfigOp.value_for("append")
        2
    """

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResourceType(EnumHelper, IntEnum):
    """The kind of a resource that has configs.

    Example:
        >>> ConfigResourceType.build_from("topic").name
        'TOPIC'
    """

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigType(EnumHelper, IntEnum):
    """The type of a config (KIP-569).

    Example:
        >>> ConfigType(9).name
        'PASSWORD'
    """

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSourceType(EnumHelper, IntEnum):
    """The source of a config's value.

    Example:
        >>> ConfigSourceType(5).name
        'DEFAULT_CONFIG'
    """

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8

    @classmethod
    def _missing_(cls, value: object) -> ConfigSourceType | None:
        return cls.UNKNOWN if isinstance(value, int) else None

    def is_modified(self) -> bool:
        """Return whether the config is set on this very resource."""
        return self not in (
            ConfigSourceType.DYNAMIC_DEFAULT_BROKER_CONFIG,
            ConfigSourceType.STATIC_BROKER_CONFIG,
            ConfigSourceType.DEFAULT_CONFIG,
        )


class ElectionType(IntEnum):
    """PREFERRED elects the first replica, if another one leads now.

    UNCLEAN elects any live replica, if there is no leader.

    Example:
        >>> ElectionType(0).name
        'PREFERRED'
    """

    PREFERRED = 0
    UNCLEAN = 1
