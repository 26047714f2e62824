"""Converts keys and values of a store to bytes and back."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processor import TaskContext
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.value_and_timestamp import fill_in


class StateSerdes:
    """The serdes of a store, with the topic to pass to them.

    Raises:
        StreamsException: A serde refuses the type of its argument.
    """

    __slots__ = (
        "_deserialize_key",
        "_deserialize_value",
        "_serialize_key",
        "_serialize_value",
        "key_serde",
        "topic",
        "value_serde",
    )

    def __init__(self, topic: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        self.topic = topic
        self.key_serde = key_serde
        self.value_serde = value_serde
        self._serialize_key = key_serde.serializer().serialize
        self._deserialize_key = key_serde.deserializer().deserialize
        self._serialize_value = value_serde.serializer().serialize
        self._deserialize_value = value_serde.deserializer().deserialize

    def raw_key(self, key: Any) -> bytes:
        try:
            return self._serialize_key(self.topic, key)  # type: ignore[return-value]  # a key is not None
        except TypeError as error:
            raise _incompatible("key", key) from error

    def raw_value(self, value: Any) -> bytes | None:
        try:
            return self._serialize_value(self.topic, value)
        except TypeError as error:
            raise _incompatible("value", value) from error

    def key_from(self, raw: bytes) -> Any:
        return self._deserialize_key(self.topic, raw)

    def value_from(self, raw: bytes) -> Any:
        return self._deserialize_value(self.topic, raw)


def prepare_serdes(
    context: TaskContext, store_name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
) -> StateSerdes:
    """Return the serdes of a store; None is replaced by the configuration's default.

    Raises:
        StreamsException: There is no default.
    """
    key = prepare_serde(context, store_name, "key", key_serde)
    value = prepare_serde(context, store_name, "value", value_serde)
    return StateSerdes(context.changelog_topic(store_name), key, value)


def prepare_serde(context: TaskContext, store_name: str, kind: str, serde: Serde[Any] | None) -> Serde[Any]:
    """Return one of the serdes; `kind` is "key" or "value".

    Raises:
        StreamsException: The serde is None, and there is no default.
    """
    try:
        return serde_or_default(context, kind, serde)
    except ValueError as error:
        raise StreamsException(f"Failed to initialize {kind} serdes for store {store_name}") from error


def serde_or_default(context: TaskContext, kind: str, serde: Serde[Any] | None) -> Serde[Any]:
    """Return the serde, or the configuration's default, with its inner serdes set.

    Raises:
        ValueError: There is no default.
    """
    if serde is None:
        serde = context.default_key_serde if kind == "key" else context.default_value_serde
        if serde is None:
            raise no_default(kind)
    fill_in(serde, context.default_key_serde, context.default_value_serde)
    return serde


def no_default(kind: str) -> ValueError:
    """Return the error for a serde missing in both operator and configuration."""
    return ValueError(f"Please specify a {kind} serde or set one through default.{kind}.serde")


def _incompatible(kind: str, data: Any) -> StreamsException:
    return StreamsException(
        f"A serializer is not compatible to the actual {kind} type ({kind} type: {type(data).__name__}). Change the "
        "default Serdes in StreamConfig or provide correct Serdes via method parameters."
    )
