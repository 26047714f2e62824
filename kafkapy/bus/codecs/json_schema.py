"""Events in JSON. Optional fields that are None are omitted, since JSON Schema distinguishes a missing property from
null."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from kafkapy.bus.event_types import EventType
from kafkapy.bus.plain_values import from_plain, to_plain
from kafkapy.schemas.json_schema import JSONDeserializer, JSONSerializer
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.serializer import Deserializer, Serializer


def make(
    cls: type[Any], event_type: EventType, registry: SchemaRegistryClient, options: dict[str, Any]
) -> tuple[Serializer[Any], Deserializer[Any]]:
    """Deserializes events. The value is validated against the schema with which it was written, so that properties of
    newer schemas are allowed."""
    plain = to_plain(cls)
    return (
        JSONSerializer(registry, event_type.schema, to_dict=lambda event: _json(plain(event)), **options),
        JSONDeserializer(registry, from_dict=from_plain(cls)),
    )


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _json(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_json(each) for each in value]
    if isinstance(value, tuple):  # a record of a union, with its name, which JSON does not use
        return _json(value[1])
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value
