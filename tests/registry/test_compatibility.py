"""What can be read with a newer schema, and what not, by format; the answers name the field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkapy.registry.compatibility import SchemaParseError, compare


def record(*fields: dict[str, Any], name: str = "Order") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": list(fields)})


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string"}


def kinds(schema_type: str, old: str, new: str, **references: Any) -> list[str]:
    return [each.kind for each in compare(schema_type, old, new, **references)]


def test_avro_field_without_default() -> None:
    (found,) = compare("AVRO", record(ID), record(ID, NOTE))
    assert (found.kind, found.path, found.extra) == ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1", "note")
    assert "'note'" in found.description
    assert compare("AVRO", record(ID), record(ID, NOTE | {"default": ""})) == []
    assert compare("AVRO", record(ID, NOTE), record(ID)) == []


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("int", "long", True),
        ("long", "int", False),
        ("string", "bytes", True),
        ("int", ["null", "long"], True),
        (["null", "int"], "int", False),
        (["int", "string"], ["string", "long"], True),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}, False),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "double"}, True),
        ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}, False),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, {"type": "enum", "name": "E", "symbols": ["A"]}, False),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"},
            True,
        ),
    ],
)
def test_avro_types(old: Any, new: Any, fits: bool) -> None:
    assert (compare("AVRO", json.dumps(old), json.dumps(new)) == []) is fits


def test_avro_names_and_aliases() -> None:
    assert kinds("AVRO", record(ID), record(ID, name="Sale")) == ["NAME_MISMATCH"]
    renamed = json.loads(record(ID, name="Sale")) | {"aliases": ["Order"]}
    assert kinds("AVRO", record(ID), json.dumps(renamed)) == []
    field = {"name": "number", "type": "long", "aliases": ["id"]}
    assert kinds("AVRO", record(ID), record(field)) == []


def test_avro_recursive_types_and_references() -> None:
    tree = record({"name": "next", "type": ["null", "Order"]}, ID)
    assert kinds("AVRO", tree, tree) == []
    assert kinds("AVRO", tree, record({"name": "next", "type": ["null", "Order"]}, NOTE)) != []
    user = record(NOTE, name="User")
    owned = record({"name": "user", "type": "shop.User"})
    older = record(ID, name="User")
    assert kinds("AVRO", owned, owned, references={"shop.User": user}) == []
    assert kinds("AVRO", owned, owned, references={"shop.User": user}, old_references={"shop.User": older}) == [
        "READER_FIELD_MISSING_DEFAULT_VALUE"
    ]


@pytest.mark.parametrize(
    ("schema_type", "text", "why"),
    [
        ("AVRO", "{", "No JSON"),
        ("AVRO", '"nothing"', "not a defined name"),
        ("AVRO", record(ID, ID), "Duplicate field id"),
        ("AVRO", record({"name": "a", "type": "int", "default": "x"}), "Invalid default for field a"),
        ("AVRO", "[" * 5_000, "No JSON"),
        ("AVRO", '{"type":"array","items":' * 1_001 + '"int"' + "}" * 1_001, "deeper than 1000 levels"),
        ("JSON", "[]", "is an object"),
        ("JSON", '{"type": "text"}', "text"),
        ("JSON", '{"$ref": "#/definitions/none"}', "leads to nothing"),
        ("JSON", '{"$ref": "http://localhost:1/x.json"}', "leads to nothing"),
        ("PROTOBUF", "message {", "Syntax error in 1:9"),
        ("PROTOBUF", 'syntax = "proto3"; message A { B b = 1; }', "couldn't resolve name 'B'"),
        ("PROTOBUF", 'syntax = "proto3"; import "other.proto";', 'import "other.proto"'),
        ("PROTOBUF", 'syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }', "duplicate field number"),
        ("XML", "", "XML"),
    ],
)
def test_what_is_no_schema(schema_type: str, text: str, why: str) -> None:
    with pytest.raises(SchemaParseError, match=why):
        compare(schema_type, text, text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no struct"),
        ("struct A { 1: required B b }", "B"),
        ('include "/etc/passwd"\nstruct A { 1: i32 a }', "includes no other files"),
    ],
)
def test_what_is_no_thrift(text: str, why: str) -> None:
    pytest.importorskip("thriftpy2")
    with pytest.raises(SchemaParseError, match=why):
        compare("THRIFT", text, text)


def closed(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties, "additionalProperties": False})


INTEGER, STRING = {"type": "integer"}, {"type": "string"}


def test_json_properties_of_closed_and_open_objects() -> None:
    assert kinds("JSON", closed(a=INTEGER), closed(a=INTEGER, b=STRING)) == []
    assert kinds("JSON", closed(a=INTEGER, b=STRING), closed(a=INTEGER)) == [
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"
    ]
    open_object = json.dumps({"type": "object", "properties": {"a": INTEGER}})
    wider = json.dumps({"type": "object", "properties": {"a": INTEGER, "b": STRING}})
    (found,) = compare("JSON", open_object, wider)
    assert found.kind == "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
    assert found.path == "#/properties/b"
    assert "#/properties/b" in found.description


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (INTEGER, {"type": "number"}, []),
        ({"type": "number"}, INTEGER, ["TYPE_NARROWED"]),
        ({"maximum": 5}, {"maximum": 4}, ["MAXIMUM_DECREASED"]),
        ({"multipleOf": 4}, {"multipleOf": 2}, []),
        ({"multipleOf": 2}, {"multipleOf": 0.4}, []),
        ({"multipleOf": 2}, {"multipleOf": 3}, ["MULTIPLE_OF_CHANGED"]),
        ({"enum": [1, 2]}, {"enum": [1, 2, 3]}, []),
        ({"enum": [1]}, {"enum": [True]}, ["ENUM_ARRAY_CHANGED"]),
        ({"oneOf": [INTEGER, STRING]}, {"oneOf": [STRING, {"type": "null"}, INTEGER]}, []),
        ({"oneOf": [INTEGER, STRING]}, {"oneOf": [STRING]}, ["SUM_TYPE_NARROWED"]),
        ({"allOf": [INTEGER]}, {"allOf": [INTEGER, {"maximum": 5}]}, ["PRODUCT_TYPE_EXTENDED"]),
        ({"not": STRING}, {"not": {"type": "string", "maxLength": 3}}, []),
        (
            {"type": "array", "items": [INTEGER]},
            {"type": "array", "items": [INTEGER, STRING]},
            ["ITEM_ADDED_TO_OPEN_CONTENT_MODEL"],
        ),
        (STRING, True, []),
        (True, STRING, ["TYPE_CHANGED"]),
        (False, STRING, []),
    ],
)
def test_json_keywords(old: Any, new: Any, expected: list[str]) -> None:
    assert kinds("JSON", json.dumps(old), json.dumps(new)) == expected


def test_json_circles_are_compared_to_their_end() -> None:
    def tree(leaf: Any) -> str:
        node = {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}, "leaf": leaf}}
        return json.dumps({"definitions": {"node": node}, "oneOf": [{"$ref": "#/definitions/node"}, {"type": "null"}]})

    assert kinds("JSON", tree(INTEGER), tree({"type": "number"})) == []
    assert kinds("JSON", tree(INTEGER), tree(STRING)) == ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"]


def test_json_references() -> None:
    schema = json.dumps(
        {"type": "object", "properties": {"user": {"$ref": "user.json"}}, "additionalProperties": False}
    )
    texts = {"user.json": json.dumps(STRING)}
    assert kinds("JSON", schema, schema, references=texts) == []
    assert kinds("JSON", schema, schema, references={"user.json": json.dumps(INTEGER)}, old_references=texts) == [
        "TYPE_CHANGED"
    ]


def proto(body: str) -> str:
    return f'syntax = "proto3"; package shop; message Order {{ {body} }}'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("int32 a = 1;", "int64 a = 1; string b = 2;", []),
        ("int32 a = 1;", "string b = 2;", []),
        ("int32 a = 1;", "sint32 a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
        ("int32 a = 1;", "Order a = 1;", ["FIELD_KIND_CHANGED"]),
        ("string a = 1;", "bytes renamed = 1;", []),
        ("optional int32 a = 1;", "repeated int32 a = 1;", ["FIELD_NUMERIC_LABEL_CHANGED"]),
        ("map<string, int32> a = 1;", "map<string, int64> a = 1;", []),
        ("map<string, int32> a = 1;", "map<string, string> a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
        ("map<string, int32> a = 1;", "repeated string a = 1;", ["FIELD_KIND_CHANGED"]),
        ("int32 a = 1;", "oneof x { int32 a = 1; string b = 2; }", []),
        ("int32 a = 1; int32 b = 2;", "oneof x { int32 a = 1; int32 b = 2; }", ["MULTIPLE_FIELDS_MOVED_TO_ONEOF"]),
        ("oneof x { int32 a = 1; int32 b = 2; }", "oneof x { int32 a = 1; }", ["ONEOF_FIELD_REMOVED"]),
        ("oneof x { int32 a = 1; }", "int32 a = 1;", []),
        ("message In {} In a = 1;", "message In {} message Out {} Out a = 1;", ["FIELD_NAMED_TYPE_CHANGED"]),
        ("message In {}", "", ["MESSAGE_REMOVED"]),
        ("enum E { A = 0; } E a = 1;", "int32 a = 1;", []),
    ],
)
def test_protobuf_messages(old: str, new: str, expected: list[str]) -> None:
    assert kinds("PROTOBUF", proto(old), proto(new)) == expected


def test_protobuf_names_the_field() -> None:
    (found,) = compare("PROTOBUF", proto("int32 amount = 3;"), proto("string amount = 3;"))
    assert found.path == "#/Order/3"
    assert "amount" in found.description


def test_protobuf_packages_and_references() -> None:
    moved = proto("").replace("package shop", "package store")
    assert kinds("PROTOBUF", proto(""), moved) == ["PACKAGE_CHANGED"]
    text = 'syntax = "proto3"; import "user.proto"; message Order { User user = 1; }'
    older = {"user.proto": 'syntax = "proto3"; message User { int32 id = 1; }'}
    newer = {"user.proto": 'syntax = "proto3"; message User { string id = 1; }'}
    assert kinds("PROTOBUF", text, text, references=older) == []
    assert kinds("PROTOBUF", text, text, references=newer, old_references=older) == [
        "FIELD_SCALAR_KIND_CHANGED",
        "FIELD_NAMED_TYPE_CHANGED",
    ]
