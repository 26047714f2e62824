"""Subscriptions, which a foreign-key join's left side sends to the right side, and their serde."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processors.defaults import given_or

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext
    from kafkapy.streams.serdes import Deserializer, Serde, Serializer

_NO_HASH: Final = 0x80
"""Flag in the version byte."""

_HASH_SIZE: Final = 16
_PARTITION_SIZE: Final = 4


class Instruction(IntEnum):
    """The right side's action on a subscription."""

    DELETE_KEY_NO_PROPAGATE = 0
    """Delete it: the left record now refers to another key."""
    DELETE_KEY_AND_PROPAGATE = 1
    """Delete it, and respond with null: the left record was deleted, or no longer refers to a key."""
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    """Store it, and always respond."""
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3
    """Store it, and respond if there is a value."""


class SubscriptionWrapper(NamedTuple):
    """A subscription."""

    hash: bytes | None
    """Hash of the left record's value (`murmur3.hash128`); None: it has no value."""
    instruction: Instruction
    primary_key: Any
    """Key of the left record; never None."""
    primary_partition: int | None
    """The response's partition; None in version 0."""
    version: int = 1


class SubscriptionWrapperSerde:
    """Serde of subscriptions, for their topic and their store.

    Args:
        primary_key_serialization_pseudo_topic_supplier: Returns the topic to pass to the key's serializer; called when
            the first key is serialized.
        primary_key_serde: None: that of `default.key.serde`.
    """

    def __init__(
        self,
        primary_key_serialization_pseudo_topic_supplier: Callable[[], str],
        primary_key_serde: Serde[Any] | None,
    ) -> None:
        self._codec = SubscriptionWrapperCodec(primary_key_serialization_pseudo_topic_supplier, primary_key_serde)

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Set the configuration's default serdes; called by the store."""
        self._codec.set_default(key_serde)

    def serializer(self) -> Serializer:
        return self._codec

    def deserializer(self) -> Deserializer:
        return self._codec


class SubscriptionWrapperCodec:
    """Encodes version and flag of a missing hash (1 byte), instruction (1 byte), hash (16 bytes), primary key,
    partition (4 bytes).

    Version 0 has no partition.
    """

    def __init__(self, topic_supplier: Callable[[], str], primary_key_serde: Serde[Any] | None) -> None:
        self._topic_supplier = topic_supplier
        self._topic: str | None = None
        self._serializer: Serializer | None = None
        self._deserializer: Deserializer | None = None
        if primary_key_serde is not None:
            self.set_default(primary_key_serde)

    def configure(self, context: TaskContext, is_key: bool) -> None:
        """Called by the node that uses it, with the task's context."""
        self.set_default(context.default_key_serde)

    def set_default(self, key_serde: Serde[Any] | None) -> None:
        """Set the serde of keys if none was given.

        Raises:
            ValueError: There is no default either.
        """
        if self._serializer is None:
            serde = given_or(None, key_serde, is_key=True)
            self._serializer = serde.serializer()
            self._deserializer = serde.deserializer()

    def serialize(self, topic: str, data: SubscriptionWrapper | None) -> bytes | None:
        """Serialize a subscription.

        Raises:
            StreamsException: Its version is unknown.
        """
        if data is None:
            return None
        assert self._serializer is not None
        key = self._serializer.serialize(self._key_topic(), data.primary_key)
        assert key is not None
        if data.hash is None:
            start = bytes((data.version | _NO_HASH, data.instruction)) + key
        else:
            start = bytes((data.version, data.instruction)) + data.hash + key
        if data.version == 0:
            return start
        if data.version > 1 or data.primary_partition is None:
            raise StreamsException(f"Unsupported SubscriptionWrapper version {data.version}")
        return start + data.primary_partition.to_bytes(_PARTITION_SIZE, "big", signed=True)

    def deserialize(self, topic: str, data: bytes | None) -> SubscriptionWrapper | None:
        """Parse a subscription.

        Raises:
            StreamsException: Its version is unknown.
        """
        if data is None:
            return None
        assert self._deserializer is not None
        version = data[0] & ~_NO_HASH
        if version > 1:
            raise StreamsException(f"SubscriptionWrapper does not support version {version}")
        start = 2
        value_hash = None
        if not data[0] & _NO_HASH:
            start += _HASH_SIZE
            value_hash = data[2:start]
        end = len(data) - (_PARTITION_SIZE if version else 0)
        key = self._deserializer.deserialize(self._key_topic(), data[start:end])
        partition = int.from_bytes(data[end:], "big", signed=True) if version else None
        return SubscriptionWrapper(value_hash, Instruction(data[1]), key, partition, version)

    def _key_topic(self) -> str:
        if self._topic is None:
            self._topic = self._topic_supplier()
        return self._topic
