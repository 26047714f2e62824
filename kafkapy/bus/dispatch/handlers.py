"""Chooses the handler of an event, and decodes the event."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from kafkapy.bus.codecs import Codec, codec_of
from kafkapy.bus.errors import UnreadableEventError
from kafkapy.bus.event_headers import Envelope
from kafkapy.bus.event_types import EventType, event_type_of
from kafkapy.schemas import wire_format
from kafkapy.schemas.avro_text import json_of
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.serializer import LookUpFirst

F = TypeVar("F", bound=Callable[..., Any])


class Handler(NamedTuple):
    """A handler. `on_loop`: it is a coroutine function; other handlers run in threads."""

    cls: type[Any]
    event_type: EventType
    function: Callable[..., Any]
    with_envelope: bool
    on_loop: bool
    codec: Codec


class EventHandlers:
    """The handlers of a dispatcher, by event type."""

    def __init__(self, registry: SchemaRegistryClient) -> None:
        self._registry = registry
        self._by_name: dict[str, list[Handler]] = {}

    def add(self, cls: type[Any], function: Callable[..., Any]) -> None:
        """Register a handler. Raises NotAnEventError; ValueError for a second handler of the same MODEL; TypeError
        for a function that takes no event."""
        event_type = event_type_of(cls)
        for other in self._by_name.get(event_type.name, []):
            if other.event_type.version.model == event_type.version.model:
                raise ValueError(
                    f"{event_type.name} {event_type.version.model}.* has a handler already: {other.function}"
                )
        codec = codec_of(cls, self._registry, auto_register=False, waits=False)
        with_envelope = _arguments(function) > 1
        on_loop = inspect.iscoroutinefunction(function)
        handler = Handler(cls, event_type, function, with_envelope, on_loop, codec)
        self._by_name.setdefault(event_type.name, []).append(handler)

    @property
    def topics(self) -> list[str]:
        """The topics of the registered event classes."""
        return sorted({handler.event_type.topic for handler in self._all()})

    def find(self, envelope: Envelope, value: bytes | None) -> Handler | None:
        """The handler of a record; None if there is none for its type. Raises UnreadableEventError, LookUpFirst, and
        errors of the registry."""
        name = envelope.event_type
        if name:
            candidates = self._by_name.get(name, [])
        else:
            candidates = [handler for handler in self._all() if handler.event_type.topic == envelope.topic]
            if len(candidates) > 1:
                candidates = self._by_name.get(self._name_in_registry(value), [])
        if envelope.version is None:
            return max(candidates, key=lambda handler: handler.event_type.version, default=None)
        for handler in candidates:
            if handler.event_type.version.model == envelope.version.model:
                return handler
        return None

    def _all(self) -> Iterable[Handler]:
        return (handler for several in self._by_name.values() for handler in several)

    def _name_in_registry(self, value: bytes | None) -> str:
        """The name of the schema with which a value was written."""
        if value is None:
            raise UnreadableEventError("A record without a value and without the header event-type is no event")
        schema_id = wire_format.read(value).schema
        assert isinstance(schema_id, int)
        schema = self._registry.cached_schema(schema_id)
        if schema is None:
            raise LookUpFirst(lambda: self._registry.get_schema(schema_id))
        if schema.schema_type in ("AVRO", "JSON"):
            parsed = json_of(schema.schema_str)
            if isinstance(parsed, dict):
                name = str(parsed.get("name") or parsed.get("title") or "")
                space = parsed.get("namespace")
                return name if "." in name or not space else f"{space}.{name}"
        raise UnreadableEventError(
            f"The record has no header event-type, and its schema ({schema_id}, {schema.schema_type}) does not name it"
        )


def read_event(handler: Handler, envelope: Envelope, value: bytes | None) -> Any:
    """Decode a value. Raises UnreadableEventError, SerdeError, LookUpFirst, SchemaRegistryUnavailableError."""
    if value is None:
        raise UnreadableEventError(f"A {handler.event_type.name} has a value; this record has none")
    return handler.codec.deserializer.deserialize(envelope.topic, envelope.headers, value)


def _arguments(function: Callable[..., Any]) -> int:
    """The number of arguments of a handler. Raises TypeError unless it is one or two."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind in kinds]
    needed = sum(each.default is inspect.Parameter.empty for each in parameters)
    if not parameters or needed > 2:
        raise TypeError(f"A handler takes the event, or the event and its envelope; {function} does not")
    return len(parameters) if needed < 2 and len(parameters) < 2 else 2
