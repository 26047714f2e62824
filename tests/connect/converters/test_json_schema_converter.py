from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.connect.converters.json_text import read_json
from kafkapy.connect.converters.jsonschema.json_data import JsonData
from kafkapy.connect.converters.jsonschema.json_from_connect import JsonSchemaMaker
from kafkapy.connect.converters.jsonschema.json_options import JsonOptions
from kafkapy.connect.converters.jsonschema.json_schema_converter import JsonSchemaConverter, json_text
from kafkapy.connect.converters.jsonschema.json_to_connect import JsonSchemaReader
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import TIMESTAMP_SCHEMA, decimal_schema
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema as RegistrySchema
from kafkapy.schemas.types import SchemaReference
from tests.connect.converters.random_data import same, schemas, values
from tests.schemas.registry_server import RegistryServer, running_registry


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


def _made(server: RegistryServer, /, **configs: Any) -> JsonSchemaConverter:
    converter = JsonSchemaConverter()
    own = {name.replace("_", "."): value for name, value in configs.items()}
    converter.configure({"schema.registry.url": server.url, "max.retries": "0", **own})
    return converter


def _node(schema: Schema, **options: Any) -> Any:
    return JsonSchemaMaker(JsonOptions(**options)).convert(schema)


def _to_connect(node: Any, **options: Any) -> Schema:
    return JsonSchemaReader(JsonOptions(**options), node).convert()


@pytest.mark.parametrize(
    ("schema", "node"),
    [
        (INT32_SCHEMA, {"type": "integer", "connect.type": "int32"}),
        (Schema(Type.FLOAT64), {"type": "number", "connect.type": "float64"}),
        (Schema(Type.BYTES), {"type": "string", "connect.type": "bytes"}),
        (OPTIONAL_STRING_SCHEMA, {"oneOf": [{"type": "null"}, {"type": "string"}]}),
        (
            SchemaBuilder(Type.STRING).optional().default("x").doc("why").build(),
            {"oneOf": [{"type": "null"}, {"type": "string", "description": "why", "default": "x"}]},
        ),
        (
            decimal_schema(2),
            {
                "type": "string",
                "connect.type": "bytes",
                "title": "org.apache.kafka.connect.data.Decimal",
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
            },
        ),
        (
            SchemaBuilder.map(INT32_SCHEMA, STRING_SCHEMA).build(),
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                        "value": {"type": "string", "connect.index": 1},
                    },
                },
                "connect.type": "map",
            },
        ),
        (
            SchemaBuilder(Type.STRUCT)
            .name("shop.Order")
            .field("id", INT32_SCHEMA)
            .field("t", OPTIONAL_STRING_SCHEMA)
            .build(),
            {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                    "t": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
                },
                "title": "shop.Order",
            },
        ),
    ],
)
def test_schemas_are_those_of_confluents_converter(schema: Schema, node: Any) -> None:
    assert _node(schema) == node
    assert _to_connect(node) == schema


def test_schemas_of_others_become_connects() -> None:
    document = {
        "title": "Person",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["integer", "null"]},
            "home": {"$ref": "#/definitions/address"},
            "color": {"enum": ["red", "blue"]},
            "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["name"],
        "definitions": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
    found = _to_connect(document, use_optional_for_nonrequired=True)
    by_name = {field.name: field.schema for field in found.fields}
    assert not by_name["name"].optional and by_name["age"] == Schema(Type.INT64, True)
    assert [field.name for field in by_name["home"].fields] == ["city"]
    assert (by_name["color"].parameters or {})["io.confluent.connect.json.Enum.red"] == "red"
    either = by_name["either"]
    assert either.name == "io.confluent.connect.json.OneOf"
    data = JsonData(JsonOptions())
    read = data.value(found, {"name": "A", "either": 5})
    assert read["either"]["io.confluent.connect.json.OneOf.field.1"] == 5
    assert data.node(found, read)["either"] == 5
    general = _to_connect(document, generalized_sum_type_support=True).field("either")
    assert general is not None and general.schema.fields[0].name == "connect_union_field_0"


