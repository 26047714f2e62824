"""Converts values to bytes and back for topics and stores (Kafka's `Serde`, `Serdes`)."""

from __future__ import annotations

import struct
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_LONG: Final = struct.Struct(">q")
_INTEGER: Final = struct.Struct(">i")
_DOUBLE: Final = struct.Struct(">d")


class SerdeSerializer(Protocol):
    """Values to bytes; `None` to `None`. Public as `kafkapy.streams.Serializer`.

    Unlike `kafkapy.serializer.Serializer`, which clients use, its calls have no headers.

    Example:
        >>> from kafkapy.streams import Serdes
        >>> serde = Serdes.string()
        >>> serde.serializer().serialize("lines", "kafka"), serde.deserializer().deserialize("lines", b"kafka")
        (b'kafka', 'kafka')
    """

    def serialize(self, topic: str, data: Any) -> bytes | None:
        """Convert to bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """


class SerdeDeserializer(Protocol):
    """Bytes to values; `None` to `None`. Public as `kafkapy.streams.Deserializer`.

    Example:
        >>> from kafkapy.streams import Serdes
        >>> serde = Serdes.string()
        >>> serde.serializer().serialize("lines", "kafka"), serde.deserializer().deserialize("lines", b"kafka")
        (b'kafka', 'kafka')
    """

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        """Convert from bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """


Serializer = SerdeSerializer
Deserializer = SerdeDeserializer


class Serde(Protocol[T_co]):
    """A serializer with its deserializer.

    Example:
        >>> from kafkapy.streams import Serdes
        >>> serde = Serdes.string()
        >>> serde.serializer().serialize("lines", "kafka"), serde.deserializer().deserialize("lines", b"kafka")
        (b'kafka', 'kafka')
    """

    def serializer(self) -> Serializer: ...

    def deserializer(self) -> Deserializer: ...


class _StringSerde:
    """UTF-8. Each built-in serde is its own serializer and deserializer."""

    def serializer(self) -> Serializer:
        return self

    def deserializer(self) -> Deserializer:
        return self

    def serialize(self, topic: str, data: Any) -> bytes | None:
        if data is None:
            return None
        if not isinstance(data, str):
            raise TypeError(f"a str is expected, not {type(data).__name__}")
        return data.encode("utf-8", "replace")

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        return None if data is None else data.decode("utf-8", "replace")


class _BytesSerde:
    """Bytes as they are."""

    def serializer(self) -> Serializer:
        return self

    def deserializer(self) -> Deserializer:
        return self

    def serialize(self, topic: str, data: Any) -> bytes | None:
        if data is None or isinstance(data, bytes):
            return data
        if not isinstance(data, (bytearray, memoryview)):
            raise TypeError(f"bytes are expected, not {type(data).__name__}")
        return bytes(data)

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        return data


class _NumberSerde:
    """A number of a fixed size, big-endian."""

    def __init__(self, layout: struct.Struct, kind: type, name: str) -> None:
        self._layout = layout
        self._kind = kind
        self._name = name

    def serializer(self) -> Serializer:
        return self

    def deserializer(self) -> Deserializer:
        return self

    def serialize(self, topic: str, data: Any) -> bytes | None:
        if data is None:
            return None
        if not isinstance(data, self._kind):
            raise TypeError(f"{self._name} is expected, not {type(data).__name__}")
        try:
            return self._layout.pack(data)
        except struct.error:
            raise ValueError(f"{data} does not fit into {self._name}") from None

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        if data is None:
            return None
        if len(data) != self._layout.size:
            raise ValueError(f"Size of data received by {self._name} deserializer is not {self._layout.size}")
        return self._layout.unpack(data)[0]


class _SerdeOf:
    def __init__(self, serializer: Serializer, deserializer: Deserializer) -> None:
        self._serializer = serializer
        self._deserializer = deserializer

    def serializer(self) -> Serializer:
        return self._serializer

    def deserializer(self) -> Deserializer:
        return self._deserializer


class Serdes:
    """Kafka's own serdes.

    Example:
        >>> Serdes.long().serializer().serialize("topic", 7).hex()
        '0000000000000007'
    """

    @staticmethod
    def string() -> Serde[str]:
        """UTF-8."""
        return _StringSerde()

    @staticmethod
    def long() -> Serde[int]:
        """8 bytes, big-endian."""
        return _NumberSerde(_LONG, int, "a long")

    @staticmethod
    def integer() -> Serde[int]:
        """4 bytes, big-endian."""
        return _NumberSerde(_INTEGER, int, "an integer")

    @staticmethod
    def double() -> Serde[float]:
        """8 bytes of IEEE 754, big-endian."""
        return _NumberSerde(_DOUBLE, float, "a double")

    @staticmethod
    def byte_array() -> Serde[bytes]:
        """Bytes as they are."""
        return _BytesSerde()

    @staticmethod
    def serde_from(serializer: Serializer, deserializer: Deserializer) -> Serde[Any]:
        """A serde of the two.

        Args:
            serializer: Converts to bytes.
            deserializer: Converts from bytes.
        """
        return _SerdeOf(serializer, deserializer)
