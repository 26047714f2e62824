"""Serde of a table's updates in a repartition topic: the new value, the old one, or both."""

from __future__ import annotations

from typing import Any

from kafkapy.record.varint import encode_varint, read_varint
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processors.upgrade import upgrades_from_before
from kafkapy.streams.records import Change
from kafkapy.streams.serdes import Deserializer, Serializer

_OLD, _NEW, _BOTH = b"\0", b"\1", b"\2"
"""Values of the last byte. Larger values mean the same, with a preceding byte that flags the latest update."""


class ChangedSerializer:
    """Serializes a `Change` as its values and a flag at the end (Kafka's `ChangedSerializer`).

    Args:
        inner: Of the values; None: that of `default.value.serde`.
    """

    def __init__(self, inner: Serializer | None) -> None:
        self._inner = inner
        self._upgrades = False

    def configure(self, context: Any, is_key: bool) -> None:
        """Called before the first value, with the context of the task."""
        if self._inner is None:
            self._inner = _default_serde(context).serializer()
        self._upgrades = upgrades_from_before(context.config, (3, 5))

    def serialize(self, topic: str, data: Change) -> bytes:
        """Return the bytes of an update.

        Raises:
            StreamsException: The update has neither a new nor an old value, or both although instances before 3.5 may
                run.
        """
        assert self._inner is not None
        new = None if data.new_value is None else self._inner.serialize(topic, data.new_value)
        old = None if data.old_value is None else self._inner.serialize(topic, data.old_value)
        if new is not None and old is not None:
            if self._upgrades:
                raise StreamsException(
                    f"Both old and new values are not null ({data.old_value} : {data.new_value}) in ChangeSerializer, "
                    "which is not allowed unless upgrading."
                )
            return encode_varint(len(new)) + new + old + _BOTH
        if new is not None:
            return new + _NEW
        if old is not None:
            return old + _OLD
        raise StreamsException("Both old and new values are null in ChangeSerializer, which is not allowed.")


class ChangedDeserializer:
    """The reverse of `ChangedSerializer`.

    Args:
        inner: Of the values; None: that of `default.value.serde`.
    """

    def __init__(self, inner: Deserializer | None) -> None:
        self._inner = inner

    def configure(self, context: Any, is_key: bool) -> None:
        """Called before the first value, with the context of the task."""
        if self._inner is None:
            self._inner = _default_serde(context).deserializer()

    def deserialize(self, topic: str, data: bytes | None) -> Change:
        """Parse an update.

        Raises:
            StreamsException: The flag is invalid.
            TypeError: `data` is None.
        """
        assert self._inner is not None
        if data is None:
            raise TypeError("an update of a table can't be None")
        flag = data[-1]
        if flag > 5:
            raise StreamsException(f"Encountered unknown byte value `{flag}` for encodingFlag in ChangedDeserializer.")
        end = -1 if flag < 3 else -2
        is_latest = flag < 3 or _is_latest(data[-2])
        new, old = _parts(data[:end], flag % 3)
        inner = self._inner
        return Change(
            None if new is None else inner.deserialize(topic, new),
            None if old is None else inner.deserialize(topic, old),
            is_latest,
        )


def _parts(data: bytes, kind: int) -> tuple[bytes | None, bytes | None]:
    """Return the bytes of the new and the old value."""
    if kind == 0:
        return None, data
    if kind == 1:
        return data, None
    length, start = read_varint(data, 0)
    return data[start : start + length], data[start + length :]


def _is_latest(flag: int) -> bool:
    if flag > 1:
        raise StreamsException(f"Encountered unexpected byte value `{flag}` for isLatestFlag in ChangedDeserializer.")
    return flag == 1


def _default_serde(context: Any) -> Any:
    serde = context.default_value_serde
    if serde is None:
        raise ValueError("Please specify a value serde or set one through default.value.serde")
    return serde
