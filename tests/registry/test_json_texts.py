"""JSON Schema: its numbers, patterns, and references to what everybody knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkapy.common.patterns.match_budget import MatchBudget
from kafkapy.registry.compatibility import SchemaParseError, compare
from kafkapy.registry.compatibility.open_content import covering_property
from kafkapy.registry.formats import parse
from kafkapy.registry.formats.references import Documents
from kafkapy.registry.formats.strictness import Strictness

MODERN = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2019-09/schema#",
    "https://json-schema.org/draft/2019-09/meta/applicator",
    "http://json-schema.org/draft/2020-12/schema",
    MODERN,
    "https://json-schema.org/draft/2020-12/meta/validation",
    "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger",
]


def changes(old: Any, new: Any) -> list[str]:
    def text(schema: Any) -> str:
        return schema if isinstance(schema, str) else json.dumps(schema)

    return [each.kind for each in compare("JSON", text(old), text(new))]


# -- numbers


@pytest.mark.parametrize(
    "number", ["9999999999999999.99", "1e400", "0.10", "1.0", "1", "12345678901234567890.5", "1E+2"]
)
def test_numbers_are_given_back_as_they_came(number: str) -> None:
    text = f'{{"maximum":{number},"enum":[{number}],"default":{number}}}'
    schema = parse("JSON", text)
    assert schema.canonical == text
    assert number in schema.normalized


def test_which_numbers_are_the_same() -> None:
    def identity(number: str) -> str:
        return parse("JSON", f'{{"maximum": {number}}}').identity

    assert identity("0.1") == identity("0.10") == identity("1e-1")
    assert (
        len({identity(each) for each in ("1", "1.0", "9999999999999999.99", "9999999999999999.98", "1e400", "1e401")})
        == 6
    )


@pytest.mark.parametrize(
    ("keyword", "old", "new", "expected"),
    [
        ("maximum", "9999999999999999.99", "9999999999999999.01", ["MAXIMUM_DECREASED"]),
        ("maximum", "1e400", "1e401", []),
        ("maximum", "1e401", "1e400", ["MAXIMUM_DECREASED"]),
        ("minimum", "0.10", "0.1", []),
        ("minimum", "5", "5.0", []),
        ("multipleOf", "0.1", "0.3", ["MULTIPLE_OF_EXPANDED"]),
        ("multipleOf", "0.3", "0.1", []),
        ("multipleOf", "1e999999999", "7", ["MULTIPLE_OF_CHANGED"]),
        ("const", "9007199254740993.0", "9007199254740992.0", ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"]),
        ("enum", "[0.1]", "[0.10, 1]", []),
        ("default", "1e400", "1e401", []),
    ],
)
def test_numbers_are_compared_exactly(keyword: str, old: str, new: str, expected: list[str]) -> None:
    assert changes(f'{{"type": "number", "{keyword}": {old}}}', f'{{"type": "number", "{keyword}": {new}}}') == expected


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e99999999999999999999", '"\\ud83d"'])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(SchemaParseError, match="No JSON"):
        parse("JSON", f'{{"default": {text}}}')


# -- patterns


@pytest.mark.parametrize(
    "pattern", [r"^\p{L}+$", r"(?<year>\d{4})", "[a-z&&[^b]]", r"^[\w\-]+\-$", r"a++", r"^[^\x00]$"]
)
@pytest.mark.parametrize("dialect", [*DRAFTS[:3], MODERN])
def test_patterns_of_other_dialects(pattern: str, dialect: str) -> None:
    parse("JSON", json.dumps({"$schema": dialect, "pattern": pattern, "patternProperties": {pattern: {}}}))


@pytest.mark.parametrize("dialect", [*DRAFTS[:3], MODERN])
@pytest.mark.parametrize("where", [{"pattern": "("}, {"patternProperties": {"(": {}}}])
def test_what_is_no_pattern(where: dict[str, Any], dialect: str) -> None:
    with pytest.raises(SchemaParseError, match="closing parenthesis is missing"):
        parse("JSON", json.dumps({"$schema": dialect, "type": "object", **where}))


def test_patterns_cover_properties() -> None:
    old: dict[str, Any] = {
        "type": "object",
        "patternProperties": {r"^\p{Lu}": {"type": "string"}},
        "additionalProperties": False,
    }
    covered = {**old, "properties": {"Ärger": {"type": "string"}}}
    assert changes(old, covered) == []
    assert changes(old, {**old, "properties": {"Ärger": {"type": "integer"}}}) != []


def test_a_pattern_cannot_hold_the_registry() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"(?:a|a)*(?:a|a)*(?:a|a)*b(?!b)": {}},
        "additionalProperties": False,
    }
    node = parse("JSON", json.dumps(schema)).root  # type: ignore[attr-defined]
    with pytest.raises(SchemaParseError, match="took longer"):
        covering_property(node, "a" * 2_000 + "bb", MatchBudget(0.01))


# -- references


@pytest.mark.parametrize("meta", DRAFTS)
@pytest.mark.parametrize("dialect", [DRAFTS[2], DRAFTS[5], MODERN])
def test_metaschemas_are_known(meta: str, dialect: str) -> None:
    schema = {"$schema": dialect, "type": "object", "properties": {"shape": {"$ref": meta}}}
    assert changes(schema, schema) == []


@pytest.mark.parametrize("dialect", [DRAFTS[5], MODERN])
def test_what_stands_beside_a_reference_counts_today(dialect: str) -> None:
    def schema(**beside: Any) -> dict[str, Any]:
        name = {"$ref": "#/$defs/name", **beside}
        return {"$schema": dialect, "$defs": {"name": {"type": "string"}}, "properties": {"a": name}}

    assert changes(schema(), schema(maxLength=5)) != []
    assert changes(schema(maxLength=5), schema()) == []
    assert changes(schema(maxLength=5), schema(maxLength=4)) != []
    assert changes(schema(maxLength=5), schema(maxLength=6)) == []
    assert changes(schema(), schema(description="the name", title="Name")) == []


def test_what_stands_beside_a_reference_does_not_count_in_older_drafts() -> None:
    def schema(**beside: Any) -> dict[str, Any]:
        name = {"$ref": "#/definitions/name", **beside}
        return {"$schema": DRAFTS[2], "definitions": {"name": {"type": "string"}}, "properties": {"a": name}}

    assert changes(schema(), schema(maxLength=5)) == []


def test_anchors_and_bases() -> None:
    schema = {
        "$schema": MODERN,
        "$id": "https://shop/order",
        "$defs": {
            "money": {"$anchor": "money", "type": "number"},
            "parts": {"$id": "parts/", "$defs": {"one": {"$id": "one", "type": "string"}}},
        },
        "properties": {"a": {"$ref": "#money"}, "b": {"$ref": "parts/one"}, "c": {"$ref": "customer.json#/$defs/name"}},
    }
    customer = json.dumps({"$schema": MODERN, "$defs": {"name": {"type": "string"}}})
    documents = Documents.of({"customer.json": customer})
    old = parse("JSON", json.dumps(schema), documents)
    schema["$defs"]["money"]["type"] = "string"  # type: ignore[index]
    new = parse("JSON", json.dumps(schema), documents)
    assert [each.kind for each in new.incompatibilities(old)] == ["TYPE_CHANGED"]


@pytest.mark.parametrize(
    ("dialect", "tree"),
    [
        (
            MODERN,
            {"$dynamicAnchor": "node", "properties": {"next": {"$dynamicRef": "#node"}, "value": {"type": "integer"}}},
        ),
        (
            DRAFTS[5],
            {"$recursiveAnchor": True, "properties": {"next": {"$recursiveRef": "#"}, "value": {"type": "integer"}}},
        ),
    ],
)
def test_dynamic_references(dialect: str, tree: dict[str, Any]) -> None:
    old = {"$schema": dialect, "type": "object", **tree}
    new = json.loads(json.dumps(old).replace("integer", "string"))
    assert changes(old, old) == []
    assert set(changes(old, new)) == {"TYPE_CHANGED"}


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize(
    "where", ["#/$defs/none", "#none", "other.json", "http://localhost:1/x.json", "http://[", "#/%zz"]
)
def test_what_leads_to_nothing(keyword: str, where: str) -> None:
    with pytest.raises(SchemaParseError, match="leads to nothing"):
        parse("JSON", json.dumps({"$schema": MODERN, "properties": {"a": {keyword: where}}}))


# -- what is kept already


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "object", "properties": {"a": {"type": "text"}, "b": {"$ref": "#/gone"}, "c": 5}}',
        '{"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "patternProperties": {"(": {}}}',
        '{"type": "object", "properties": {"a": {"type": "number", "maximum": Infinity, "minimum": NaN}}}',
        '{"type": "object", "properties": {"a": {"minimum": "5", "required": true, "allOf": [5], "enum": 7}}}',
        '{"$id": 5, "type": ["object", "thing"], "items": "x", "dependencies": {"a": 5}}',
    ],
)
def test_what_is_stored_stays_readable(text: str) -> None:
    with pytest.raises(SchemaParseError):
        parse("JSON", text)
    stored = parse("JSON", text, Documents(), Strictness.STORED)
    new = parse("JSON", '{"type": "object"}')
    assert isinstance(new.incompatibilities(stored), list)
    assert isinstance(stored.incompatibilities(new), list)
    assert stored.identity


def test_depth() -> None:
    text = '{"items":' * 300 + '{"type":"string"}' + "}" * 300
    assert compare("JSON", text, text) == []
    with pytest.raises(SchemaParseError, match="deeper than 1000 levels"):
        parse("JSON", '{"items":' * 1_001 + "true" + "}" * 1_001)
