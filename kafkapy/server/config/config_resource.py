"""What configs are asked of or altered: a topic, a broker, its loggers (Kafka's `ConfigResource`)."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from kafkapy.protocol.errors import Errors, KafkaError


class ResourceType(IntEnum):
    """The number is the code in requests."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16

    @classmethod
    def for_code(cls, code: int) -> ResourceType:
        try:
            return cls(code)
        except ValueError:
            return cls.UNKNOWN


class ConfigSource(IntEnum):
    """Where a value comes from; the number is the code in DescribeConfigs."""

    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7


class ConfigResource(NamedTuple):
    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"ConfigResource(type={self.type.name}, name='{self.name}')"


def require_this_broker(name: str, broker_id: int, sentence: str, not_a_number: str) -> None:
    """`KafkaError(INVALID_REQUEST)` unless `name` is this broker's id; the sentences take `{name}` and `{id}`."""
    if not re.fullmatch(r"[+-]?[0-9]+", name):
        raise KafkaError(Errors.INVALID_REQUEST, not_a_number.format(name=name))
    if int(name) != broker_id:
        raise KafkaError(Errors.INVALID_REQUEST, sentence.format(name=name, id=broker_id))
