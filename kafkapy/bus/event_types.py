"""Event classes: dataclasses that have a schema, a topic and a router.

`kafkapy-schemas.sh build` generates them; `@event(...)` makes one of a dataclass written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, NamedTuple, TypeVar

from kafkapy.bus.errors import NotAnEventError
from kafkapy.bus.routers import Router, RouterSpec, router_of
from kafkapy.bus.schema_version import SchemaVersion, subject_of
from kafkapy.schemas.types import Schema

C = TypeVar("C", bound=type[Any])

THRIFT = "THRIFT"
"""The schema type of Thrift, in addition to AVRO, PROTOBUF and JSON."""
_ATTRIBUTE = "__event_type__"


class EventType(NamedTuple):
    """The bus's description of an event class.

    Attributes:
        name: Full name of the event.
        version: Version of its schema.
        topic: Topic that it is sent to.
        schema: Its schema.
        router: Computes the key of an event.
        time_field: Field with the event's time. None (default): the time of sending.
        descriptor: For Protobuf, a serialized `FileDescriptorSet`. None (default): no Protobuf.

    Example:
        >>> from dataclasses import dataclass
        >>> from kafkapy.bus.event_types import event
        >>> fields = '[{"name": "order_id", "type": "string"}]'
        >>> schema = '{"type": "record", "name": "Paid", "namespace": "shop", "fields": ' + fields + "}"
        >>> @event(name="shop.Paid", version="1.0.0", topic="payments", schema=schema, router="order_id")
        ... @dataclass
        ... class Paid:
        ...     order_id: str
        >>> Paid("A1").order_id
        'A1'
    """

    name: str
    version: SchemaVersion
    topic: str
    schema: Schema
    router: Router
    time_field: str | None = None
    descriptor: bytes | None = None

    @property
    def subject(self) -> str:
        return subject_of(self.name, self.version)


def event(
    *,
    name: str,
    version: str,
    topic: str,
    schema: str | Schema,
    router: RouterSpec = None,
    time_field: str | None = None,
    descriptor: bytes | None = None,
) -> Callable[[C], C]:
    """Decorator for a dataclass: `@event(...)` before `@dataclass`. The class's example is at `EventType`.

    Args:
        name: Full name of the event, for example "shop.Paid".
        version: Version of the schema, "1.0.0".
        topic: Topic that it is sent to.
        schema: Avro's JSON, or a `Schema`.
        router: Field that is the key, or a function of the event. None (default): no key.
        time_field: Field with the event's time. None (default): the time of sending.
        descriptor: For Protobuf, a serialized `FileDescriptorSet`. None (default): no Protobuf.

    Raises:
        ValueError: The name, version or schema is invalid.
        TypeError: The class is no dataclass.
    """
    found = schema if isinstance(schema, Schema) else Schema(schema)
    event_type = EventType(name, SchemaVersion.parse(version), topic, found, router_of(router), time_field, descriptor)

    def decorate(cls: C) -> C:
        if not is_dataclass(cls):
            raise TypeError(f"{cls.__name__} is no dataclass: write @dataclass below @event(...)")
        setattr(cls, _ATTRIBUTE, event_type)
        return cls

    return decorate


def event_type_of(cls: type[Any]) -> EventType:
    """The description of an object's event class. Raises NotAnEventError. A class derived from an event class is not
    an event class."""
    found = cls.__dict__.get(_ATTRIBUTE)
    if found is None:
        raise NotAnEventError(
            f"{cls.__name__} is no event class: take one that kafkapy-schemas.sh build has written, or put @event(...) before it"
        )
    assert isinstance(found, EventType)
    return found
