"""The value of one side of a stream-stream join, in the store of those that had no match."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.state_serdes import no_default
from kafkapy.streams.state.value_and_timestamp import fill_in


class LeftOrRightValue:
    """A value, and whether it is the left one.

    Raises:
        ValueError: Both are given.
        TypeError: None is given.
    """

    __slots__ = ("left_value", "right_value")

    def __init__(self, left_value: Any, right_value: Any) -> None:
        if left_value is not None and right_value is not None:
            raise ValueError("Only one value cannot be null")
        if left_value is None and right_value is None:
            raise TypeError("Only one value can be null")
        self.left_value = left_value
        self.right_value = right_value

    @staticmethod
    def make_left_value(value: Any) -> LeftOrRightValue:
        return LeftOrRightValue(value, None)

    @staticmethod
    def make_right_value(value: Any) -> LeftOrRightValue:
        return LeftOrRightValue(None, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LeftOrRightValue) and (self.left_value, self.right_value) == (
            other.left_value,
            other.right_value,
        )

    def __hash__(self) -> int:
        return hash((self.left_value, self.right_value))

    def __repr__(self) -> str:
        return f"<left,{self.left_value}>" if self.left_value is not None else f"<right,{self.right_value}>"


class LeftOrRightValueSerde:
    """A byte, 1 for left, then the value. Its own serializer and deserializer.

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
        if data.left_value is not None:
            raw = self._left.serializer().serialize(topic, data.left_value)
            return None if raw is None else b"\x01" + raw
        raw = self._right.serializer().serialize(topic, data.right_value)
        return None if raw is None else b"\x00" + raw

    def deserialize(self, topic: str, data: bytes | None) -> LeftOrRightValue | None:
        if not data:
            return None
        assert self._left is not None and self._right is not None
        if data[0] == 1:
            return LeftOrRightValue.make_left_value(self._left.deserializer().deserialize(topic, data[1:]))
        return LeftOrRightValue.make_right_value(self._right.deserializer().deserialize(topic, data[1:]))
