from __future__ import annotations

import base64

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("google.protobuf")

from google.protobuf import descriptor_pb2

from kafkapy.schemas import (
    ProtobufDeserializer,
    ProtobufSerializer,
    SchemaDeserializationError,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    SchemaSerializationError,
    record_subject_name_strategy,
)
from tests.schemas.messages import Line, Order, User
from tests.schemas.registry_server import RegistryServer

ANN = b"\x00\x00\x00\x00\x01\x00\x08\x01\x12\x03Ann"


def test_golden_bytes(registry: SchemaRegistryClient) -> None:
    serializer = ProtobufSerializer(registry, User)
    assert serializer.serialize("t", [], User(id=1, name="Ann")) == ANN
    schema = registry.get_latest_version("t-value").schema
    assert (schema.schema_type, schema.references) == ("PROTOBUF", ())
    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.schema_str))
    assert (file.name, file.message_type[0].name) == ("shop/user.proto", "User")
    assert ProtobufDeserializer(registry, User).deserialize("t", [], ANN) == User(id=1, name="Ann")


def test_nested_messages_have_their_indexes(registry: SchemaRegistryClient) -> None:
    data = ProtobufSerializer(registry, Line).serialize("t", [], Line(item="x"))
    assert data is not None
    assert data[5:] == b"\x04\x02\x00\x0a\x01x"
    assert ProtobufDeserializer(registry, Line).deserialize("t", [], data) == Line(item="x")


def test_imports_are_registered_first(registry: SchemaRegistryClient) -> None:
    ProtobufSerializer(registry, Order).serialize("t", [], Order())
    assert registry.get_subjects() == ["shop/user.proto", "t-value"]
    references = registry.get_latest_version("t-value").schema.references
    assert references == (SchemaReference("shop/user.proto", "shop/user.proto", 1),)
    own = ProtobufSerializer(
        registry, Order, reference_subject_name_strategy=lambda topic, is_key, file: f"{topic}/{file}"
    )
    own.serialize("u", [], Order())
    assert "u/shop/user.proto" in registry.get_subjects()


def test_without_registering(registry: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaRegistryError, match=r"shop/user\.proto"):
        ProtobufSerializer(registry, Order, auto_register_schemas=False).serialize("t", [], Order())
    ProtobufSerializer(registry, Order).serialize("t", [], Order())
    assert ProtobufSerializer(registry, Order, auto_register_schemas=False).serialize("t", [], Order()) is not None


def test_subject_by_message(registry: SchemaRegistryClient) -> None:
    ProtobufSerializer(registry, User, subject_name_strategy=record_subject_name_strategy).serialize("t", [], User())
    assert registry.get_subjects() == ["shop.User"]


def test_a_class_needs_no_registry(registry: SchemaRegistryClient, server: RegistryServer) -> None:
    assert ProtobufDeserializer(registry, User).deserialize("t", [], ANN).name == "Ann"
    assert server.state.requests == []


def test_classes_made_of_the_schema(registry: SchemaRegistryClient) -> None:
    order = Order(by=User(id=1, name="Ann"), lines=[Line(item="x")])
    order.at.FromSeconds(1_700_000_000)
    data = ProtobufSerializer(registry, Order).serialize("t", [], order)
    nested = ProtobufSerializer(registry, Line).serialize("u", [], Line(item="y"))
    assert data is not None and nested is not None
    registry.clear_caches()
    deserializer = ProtobufDeserializer(registry)
    found = deserializer.deserialize("t", [], data)
    assert found.DESCRIPTOR.full_name == "shop.Order"
    assert (found.by.name, found.lines[0].item, found.at.seconds) == ("Ann", "x", 1_700_000_000)
    assert deserializer.deserialize("u", [], nested).item == "y"
    with pytest.raises(SchemaDeserializationError, match=r"no message with the indexes \[7\]"):
        deserializer.deserialize("u", [], nested[:5] + b"\x02\x0e")


def test_what_is_no_message(registry: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaSerializationError, match=r"takes messages of shop\.User; this is a dict"):
        ProtobufSerializer(registry, User).serialize("t", [], {"id": 1})
    with pytest.raises(SchemaDeserializationError, match="does not fit the schema that it names"):
        ProtobufDeserializer(registry, User).deserialize("t", [], ANN[:-1])
    with pytest.raises(SchemaDeserializationError, match="cut off"):
        ProtobufDeserializer(registry, User).deserialize("t", [], ANN[:5])
    assert ProtobufSerializer(registry, User).serialize("t", [], None) is None


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(-(2**63), 2**63 - 1), name=st.text())
def test_values_come_back(registry: SchemaRegistryClient, number: int, name: str) -> None:
    message = User(id=number, name=name)
    data = ProtobufSerializer(registry, User).serialize("t", [], message)
    assert data is not None
    assert ProtobufDeserializer(registry, User).deserialize("t", [], data) == message
    assert ProtobufDeserializer(registry).deserialize("t", [], data).SerializeToString() == message.SerializeToString()
