"""What the left side of a foreign-key join tells the right side, and its bytes."""

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
"""In the byte of the version."""

_HASH_SIZE: Final = 16
_PARTITION_SIZE: Final = 4


class Instruction(IntEnum):
    """What the right side does with a subscription."""

    DELETE_KEY_NO_PROPAGATE = 0
    """Forget it: the left record refers to another key now."""
    DELETE_KEY_AND_PROPAGATE = 1
    """Forget it, and answer that there is no value: the left record is gone, or refers to none any more."""
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    """Keep it, and answer in any case."""
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3
    """Keep it, and answer if there is a value."""


class SubscriptionWrapper(NamedTuple):
    """A subscription."""

    hash: bytes | None
    """Of the left record's value (`murmur3.hash128`); None: it has none."""
    instruction: Instruction
    primary_key: Any
    """Of the left record; never None."""
    primary_partition: int | None
    """Where the answer is written to; None in version 0."""
    version: int = 1


class SubscriptionWrapperSerde:
    """A subscription as bytes, for the topic and the store of subscriptions.

    Args:
        primary_key_serialization_pseudo_topic_supplier: Gives the topic that the key's serializer is told; called when the first
            key is serialized.
        primary_key_serde: None: that of `default.key.serde`.
    """

    def __init__(
        self,
        primary_key_serialization_pseudo_topic_supplier: Callable[[], str],
        primary_key_serde: Serde[Any] | None,
    ) -> None:
        self._codec = SubscriptionWrapperCodec(primary_key_serialization_pseudo_topic_supplier, primary_key_serde)

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Called by the store with the defaults of the configuration."""
        self._codec.set_default(key_serde)

    def serializer(self) -> Serializer:
        return self._codec

    def deserializer(self) -> Deserializer:
        return self._codec


class SubscriptionWrapperCodec:
    """Version and whether there is no hash (1 byte), instruction (1 byte), hash (16 bytes), primary key, partition (4 bytes).

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
        """The serde of keys if there was none.

        Raises:
            ValueError: There is none now.
        """
        if self._serializer is None:
            serde = given_or(None, key_serde, is_key=True)
            self._serializer = serde.serializer()
            self._deserializer = serde.deserializer()

    def serialize(self, topic: str, data: SubscriptionWrapper | None) -> bytes | None:
        """The bytes of a subscription.

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
        """The subscription of bytes.

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
