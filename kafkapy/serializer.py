"""Serializers and deserializers of keys and values, for producers and consumers (kafka-python's `serializer`)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)
    T_contra = TypeVar("T_contra", contravariant=True, default=Any)
    K_co = TypeVar("K_co", covariant=True, default=Any)
    V_co = TypeVar("V_co", covariant=True, default=Any)
    K_contra = TypeVar("K_contra", contravariant=True, default=Any)
    V_contra = TypeVar("V_contra", contravariant=True, default=Any)
else:  # typing supports defaults only from Python 3.13 on, and only type checkers need them (PEP 696)
    from typing import TypeVar

    T_co, K_co, V_co = (TypeVar(name, covariant=True) for name in ("T_co", "K_co", "V_co"))
    T_contra, K_contra, V_contra = (TypeVar(name, contravariant=True) for name in ("T_contra", "K_contra", "V_contra"))

Headers = Sequence[tuple[str, bytes | None]]
"""A record's headers: an argument of `send`, and an attribute of `ConsumerRecord`."""
Bytes = bytes | bytearray | memoryview
"""Keys and values of a producer without serializers."""
BytesOrNone = bytes | None
"""Keys and values of a consumer without deserializers: either may be missing."""


class Serializer(ABC, Generic[T_contra]):
    """Converts keys or values to bytes. `close` is called when the producer is closed.

    Example:
        >>> class Length(Serializer[str]):
        ...     def serialize(self, topic, headers, data):
        ...         return str(len(data)).encode()
        >>> Length().serialize("words", [], "kafka")
        b'5'
    """

    @abstractmethod
    def serialize(self, topic: str, headers: Headers, data: T_contra) -> Bytes | None:
        """Convert a key or value.

        Args:
            topic: The topic that the record is sent to.
            headers: Headers of the record: pairs of name and bytes.
            data: The key or value.

        Returns:
            The bytes; None for a null.
        """

    def close(self) -> None:
        """Do nothing: there are no resources."""
        return


class Deserializer(ABC, Generic[T_co]):
    """Converts bytes to keys or values. `close` is called when the consumer is closed.

    Example:
        >>> class Number(Deserializer[int]):
        ...     def deserialize(self, topic, headers, data):
        ...         return int(data)
        >>> Number().deserialize("lengths", [], b"5")
        5
    """

    @abstractmethod
    def deserialize(self, topic: str, headers: Headers, data: bytes) -> T_co:
        """Convert the bytes of a key or value. A null is not passed.

        Args:
            topic: The record's topic.
            headers: Headers of the record: pairs of name and bytes.
            data: The bytes.
        """

    def close(self) -> None:
        """Do nothing: there are no resources."""
        return


GivenSerializer = Serializer[T_contra] | Callable[[T_contra], bytes | None] | None
"""The option's type: an object, a function of the key or value, or None."""
GivenDeserializer = Deserializer[T_co] | Callable[[bytes], T_co] | None
"""The same for deserializers."""


class LookUpFirst(Exception):
    """Raised by a serializer or deserializer that needs a look-up first and must not block.

    `look_up` does it, and may block: the client runs it in a thread, and then calls again with the same arguments. Its
    exceptions are raised to the user. Only an object with a method `for_client(*, is_key, waits)` may raise this: a
    client calls that once, uses the result, and sets `waits` if it may block instead.
    """

    def __init__(self, look_up: Callable[[], object]) -> None:
        super().__init__("Something must be looked up first, which cannot be waited for here")
        self.look_up = look_up


def for_client(given: Any, *, is_key: bool, waits: bool) -> Any:
    """Return a serializer or deserializer in the form that a client uses; most are unchanged.

    Args:
        given: The serializer or deserializer.
        is_key: Whether keys are converted.
        waits: Whether it may block.
    """
    make = getattr(given, "for_client", None)
    return given if make is None else make(is_key=is_key, waits=waits)


class DefaultSerializer(Serializer, Deserializer):
    r"""Converts text in an encoding; bytes are not changed.

    Args:
        encoding: Of the text, a name that Python knows. Default "utf-8".

    Example:
        >>> DefaultSerializer().serialize("words", [], "naïve")
        b'na\xc3\xafve'
    """

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Headers, data: Any) -> Bytes | None:
        """Encode text.

        Args:
            topic: Not used.
            headers: Not used.
            data: Text, bytes or None.

        Returns:
            The encoded text; bytes and None as they are.

        Raises:
            UnicodeEncodeError: The encoding lacks a character of the text.
        """
        if data is None or isinstance(data, bytes | bytearray | memoryview):
            return data
        encoded: bytes = data.encode(self.encoding)
        return encoded

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Decode text.

        Args:
            topic: Not used.
            headers: Not used.
            data: Encoded text, or None.

        Returns:
            The text, or None.

        Raises:
            UnicodeDecodeError: The bytes are no text in the encoding.
        """
        return None if data is None else bytes(data).decode(self.encoding)


class JsonSerializer(DefaultSerializer):
    """Converts JSON in an encoding; None is not changed.

    Args:
        encoding: Of the text, a name that Python knows. Default "utf-8".

    Example:
        >>> JsonSerializer().serialize("users", [], {"name": "Ada"})
        b'{"name": "Ada"}'
    """

    def serialize(self, topic: str, headers: Headers, data: Any) -> Bytes | None:
        """Write JSON.

        Args:
            topic: Not used.
            headers: Not used.
            data: What `json.dumps` takes; None stays None.

        Raises:
            TypeError: JSON has no form for `data`.
        """
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Read JSON.

        Args:
            topic: Not used.
            headers: Not used.
            data: Encoded JSON; None stays None.

        Raises:
            json.JSONDecodeError: The text is no JSON.
        """
        return None if data is None else json.loads(super().deserialize(topic, headers, data))


class SerializeWrapper(Serializer):
    """Wraps a function of one argument as a serializer.

    Args:
        fn: The function; None: no conversion.

    Example:
        >>> SerializeWrapper(str.encode).serialize("words", [], "kafka")
        b'kafka'
    """

    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def serialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return data if self.fn is None else self.fn(data)


class DeserializeWrapper(Deserializer):
    """Wraps a function of one argument as a deserializer.

    Args:
        fn: The function; None: no conversion.

    Example:
        >>> DeserializeWrapper(bytes.decode).deserialize("words", [], b"kafka")
        'kafka'
    """

    def __init__(self, fn: Callable[[bytes], Any] | None) -> None:
        self.fn = fn

    def deserialize(self, topic: str, headers: Headers, data: bytes) -> Any:
        return data if self.fn is None else self.fn(data)