def test_all_of_is_one_struct() -> None:
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    document = {
        "definitions": {"base": base},
        "allOf": [{"$ref": "#/definitions/base"}, {"properties": {"b": {"type": "boolean"}}}],
    }
    found = _to_connect(document, use_optional_for_nonrequired=True)
    assert [(field.name, field.schema.optional) for field in found.fields] == [("a", False), ("b", True)]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"$ref": "#"}, "refers to itself"),
        ({"$ref": "#/nowhere"}, "does not exist"),
        ({"$ref": "other.json"}, "not among its references"),
        ({"type": "array"}, "items type"),
        ({}, "Unsupported schema type"),
        (True, "has no type"),
    ],
)
def test_what_connect_lacks_is_refused(node: Any, message: str) -> None:
    with pytest.raises(DataException, match=message):
        _to_connect(node)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_random_data_come_back(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    options = JsonOptions()
    document = json.loads(json.dumps(_node(schema), default=float))
    found = JsonSchemaReader(options, read_json(json.dumps(document).encode())).convert()
    assert found == schema
    both = JsonData(options)
    read = both.value(found, read_json(json_text(both.node(schema, value)).encode()))
    assert read == value or same(read, value)


def test_decimals_are_numbers_if_wanted() -> None:
    options = JsonOptions(decimal_format="NUMERIC")
    data, schema = JsonData(options), decimal_schema(2)
    assert json_text(data.node(schema, Decimal("1.50"))) == "1.50"
    assert str(data.value(schema, read_json(b"1.50"))) == "1.50"
    assert _node(schema, decimal_format="NUMERIC")["type"] == "number"


def test_values_go_through_the_registry(server: RegistryServer) -> None:
    converter = _made(server)
    schema = (
        SchemaBuilder(Type.STRUCT)
        .name("Order")
        .field("at", TIMESTAMP_SCHEMA)
        .field("t", OPTIONAL_STRING_SCHEMA)
        .build()
    )
    data = converter.from_connect_data("orders", schema, Struct(schema, {"at": Instant(5)}))
    assert data == b'\x00\x00\x00\x00\x01{"at":5,"t":null}'
    found = converter.to_connect_data("orders", data)
    assert found.value["at"] == Instant(5) and found.schema is not None and found.schema.version == 1
    assert SchemaRegistryClient(server.url).get_latest_version("orders-value").schema.schema_type == "JSON"
    assert converter.from_connect_data("orders", None, None) is None
    assert converter.from_connect_data("orders", OPTIONAL_STRING_SCHEMA, None) == b"\x00\x00\x00\x00\x02null"
    with pytest.raises(DataException, match="without a schema"):
        converter.from_connect_data("orders", None, {"a": 1})


def test_references_are_followed(server: RegistryServer) -> None:
    registry = SchemaRegistryClient(server.url)
    registry.register_schema(
        "address", RegistrySchema('{"type":"object","properties":{"city":{"type":"string"}}}', "JSON")
    )
    text = '{"type":"object","properties":{"home":{"$ref":"address.json"}}}'
    reference = SchemaReference("address.json", "address", 1)
    schema_id = registry.register_schema("p-value", RegistrySchema(text, "JSON", (reference,)))
    found = _made(server).to_connect_data("p", schema_id.to_bytes(5, "big") + b'{"home":{"city":"Bonn"}}')
    assert found.value["home"]["city"] == "Bonn"


def test_a_schema_of_another_type_is_refused(server: RegistryServer) -> None:
    schema_id = SchemaRegistryClient(server.url).register_schema("t-value", RegistrySchema('"int"'))
    with pytest.raises(DataException, match="choose the converter of that type"):
        _made(server).to_connect_data("t", schema_id.to_bytes(5, "big") + b"1")
