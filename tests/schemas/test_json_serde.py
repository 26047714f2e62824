from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("jsonschema")

from kafkapy.schemas import (
    JSONDeserializer,
    JSONSerializer,
    Schema,
    SchemaDeserializationError,
    SchemaReference,
    SchemaRegistryClient,
    SchemaSerializationError,
    record_subject_name_strategy,
)

USER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "User",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id"],
}
TEXT = json.dumps(USER)
ANN = {"id": 1, "name": "Ann"}
GOLDEN = b'\x00\x00\x00\x00\x01{"id":1,"name":"Ann"}'


def test_golden_bytes(registry: SchemaRegistryClient) -> None:
    assert JSONSerializer(registry, TEXT).serialize("t", [], ANN) == GOLDEN
    assert registry.get_latest_version("t-value").schema == Schema(TEXT, "JSON")
    assert JSONDeserializer(registry).deserialize("t", [], GOLDEN) == ANN


def test_subject_by_title(registry: SchemaRegistryClient) -> None:
    JSONSerializer(registry, TEXT, subject_name_strategy=record_subject_name_strategy).serialize("t", [], ANN)
    assert registry.get_subjects() == ["User"]


def test_values_are_validated(registry: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaSerializationError, match=r"'no' is not of type 'integer' \(at \$\.id\)"):
        JSONSerializer(registry, TEXT).serialize("t", [], {"id": "no"})
    bad = JSONSerializer(registry, TEXT, validate=False).serialize("t", [], {"id": "no"})
    assert bad is not None
    with pytest.raises(SchemaDeserializationError, match="'no' is not of type 'integer'"):
        JSONDeserializer(registry).deserialize("t", [], bad)
    assert JSONDeserializer(registry, validate=False).deserialize("t", [], bad) == {"id": "no"}
    with pytest.raises(SchemaDeserializationError, match="does not fit the schema that it names"):
        JSONDeserializer(registry).deserialize("t", [], b"\x00\x00\x00\x00\x01{")


def test_the_readers_schema(registry: SchemaRegistryClient) -> None:
    JSONSerializer(registry, TEXT).serialize("t", [], ANN)
    strict = JSONDeserializer(registry, json.dumps({**USER, "required": ["age"]}))
    with pytest.raises(SchemaDeserializationError, match="'age' is a required property"):
        strict.deserialize("t", [], GOLDEN)


def test_references(registry: SchemaRegistryClient) -> None:
    registry.register_schema("user", Schema(TEXT, "JSON"))
    order = {"type": "object", "properties": {"by": {"$ref": "user.json"}}}
    schema = Schema(json.dumps(order), "JSON", (SchemaReference("user.json", "user", 1),))
    data = JSONSerializer(registry, schema).serialize("t", [], {"by": ANN})
    assert data is not None
    assert JSONDeserializer(registry).deserialize("t", [], data) == {"by": ANN}
    with pytest.raises(SchemaSerializationError, match=r"at \$\.by"):
        JSONSerializer(registry, schema).serialize("t", [], {"by": {}})


def test_objects(registry: SchemaRegistryClient) -> None:
    serializer = JSONSerializer(registry, TEXT, to_dict=lambda pair: dict(zip(("id", "name"), pair, strict=True)))
    assert serializer.serialize("t", [], (1, "Ann")) == GOLDEN
    deserializer = JSONDeserializer(registry, from_dict=lambda found: tuple(found.values()))
    assert deserializer.deserialize("t", [], GOLDEN) == (1, "Ann")


values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=values)
def test_values_come_back(registry: SchemaRegistryClient, value: Any) -> None:
    data = JSONSerializer(registry, "{}").serialize("t", [], [value])
    assert data is not None
    assert JSONDeserializer(registry).deserialize("t", [], data) == [value]
