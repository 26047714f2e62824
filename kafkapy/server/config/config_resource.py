"""Resources whose configs are described or altered: a topic, a broker, its loggers (Kafka's `ConfigResource`)."""

from __future__ import annotations

import re
from typing import NamedTuple

from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.protocol.errors import Errors, KafkaError

_KNOWN = frozenset({2, 4, 8, 16})


def resource_type_of(code: int) -> ConfigResourceType:
    """Return the type; UNKNOWN for codes that a 3.9 broker does not know."""
    return ConfigResourceType(code) if code in _KNOWN else ConfigResourceType.UNKNOWN


class ConfiguredResource(NamedTuple):
    type: ConfigResourceType
    name: str

    def __str__(self) -> str:
        return f"ConfigResource(type={self.type.name}, name='{self.name}')"


def require_this_broker(name: str, broker_id: int, sentence: str, not_a_number: str) -> None:
    """Raise `KafkaError(INVALID_REQUEST)` unless `name` is this broker's id; the messages may contain `{name}` and
    `{id}`.
    """
    if not re.fullmatch(r"[+-]?[0-9]+", name):
        raise KafkaError(Errors.INVALID_REQUEST, not_a_number.format(name=name))
    if int(name) != broker_id:
        raise KafkaError(Errors.INVALID_REQUEST, sentence.format(name=name, id=broker_id))
