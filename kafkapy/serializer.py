"""Values to bytes and back, on the way into a producer and out of a consumer (kafka-python's `serializer`)."""

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
else:  # typing has defaults from Python 3.13 on only, and only type checkers need them (PEP 696)
    from typing import TypeVar

    T_co, K_co, V_co = (TypeVar(name, covariant=True) for name in ("T_co", "K_co", "V_co"))
    T_contra, K_contra, V_contra = (TypeVar(name, contravariant=True) for name in ("T_contra", "K_contra", "V_contra"))

Headers = Sequence[tuple[str, bytes | None]]
"""Of a record: what `send` takes and a `ConsumerRecord` has."""
Bytes = bytes | bytearray | memoryview
"""What a producer without serializers takes."""
BytesOrNone = bytes | None
"""What records have for a consumer without deserializers: a key or value may be missing."""


class Serializer(ABC, Generic[T_contra]):
    """Keys or values to bytes. `close` is called when the producer is closed."""

    @abstractmethod
    def serialize(self, topic: str, headers: Headers, data: T_contra) -> Bytes | None: ...

    def close(self) -> None:
        """Nothing to let go of."""
        return


class Deserializer(ABC, Generic[T_co]):
    """Bytes to keys or values. `close` is called when the consumer is closed."""

    @abstractmethod
    def deserialize(self, topic: str, headers: Headers, data: bytes) -> T_co: ...

    def close(self) -> None:
        """Nothing to let go of."""
        return


GivenSerializer = Serializer[T_contra] | Callable[[T_contra], bytes | None] | None
"""As an option: an object, a function of the key or value, or none."""
GivenDeserializer = Deserializer[T_co] | Callable[[bytes], T_co] | None
"""Likewise, of the bytes."""


class LookUpFirst(Exception):
    """Raised by a serializer or deserializer that has to ask somebody before it can do its work and must not wait.

    `look_up` asks, and may block: the client runs it in a thread, and then calls again with the same arguments. What it
    raises goes to the user. Only an object with a method `for_client(*, is_key, waits)` may raise this: a client calls that
    once, works with what it gives, and says by `waits` whether it may block instead.
    """

    def __init__(self, look_up: Callable[[], object]) -> None:
        super().__init__("Something must be looked up first, which cannot be waited for here")
        self.look_up = look_up


def for_client(given: Any, *, is_key: bool, waits: bool) -> Any:
    """A serializer or deserializer as a client works with it; most stay what they are."""
    make = getattr(given, "for_client", None)
    return given if make is None else make(is_key=is_key, waits=waits)


class DefaultSerializer(Serializer, Deserializer):
    """Text in an encoding; bytes stay as they are."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Headers, data: Any) -> Bytes | None:
        if data is None or isinstance(data, bytes | bytearray | memoryview):
            return data
        encoded: bytes = data.encode(self.encoding)
        return encoded

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        return None if data is None else bytes(data).decode(self.encoding)


class JsonSerializer(DefaultSerializer):
    """JSON in an encoding; None stays None."""

    def serialize(self, topic: str, headers: Headers, data: Any) -> Bytes | None:
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        return None if data is None else json.loads(super().deserialize(topic, headers, data))


class SerializeWrapper(Serializer):
    """A function of one argument as a serializer; None: as it is."""

    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def serialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return data if self.fn is None else self.fn(data)


class DeserializeWrapper(Deserializer):
    """A function of one argument as a deserializer; None: as it is."""

    def __init__(self, fn: Callable[[bytes], Any] | None) -> None:
        self.fn = fn

    def deserialize(self, topic: str, headers: Headers, data: bytes) -> Any:
        return data if self.fn is None else self.fn(data)
