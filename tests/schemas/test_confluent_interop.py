"""confluent-kafka's serializers and ours write the same bytes, register the same schemas, and read each other's."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")
pytest.importorskip("google.protobuf")
pytest.importorskip("confluent_kafka.schema_registry", exc_type=ImportError)

from confluent_kafka import schema_registry as confluent
from confluent_kafka.schema_registry import avro as confluent_avro
from confluent_kafka.schema_registry import json_schema as confluent_json
from confluent_kafka.schema_registry import protobuf as confluent_protobuf
from confluent_kafka.serialization import MessageField, SerializationContext

from kafkapy.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JSONDeserializer,
    JSONSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
)
from tests.schemas.messages import Line, Order, User
from tests.schemas.registry_server import RegistryServer

VALUE = SerializationContext("t", MessageField.VALUE)
KEY = SerializationContext("t", MessageField.KEY)
AVRO = json.dumps(
    {
        "type": "record",
        "name": "User",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": ["null", "string"], "default": None},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
)
JSON = json.dumps(
    {"title": "User", "type": "object", "properties": {"id": {"type": "integer"}, "n": {"type": "string"}}}
)


@pytest.fixture
def theirs(server: RegistryServer) -> Any:
    return confluent.SchemaRegistryClient({"url": server.url})


def test_avro(registry: SchemaRegistryClient, theirs: Any) -> None:
    value = {"id": 7, "name": "Zoë", "at": 1_700_000_000_000, "tags": ["a", "b"]}
    their_serializer = confluent_avro.AvroSerializer(theirs, AVRO)
    ours = AvroSerializer(registry, AVRO).serialize("t", [], value)
    assert ours == their_serializer(value, VALUE)
    assert registry.get_versions("t-value") == [1]
    found = AvroDeserializer(registry).deserialize("t", [], their_serializer(value, VALUE))
    assert found == confluent_avro.AvroDeserializer(theirs)(ours, VALUE)
    assert found["name"] == "Zoë"
    key = AvroSerializer(registry, "string", is_key=True).serialize("t", [], "k")
    assert confluent_avro.AvroDeserializer(theirs)(key, KEY) == "k"


def test_avro_with_references(registry: SchemaRegistryClient, theirs: Any) -> None:
    registry.register_schema("user", Schema(AVRO))
    text = '{"type":"record","name":"Order","fields":[{"name":"by","type":"shop.User"}]}'
    value: dict[str, Any] = {"by": {"id": 7, "name": None, "at": 0, "tags": []}}
    their_schema = confluent.Schema(text, "AVRO", [confluent.SchemaReference("shop.User", "user", 1)])
    ours = AvroSerializer(registry, Schema(text, references=(SchemaReference("shop.User", "user", 1),)))
    assert ours.serialize("t", [], value) == confluent_avro.AvroSerializer(theirs, their_schema)(value, VALUE)
    assert registry.get_versions("t-value") == [1]


def test_json(registry: SchemaRegistryClient, theirs: Any) -> None:
    value = {"id": 7, "n": "Zoë"}
    their_data = confluent_json.JSONSerializer(JSON, theirs)(value, VALUE)
    ours = JSONSerializer(registry, JSON).serialize("t", [], value)
    assert ours == their_data
    assert registry.get_versions("t-value") == [1]
    assert JSONDeserializer(registry).deserialize("t", [], their_data) == value
    assert confluent_json.JSONDeserializer(JSON, schema_registry_client=theirs)(ours, VALUE) == value


def test_protobuf(registry: SchemaRegistryClient, theirs: Any) -> None:
    order = Order(by=User(id=1, name="Zoë"), lines=[Line(item="x")])
    for message in (order, Line(item="y"), User(id=3)):
        kind = type(message)
        topic = kind.DESCRIPTOR.name
        context = SerializationContext(topic, MessageField.VALUE)
        their_data = confluent_protobuf.ProtobufSerializer(kind, theirs)(message, context)
        ours = ProtobufSerializer(registry, kind).serialize(topic, [], message)
        assert ours == their_data
        assert registry.get_versions(f"{topic}-value") == [1]
        assert ProtobufDeserializer(registry, kind).deserialize(topic, [], their_data) == message
        assert confluent_protobuf.ProtobufDeserializer(kind, {}, theirs)(ours, context) == message
    assert registry.get_versions("shop/user.proto") == [1]
