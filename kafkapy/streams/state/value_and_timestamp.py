"""Values with the timestamps of their records: 8 bytes, big-endian, then the value."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.streams.records import ValueAndTimestamp
from kafkapy.streams.serdes import Serde

TIMESTAMP_SIZE: Final = 8


class ValueAndTimestampSerde:
    """Both serializer and deserializer. None, or a value serialized as None, gives None."""

    def __init__(self, inner: Serde[Any]) -> None:
        self.inner = inner
        self._serializer = inner.serializer()
        self._deserializer = inner.deserializer()

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        fill_in(self.inner, key_serde, value_serde)

    def serializer(self) -> ValueAndTimestampSerde:
        return self

    def deserializer(self) -> ValueAndTimestampSerde:
        return self

    def serialize(self, topic: str, data: ValueAndTimestamp | None) -> bytes | None:
        if data is None or data[0] is None:
            return None
        raw = self._serializer.serialize(topic, data[0])
        return None if raw is None else data[1].to_bytes(TIMESTAMP_SIZE, "big", signed=True) + raw

    def deserialize(self, topic: str, data: bytes | None) -> ValueAndTimestamp | None:
        if data is None:
            return None
        value = self._deserializer.deserialize(topic, data[TIMESTAMP_SIZE:])
        return None if value is None else ValueAndTimestamp(value, timestamp_of(data))


def fill_in(serde: Any, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
    """Set the missing inner serdes of a serde to the defaults."""
    set_if_unset = getattr(serde, "set_if_unset", None)
    if set_if_unset is not None:
        set_if_unset(key_serde, value_serde)


def with_timestamp(value: bytes | None, timestamp: int) -> bytes | None:
    """The bytes of a value with a timestamp; None stays None."""
    return None if value is None else timestamp.to_bytes(TIMESTAMP_SIZE, "big", signed=True) + value


def timestamp_of(data: bytes) -> int:
    """The timestamp of such bytes."""
    return int.from_bytes(data[:TIMESTAMP_SIZE], "big", signed=True)


def raw_value_of(data: bytes | None) -> bytes | None:
    """The value's bytes without the timestamp."""
    return None if data is None else data[TIMESTAMP_SIZE:]


def values_are_same_and_time_is_increasing(old: bytes | None, new: bytes | None) -> bool:
    """Return whether a put would only increase the timestamp; Kafka does not forward such an update (KIP-557)."""
    if old is new:
        return True
    if old is None or new is None or len(old) != len(new):
        return False
    return timestamp_of(new) > timestamp_of(old) and old[TIMESTAMP_SIZE:] == new[TIMESTAMP_SIZE:]
