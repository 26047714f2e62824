"""Keys and values of the store of unmatched records of a stream-stream join."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.state_serdes import no_default
from kafkapy.streams.state.value_and_timestamp import fill_in


class TimestampedKeyAndJoinSide(NamedTuple):
    """The key of an unmatched record."""

    key: Any
    timestamp: int
    is_left: bool


class LeftOrRightValue(NamedTuple):
    """The value of an unmatched record; that of the other side is None."""

    left: Any
    right: Any


class TimestampedKeyAndJoinSideSerde:
    """Encodes the time (8 bytes, so that the store is ordered by it), a byte (1 for left), and the key.

    Args:
        inner: None: the configuration's default.
    """

    def __init__(self, inner: Serde[Any] | None) -> None:
        self._inner = inner

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Take the default if there is no serde.

        Raises:
            ValueError: There is none.
        """
        if self._inner is None:
            if key_serde is None:
                raise no_default("key")
            self._inner = key_serde
        fill_in(self._inner, key_serde, value_serde)

    def serializer(self) -> TimestampedKeyAndJoinSideSerde:
        return self

    def deserializer(self) -> TimestampedKeyAndJoinSideSerde:
        return self

    def serialize(self, topic: str, data: TimestampedKeyAndJoinSide) -> bytes:
        assert self._inner is not None
        raw = self._inner.serializer().serialize(topic, data.key)
        if raw is None:
            raise TypeError("a key is None")
        return data.timestamp.to_bytes(8, "big", signed=True) + (b"\x01" if data.is_left else b"\x00") + raw

    def deserialize(self, topic: str, data: bytes | None) -> TimestampedKeyAndJoinSide:
        assert self._inner is not None and data is not None
        key = self._inner.deserializer().deserialize(topic, data[9:])
        return TimestampedKeyAndJoinSide(key, int.from_bytes(data[:8], "big", signed=True), data[8] == 1)


class LeftOrRightValueSerde:
    """Encodes a byte (1 for left), and the value.

    Args:
        left: None: the configuration's default.
        right: None: the configuration's default.
    """

    def __init__(self, left: Serde[Any] | None, right: Serde[Any] | None) -> None:
        self._left = left
        self._right = right

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Take the default for sides that have no serde.

        Raises:
            ValueError: There is none.
        """
        if (self._left is None or self._right is None) and value_serde is None:
            raise no_default("value")
        self._left = self._left or value_serde
        self._right = self._right or value_serde
        fill_in(self._left, key_serde, value_serde)
        fill_in(self._right, key_serde, value_serde)

    def serializer(self) -> LeftOrRightValueSerde:
        return self

    def deserializer(self) -> LeftOrRightValueSerde:
        return self

    def serialize(self, topic: str, data: LeftOrRightValue | None) -> bytes | None:
        if data is None:
            return None
        assert self._left is not None and self._right is not None
        if data.left is not None:
            raw = self._left.serializer().serialize(topic, data.left)
            return None if raw is None else b"\x01" + raw
        raw = self._right.serializer().serialize(topic, data.right)
        return None if raw is None else b"\x00" + raw

    def deserialize(self, topic: str, data: bytes | None) -> LeftOrRightValue | None:
        if not data:
            return None
        assert self._left is not None and self._right is not None
        if data[0] == 1:
            return LeftOrRightValue(self._left.deserializer().deserialize(topic, data[1:]), None)
        return LeftOrRightValue(None, self._right.deserializer().deserialize(topic, data[1:]))
