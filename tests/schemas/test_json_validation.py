"""Values are validated by JSON Schema with ECMA's patterns, decimal numbers, and every draft's own schema at hand."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("jsonschema")

from kafkapy.schemas import (
    JSONDeserializer,
    JSONSerializer,
    Schema,
    SchemaDeserializationError,
    SchemaReference,
    SchemaRegistryClient,
    SchemaSerializationError,
)
from kafkapy.schemas.json_schema import first_error, parse

DRAFTS = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
]
MODERN = DRAFTS[4]


def wrong(registry: SchemaRegistryClient, schema: Any, value: Any) -> str | None:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return first_error(parse(registry, Schema(text, "JSON")), value)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"pattern": r"^\p{L}+$"}, "é", "1"),
        ({"pattern": r"^(?<year>\d{4})-\k<year>$"}, "2026-2026", "2026-2025"),
        ({"pattern": r"^\d$"}, "1", "1\n"),
        ({"pattern": "[a-z&&[^b]]"}, "c", "b"),
        ({"patternProperties": {r"^\p{Lu}": {"type": "integer"}}}, {"É": 1, "é": "x"}, {"É": "x"}),
        ({"patternProperties": {r"^\p{Lu}": {}}, "additionalProperties": False}, {"É": 1}, {"é": 1}),
        ({"patternProperties": {"(?<a>a)": {}, "(?<a>b)": {}}, "additionalProperties": False}, {"b": 1}, {"c": 1}),
        ({"patternProperties": {r"^\p{Lu}": {}}, "additionalProperties": {"type": "string"}}, {"É": 1}, {"é": 1}),
        ({"propertyNames": {"pattern": r"^\p{Lu}"}}, {"É": 1}, {"é": 1}),
        ({"multipleOf": 0.1}, 0.3, 0.35),
        ({"multipleOf": 0.01}, 19.99, 19.995),
        ({"maximum": 0.1}, 0.1, 0.2),
        ({"maximum": 0.1}, Decimal("0.1"), Decimal("0.2")),
        ({"enum": [0.1, [1.0], {"a": 0.2}]}, {"a": 0.2}, 0.3),
        ({"enum": [0.1]}, Decimal("0.10"), 0.2),
        ({"const": 1.0}, 1, 2),
        ({"const": 1}, 1.0, True),
        ({"type": "integer"}, 1.0, 1.5),
        ({"type": "integer"}, Decimal("1.0"), Decimal("1.5")),
        ({"type": "string", "minLength": 1.0}, "a", ""),
    ],
)
def test_values(registry: SchemaRegistryClient, schema: Any, good: Any, bad: Any) -> None:
    assert wrong(registry, schema, good) is None
    assert wrong(registry, schema, bad) is not None


def test_limits_are_exact(registry: SchemaRegistryClient) -> None:
    schema = '{"maximum": 9999999999999999.99, "minimum": -1e400}'
    assert wrong(registry, schema, Decimal("9999999999999999.99")) is None
    assert wrong(registry, schema, 9999999999999999) is None
    assert "maximum of 9999999999999999.99" in str(wrong(registry, schema, 10**16))
    assert "nan is no number" in str(wrong(registry, schema, float("nan")))


@pytest.mark.parametrize("dialect", [DRAFTS[3], MODERN])
def test_unevaluated_properties(registry: SchemaRegistryClient, dialect: str) -> None:
    schema = {
        "$schema": dialect,
        "$defs": {"named": {"properties": {"name": {}}}},
        "$ref": "#/$defs/named",
        "allOf": [{"patternProperties": {r"^\p{N}": {}}}],
        "if": {"required": ["kind"]},
        "then": {"properties": {"kind": {}, "more": {}}},
        "dependentSchemas": {"name": {"properties": {"of": {}}}},
        "unevaluatedProperties": False,
    }
    assert wrong(registry, schema, {"name": 1, "5x": 2, "kind": 3, "more": 4, "of": 5}) is None
    for value in ({"x": 1}, {"more": 1}, {"of": 1}):
        assert "Unevaluated properties are not allowed" in str(wrong(registry, schema, value))
    assert wrong(registry, {**schema, "unevaluatedProperties": {"type": "string"}}, {"x": "1"}) is None


@pytest.mark.parametrize("meta", DRAFTS)
@pytest.mark.parametrize("dialect", DRAFTS)
def test_fields_that_hold_schemas(registry: SchemaRegistryClient, dialect: str, meta: str) -> None:
    schema = {"$schema": dialect, "properties": {"shape": {"$ref": meta}}}
    assert (
        wrong(registry, schema, {"shape": {"type": "string", "pattern": r"\p{L}", "properties": {"a": {"minimum": 1}}}})
        is None
    )
    assert wrong(registry, schema, {"shape": {"properties": {"a": {"type": "text"}}}}) is not None


def test_siblings_of_references(registry: SchemaRegistryClient) -> None:
    schema = {"$defs": {"name": {"type": "string"}}, "$ref": "#/$defs/name", "maxLength": 2}
    assert wrong(registry, {"$schema": MODERN, **schema}, "abc") is not None
    assert wrong(registry, {"$schema": DRAFTS[2], **schema}, "abc") is None


def test_a_reference_in_another_dialect(registry: SchemaRegistryClient) -> None:
    """Its patterns are ECMA's, too, and it is found behind the base of the schema that uses it."""
    registry.register_schema("name", Schema(json.dumps({"$schema": MODERN, "pattern": r"^\p{L}+$"}), "JSON"))
    order = {"$id": "https://shop/order.json", "properties": {"by": {"$ref": "name.json"}}}
    schema = Schema(json.dumps(order), "JSON", (SchemaReference("name.json", "name", 1),))
    parsed = parse(registry, schema)
    assert first_error(parsed, {"by": "é"}) is None
    assert "does not match" in str(first_error(parsed, {"by": "1"}))


@pytest.mark.parametrize(
    "schema", ['{"pattern": "("}', '{"maximum": NaN}', '{"type": "text"}', "[", '{"a": "\\ud83d"}']
)
def test_what_is_no_schema(registry: SchemaRegistryClient, schema: str) -> None:
    with pytest.raises(Exception, match=r"regex|NaN|text|Expecting|surrogate"):
        parse(registry, Schema(schema, "JSON"))


def test_nan_is_no_json(registry: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaSerializationError, match="JSON"):
        JSONSerializer(registry, "{}").serialize("t", [], {"rate": float("nan")})
    for value in (b"NaN", b"[1e400]", b'"\\ud83d"'):
        with pytest.raises(SchemaDeserializationError):
            JSONDeserializer(registry).deserialize("t", [], b"\0\0\0\0\1" + value)
    assert JSONDeserializer(registry, json_decode=json.loads).deserialize("t", [], b"\0\0\0\0\1[1.5]") == [1.5]
