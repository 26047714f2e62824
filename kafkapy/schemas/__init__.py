"""Values with schemas of a Confluent schema registry: a client, serializers and deserializers for Avro, Protobuf and
JSON Schema, typed columns.


    from kafkapy.schemas import AvroSerializer, SchemaRegistryClient

    registry = SchemaRegistryClient("http://localhost:8081")
    KafkaProducer(value_serializer=AvroSerializer(registry, schema), ...)

Each format needs a library (`pip install 'kafkapy[schemas]'`), which is imported at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.schemas import arrow as arrow
    from kafkapy.schemas.avro import AvroDeserializer as AvroDeserializer
    from kafkapy.schemas.avro import AvroSerializer as AvroSerializer
    from kafkapy.schemas.errors import SchemaDeserializationError as SchemaDeserializationError
    from kafkapy.schemas.errors import SchemaRegistryError as SchemaRegistryError
    from kafkapy.schemas.errors import SchemaRegistryUnavailableError as SchemaRegistryUnavailableError
    from kafkapy.schemas.errors import SchemaSerializationError as SchemaSerializationError
    from kafkapy.schemas.errors import SerdeError as SerdeError
    from kafkapy.schemas.json_schema import JSONDeserializer as JSONDeserializer
    from kafkapy.schemas.json_schema import JSONSerializer as JSONSerializer
    from kafkapy.schemas.protobuf import ProtobufDeserializer as ProtobufDeserializer
    from kafkapy.schemas.protobuf import ProtobufSerializer as ProtobufSerializer
    from kafkapy.schemas.registry_client import SchemaRegistryClient as SchemaRegistryClient
    from kafkapy.schemas.subject_names import record_subject_name_strategy as record_subject_name_strategy
    from kafkapy.schemas.subject_names import topic_record_subject_name_strategy as topic_record_subject_name_strategy
    from kafkapy.schemas.subject_names import topic_subject_name_strategy as topic_subject_name_strategy
    from kafkapy.schemas.types import RegisteredSchema as RegisteredSchema
    from kafkapy.schemas.types import Schema as Schema
    from kafkapy.schemas.types import SchemaReference as SchemaReference
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "arrow": "arrow",
            "avro": "AvroDeserializer AvroSerializer",
            "errors": (
                "SchemaDeserializationError SchemaRegistryError SchemaRegistryUnavailableError "
                "SchemaSerializationError SerdeError"
            ),
            "json_schema": "JSONDeserializer JSONSerializer",
            "protobuf": "ProtobufDeserializer ProtobufSerializer",
            "registry_client": "SchemaRegistryClient",
            "subject_names": (
                "record_subject_name_strategy topic_record_subject_name_strategy topic_subject_name_strategy"
            ),
            "types": "RegisteredSchema Schema SchemaReference",
        },
    )
