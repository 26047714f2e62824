"""The key of a record of one side of a stream-stream join, in the store of those that had no match."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.state_serdes import no_default
from kafkapy.streams.state.value_and_timestamp import fill_in


class TimestampedKeyAndJoinSide(NamedTuple):
    """Key, time and side."""

    is_left_side: bool
    key: Any
    timestamp: int

    @staticmethod
    def make_left(key: Any, timestamp: int) -> TimestampedKeyAndJoinSide:
        return TimestampedKeyAndJoinSide(True, key, timestamp)

    @staticmethod
    def make_right(key: Any, timestamp: int) -> TimestampedKeyAndJoinSide:
        return TimestampedKeyAndJoinSide(False, key, timestamp)


class TimestampedKeyAndJoinSideSerde:
    """The time (8 bytes), so that the store is in its order, a byte, 1 for left, then the key.

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
        return data.timestamp.to_bytes(8, "big", signed=True) + (b"\x01" if data.is_left_side else b"\x00") + raw

    def deserialize(self, topic: str, data: bytes | None) -> TimestampedKeyAndJoinSide:
        assert self._inner is not None and data is not None
        key = self._inner.deserializer().deserialize(topic, data[9:])
        return TimestampedKeyAndJoinSide(data[8] == 1, key, int.from_bytes(data[:8], "big", signed=True))
