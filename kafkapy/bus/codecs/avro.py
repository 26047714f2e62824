"""Events in Avro."""

from __future__ import annotations

from typing import Any

from kafkapy.bus.event_types import EventType
from kafkapy.bus.plain_values import from_plain, to_plain
from kafkapy.schemas.avro import AvroDeserializer, AvroSerializer
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.serializer import Deserializer, Serializer


def make(
    cls: type[Any], event_type: EventType, registry: SchemaRegistryClient, options: dict[str, Any]
) -> tuple[Serializer[Any], Deserializer[Any]]:
    schema = event_type.schema
    return (
        AvroSerializer(registry, schema, to_dict=to_plain(cls), **options),
        AvroDeserializer(registry, schema, from_dict=from_plain(cls), return_record_name=True),
    )
