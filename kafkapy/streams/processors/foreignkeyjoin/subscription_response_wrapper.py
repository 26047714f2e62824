"""Responses of a foreign-key join's right side, and their serde."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processors.defaults import given_or_default

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext
    from kafkapy.streams.serdes import Deserializer, Serde, Serializer

_NO_HASH: Final = 0x80
"""Flag in the version byte."""

_HASH_END: Final = 17


class SubscriptionResponseWrapper(NamedTuple):
    """A response."""

    original_value_hash: bytes | None
    """Hash of the left record's value at the subscription: a response to an older value is dropped."""
    foreign_value: Any
    """Value of the right record; None: there is none."""
    primary_partition: int | None
    """The response's partition; it is not serialized."""
    version: int = 0


class SubscriptionResponseWrapperSerde:
    """Serde of responses.

    Args:
        foreign_value_serde: None: that of `default.value.serde`.
    """

    def __init__(self, foreign_value_serde: Serde[Any] | None) -> None:
        self._codec = SubscriptionResponseWrapperCodec(foreign_value_serde)

    def serializer(self) -> Serializer:
        return self._codec

    def deserializer(self) -> Deserializer:
        return self._codec


class SubscriptionResponseWrapperCodec:
    """Encodes version and flag of a missing hash (1 byte), hash (16 bytes), value."""

    _serializer: Serializer
    _deserializer: Deserializer

    def __init__(self, foreign_value_serde: Serde[Any] | None) -> None:
        self._serde = foreign_value_serde
        if foreign_value_serde is not None:
            self._serializer = foreign_value_serde.serializer()
            self._deserializer = foreign_value_serde.deserializer()

    def configure(self, context: TaskContext, is_key: bool) -> None:
        """Called by the node that uses it, with the task's context."""
        if self._serde is None:
            self._serde = given_or_default(None, context, is_key=False)
            self._serializer = self._serde.serializer()
            self._deserializer = self._serde.deserializer()

    def serialize(self, topic: str, data: SubscriptionResponseWrapper) -> bytes:
        """Serialize a response."""
        value = None if data.foreign_value is None else self._serializer.serialize(topic, data.foreign_value)
        value_hash = data.original_value_hash
        start = bytes((data.version | _NO_HASH,)) if value_hash is None else bytes((data.version,)) + value_hash
        return start if value is None else start + value

    def deserialize(self, topic: str, data: bytes | None) -> SubscriptionResponseWrapper:
        """Parse a response.

        Raises:
            StreamsException: Its version is unknown.
        """
        assert data is not None
        version = data[0] & ~_NO_HASH
        if version > 0:
            raise StreamsException(f"SubscriptionResponseWrapper does not support version {version}")
        end = 1 if data[0] & _NO_HASH else _HASH_END
        value = self._deserializer.deserialize(topic, data[end:]) if len(data) > end else None
        return SubscriptionResponseWrapper(data[1:end] or None, value, None, version)
