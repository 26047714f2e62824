"""Records of a left or outer join of two streams that wait for a partner: keys and values of the store, and their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkapy.streams.processors.defaults import given_or

if TYPE_CHECKING:
    from kafkapy.streams.serdes import Deserializer, Serde, Serializer

_TIMESTAMP_SIZE: Final = 8
_HEADER_SIZE: Final = _TIMESTAMP_SIZE + 1


class TimestampedKeyAndJoinSide(NamedTuple):
    """The key of a waiting record. By bytes: the oldest first, of one time those of the right side first."""

    key: Any
    timestamp: int
    is_left: bool


class LeftOrRightValue(NamedTuple):
    """The value of a waiting record; that of the other side is None."""

    left: Any
    right: Any


class TimestampedKeyAndJoinSideSerde:
    """Timestamp (8 bytes), 1 for left and 0 for right (1 byte), key.

    Args:
        key_serde: None: that of `default.key.serde`.
    """

    _serializer: Serializer
    _deserializer: Deserializer

    def __init__(self, key_serde: Serde[Any] | None) -> None:
        self._key_serde = key_serde
        if key_serde is not None:
            self.set_if_unset(None, None)

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Called by the store with the defaults of the configuration."""
        serde = self._key_serde = given_or(self._key_serde, key_serde, is_key=True)
        self._serializer = serde.serializer()
        self._deserializer = serde.deserializer()

    def serializer(self) -> Serializer:
        return self

    def deserializer(self) -> Deserializer:
        return self

    def serialize(self, topic: str, data: TimestampedKeyAndJoinSide) -> bytes:
        key = self._serializer.serialize(topic, data.key)
        assert key is not None
        return data.timestamp.to_bytes(_TIMESTAMP_SIZE, "big", signed=True) + (b"\1" if data.is_left else b"\0") + key

    def deserialize(self, topic: str, data: bytes | None) -> TimestampedKeyAndJoinSide:
        assert data is not None
        timestamp = int.from_bytes(data[:_TIMESTAMP_SIZE], "big", signed=True)
        key = self._deserializer.deserialize(topic, data[_HEADER_SIZE:])
        return TimestampedKeyAndJoinSide(key, timestamp, data[_TIMESTAMP_SIZE] == 1)


class LeftOrRightValueSerde:
    """1 for left and 0 for right (1 byte), value.

    Args:
        left_serde: None: that of `default.value.serde`.
        right_serde: The same for the other side.
    """

    def __init__(self, left_serde: Serde[Any] | None, right_serde: Serde[Any] | None) -> None:
        self._left_serde = left_serde
        self._right_serde = right_serde

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Called by the store with the defaults of the configuration."""
        self._left_serde = given_or(self._left_serde, value_serde, is_key=False)
        self._right_serde = given_or(self._right_serde, value_serde, is_key=False)

    def serializer(self) -> Serializer:
        return self

    def deserializer(self) -> Deserializer:
        return self

    def serialize(self, topic: str, data: LeftOrRightValue | None) -> bytes | None:
        if data is None:
            return None
        assert self._left_serde is not None and self._right_serde is not None
        if data.left is not None:
            raw = self._left_serde.serializer().serialize(topic, data.left)
            return None if raw is None else b"\1" + raw
        raw = self._right_serde.serializer().serialize(topic, data.right)
        return None if raw is None else b"\0" + raw

    def deserialize(self, topic: str, data: bytes | None) -> LeftOrRightValue | None:
        if not data:
            return None
        assert self._left_serde is not None and self._right_serde is not None
        if data[0] == 1:
            return LeftOrRightValue(self._left_serde.deserializer().deserialize(topic, data[1:]), None)
        return LeftOrRightValue(None, self._right_serde.deserializer().deserialize(topic, data[1:]))
