"""Values with schemas that a registry keeps (Confluent's): a client of the registry, serializers and deserializers for Avro,
Protobuf and JSON Schema, typed columns.

    from kafkapy.schemas import AvroSerializer, SchemaRegistryClient

    registry = SchemaRegistryClient("http://localhost:8081")
    KafkaProducer(value_serializer=AvroSerializer(registry, schema), ...)

Each format needs a library of its own (`pip install 'kafkapy[schemas]'`), which is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.schemas import arrow as arrow
    from kafkapy.schemas.avro import AvroDeserializer, AvroSerializer
    from kafkapy.schemas.errors import (
        SchemaDeserializationError,
        SchemaRegistryError,
        SchemaRegistryUnavailableError,
        SchemaSerializationError,
        SerdeError,
    )
    from kafkapy.schemas.json_schema import JSONDeserializer, JSONSerializer
    from kafkapy.schemas.protobuf import ProtobufDeserializer, ProtobufSerializer
    from kafkapy.schemas.registry_client import SchemaRegistryClient
    from kafkapy.schemas.subject_names import (
        record_subject_name_strategy,
        topic_record_subject_name_strategy,
        topic_subject_name_strategy,
    )
    from kafkapy.schemas.types import RegisteredSchema, Schema, SchemaReference

_HOMES = {
    "AvroDeserializer": "avro",
    "AvroSerializer": "avro",
    "JSONDeserializer": "json_schema",
    "JSONSerializer": "json_schema",
    "ProtobufDeserializer": "protobuf",
    "ProtobufSerializer": "protobuf",
    "RegisteredSchema": "types",
    "Schema": "types",
    "SchemaDeserializationError": "errors",
    "SerdeError": "errors",
    "SchemaReference": "types",
    "SchemaRegistryClient": "registry_client",
    "SchemaRegistryError": "errors",
    "SchemaRegistryUnavailableError": "errors",
    "SchemaSerializationError": "errors",
    "arrow": "arrow",
    "record_subject_name_strategy": "subject_names",
    "topic_record_subject_name_strategy": "subject_names",
    "topic_subject_name_strategy": "subject_names",
}

__all__ = [
    "AvroDeserializer",
    "AvroSerializer",
    "JSONDeserializer",
    "JSONSerializer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "RegisteredSchema",
    "Schema",
    "SchemaDeserializationError",
    "SchemaReference",
    "SchemaRegistryClient",
    "SchemaRegistryError",
    "SchemaRegistryUnavailableError",
    "SchemaSerializationError",
    "SerdeError",
    "arrow",
    "record_subject_name_strategy",
    "topic_record_subject_name_strategy",
    "topic_subject_name_strategy",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
