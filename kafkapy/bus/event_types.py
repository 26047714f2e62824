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
    """The bus's description of an event class. `time_field`: the field with the event's time; None: the time of
    sending. `descriptor`: for Protobuf, a serialized `FileDescriptorSet`."""

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
    """Decorator for a dataclass: `@event(name="shop.Paid", version="1.0.0", topic="payments", schema=SCHEMA,
    router="order_id")` before `@dataclass`.

    `schema`: Avro's JSON, or a `Schema`. Raises ValueError, TypeError (no dataclass).
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
