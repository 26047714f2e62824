from __future__ import annotations

import datetime
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")
pytest.importorskip("pyarrow")

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from kafkapy.schemas import (
    AvroSerializer,
    JSONSerializer,
    Schema,
    SchemaDeserializationError,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryUnavailableError,
    arrow,
)
from kafkapy.schemas.column_types import type_of_avro, type_of_json
from kafkapy.schemas.errors import SerdeError
from tests.schemas.registry_server import RegistryServer


def record(*fields: dict[str, Any], name: str = "R") -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


ID: dict[str, Any] = {"name": "id", "type": "long"}
NAME: dict[str, Any] = {"name": "name", "type": ["null", "string"], "default": None}
AGE: dict[str, Any] = {"name": "age", "type": "int", "default": 7}


def table_of(values: list[bytes | None]) -> Any:
    """As `poll_arrow` gives it, in two chunks, the first of which begins within a larger one."""
    offsets = pa.array(range(len(values)), pa.int64())
    whole = pa.chunked_array([pa.array([b"not seen", *values[:2]], pa.binary())[1:], pa.array(values[2:], pa.binary())])
    return pa.table(
        {
            "topic": pa.array(["t"] * len(values)),
            "partition": pa.array([3] * len(values), pa.int32()),
            "offset": offsets,
            "value": whole,
        }
    )


def test_records_become_structs(registry: SchemaRegistryClient) -> None:
    write = AvroSerializer(registry, record(ID, NAME)).serialize
    values = [{"id": 1, "name": "Ann"}, {"id": 2, "name": None}, {"id": 3, "name": "Zoë"}]
    table = arrow.decode(
        table_of([write("t", [], values[0]), None, *[write("t", [], each) for each in values[1:]]]), registry
    )
    assert table.schema.field("value").type == pa.struct([("id", pa.int64()), ("name", pa.string())])
    assert table.column("value").to_pylist() == [values[0], None, *values[1:]]
    assert table.column_names == ["topic", "partition", "offset", "value"]
    assert table.flatten().column("value.id").to_pylist() == [1, None, 2, 3]


def test_each_value_is_read_by_its_own_schema(registry: SchemaRegistryClient) -> None:
    old = AvroSerializer(registry, record(ID, {"name": "gone", "type": "string"})).serialize(
        "t", [], {"id": 1, "gone": "x"}
    )
    new = AvroSerializer(registry, record(ID, AGE)).serialize("t", [], {"id": 2, "age": 8})
    both = table_of([new, old, new])
    expected = [{"id": 2, "age": 8}, {"id": 1, "age": 7}, {"id": 2, "age": 8}]
    assert arrow.decode(both, registry).column("value").to_pylist() == expected
    given = arrow.decode(both, registry, reader_schema=record({"name": "id", "type": "double"}))
    assert given.column("value").to_pylist() == [{"id": 2.0}, {"id": 1.0}, {"id": 2.0}]


def test_all_types(registry: SchemaRegistryClient) -> None:
    number = uuid.uuid4()
    columns: list[tuple[Any, Any, Any, Any]] = [
        ("boolean", pa.bool_(), True, True),
        ("int", pa.int32(), 1, 1),
        ("float", pa.float32(), 0.5, 0.5),
        ("bytes", pa.binary(), b"x", b"x"),
        ({"type": "fixed", "name": "F", "size": 2}, pa.binary(2), b"ab", b"ab"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, pa.string(), "B", "B"),
        ({"type": "array", "items": "long"}, pa.list_(pa.int64()), [1, 2], [1, 2]),
        ({"type": "map", "values": "long"}, pa.map_(pa.string(), pa.int64()), {"a": 1}, [("a", 1)]),
        (["null", "int", "long"], pa.int64(), 1, 1),
        (["null", "string"], pa.string(), None, None),
        ({"type": "record", "name": "N", "fields": [ID]}, pa.struct([("id", pa.int64())]), {"id": 1}, {"id": 1}),
        ("N", pa.struct([("id", pa.int64())]), {"id": 2}, {"id": 2}),
    ]
    at = datetime.datetime(2026, 11, 23, 22, 1, 2, 345000, tzinfo=datetime.UTC)
    price = Decimal("12.30")
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    micros = {"type": "long", "logicalType": "local-timestamp-micros"}
    columns += [
        (decimal, pa.decimal128(9, 2), price, price),
        (millis, pa.timestamp("ms", "UTC"), at, at),
        (micros, pa.timestamp("us"), at.replace(tzinfo=None), at.replace(tzinfo=None)),
        ({"type": "int", "logicalType": "date"}, pa.date32(), at.date(), at.date()),
        ({"type": "int", "logicalType": "time-millis"}, pa.time32("ms"), at.time(), at.time()),
        ({"type": "string", "logicalType": "uuid"}, pa.string(), number, str(number)),
        (["null", {"type": "long", "logicalType": "timestamp-micros"}], pa.timestamp("us", "UTC"), at, at),
    ]
    schema = record(*[{"name": f"f{i}", "type": kind} for i, (kind, _, _, _) in enumerate(columns)])
    data = AvroSerializer(registry, schema).serialize("t", [], {f"f{i}": each[2] for i, each in enumerate(columns)})
    decoded = arrow.decode(table_of([data, data, None]), registry).column("value")
    assert list(decoded.type) == [pa.field(f"f{i}", each[1]) for i, each in enumerate(columns)]
    expected = {f"f{i}": each[3] for i, each in enumerate(columns)}
    assert decoded.to_pylist() == [expected, expected, None]


def test_values_that_are_no_records(registry: SchemaRegistryClient) -> None:
    data = AvroSerializer(registry, "long", is_key=True).serialize("t", [], 5)
    table = pa.table({"key": pa.array([data, None])})
    assert arrow.decode(table, registry, column="key").column("key").to_pylist() == [5, None]


def test_references(registry: SchemaRegistryClient) -> None:
    registry.register_schema("r", Schema(record(ID)))
    schema = Schema('{"type":"array","items":"R"}', references=(SchemaReference("R", "r", 1),))
    data = AvroSerializer(registry, schema).serialize("t", [], [{"id": 1}])
    assert arrow.decode(table_of([data, data]), registry).column("value").to_pylist() == [[{"id": 1}]] * 2


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (b"plain", r"at topic t, partition 3, offset 2 cannot be read: These bytes begin with 0x70"),
        (b"", r"offset 2 cannot be read: These 0 bytes"),
        (b"\x00\x00\x00\x00\x63\x02", r"offset 2 cannot be read: Schema 99 not found"),
        (b"\x00\x00\x00\x00\x01", r"offset 2 cannot be read: EOFError"),
        (b"\x00\x00\x00\x00\x01\x02\x00!", r"offset 2 cannot be read: ValueError: 1 bytes are left"),
    ],
)
def test_what_cannot_be_read(registry: SchemaRegistryClient, bad: bytes, sentence: str) -> None:
    good = AvroSerializer(registry, record(ID, NAME)).serialize("t", [], {"id": 1, "name": "Ann"})
    table = table_of([good, None, bad, good])
    with pytest.raises(SchemaDeserializationError, match=sentence):
        arrow.decode(table, registry)
    value = {"id": 1, "name": "Ann"}
    assert arrow.decode(table, registry, errors="null").column("value").to_pylist() == [value, None, None, value]


def test_a_registry_that_is_down_is_no_verdict_on_the_records(
    registry: SchemaRegistryClient, server: RegistryServer
) -> None:
    data = AvroSerializer(registry, record(ID)).serialize("t", [], {"id": 1})
    server.state.failures.append((503, {}))
    with pytest.raises(SchemaRegistryUnavailableError):
        arrow.decode(table_of([data, data]), registry, reader_schema=record(ID), errors="null")


def test_tables_without_values(registry: SchemaRegistryClient) -> None:
    nothing = table_of([None, None])
    assert arrow.decode(nothing, registry) is nothing
    typed = arrow.decode(nothing.slice(0, 0), registry, reader_schema=record(ID)).column("value")
    assert (typed.type, len(typed)) == (pa.struct([("id", pa.int64())]), 0)
    with pytest.raises(ValueError, match="no column 'what'"):
        arrow.decode(nothing, registry, column="what")


def test_schemas_without_a_type(registry: SchemaRegistryClient) -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    with pytest.raises(SerdeError, match="N contains itself"):
        type_of_avro(node)
    with pytest.raises(SerdeError, match="A union of int64 and string has no type"):
        type_of_avro(["long", "string"])
    with pytest.raises(SerdeError, match="leaves the properties open"):
        type_of_json({"type": "object"})
    with pytest.raises(SerdeError, match="contains itself"):
        type_of_json({"$ref": "#"})
    with pytest.raises(SerdeError, match="PROTOBUF"):
        arrow.decoder_of(None, Schema("", "PROTOBUF"))


USER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "score": {"type": ["number", "null"]},
        "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}},
    },
    "definitions": {"tag": {"enum": ["a", "b"]}},
}


def test_json(registry: SchemaRegistryClient) -> None:
    write = JSONSerializer(registry, json.dumps(USER), json_encode=lambda value: json.dumps(value, indent=2)).serialize
    values = [
        {"id": 1, "name": "Zoë", "score": 1, "tags": ["a"]},
        {"id": 2, "name": None, "tags": []},
        {"id": 3, "more": 1},
    ]
    table = arrow.decode(table_of([write("t", [], each) for each in values]), registry)
    assert table.column("value").to_pylist() == [
        {"id": 1, "name": "Zoë", "score": 1.0, "tags": ["a"]},
        {"id": 2, "name": None, "score": None, "tags": []},
        {"id": 3, "name": None, "score": None, "tags": None},
    ]


def test_json_one_by_one_is_the_same(registry: SchemaRegistryClient) -> None:
    """A null sends all values on the slow way."""
    write = JSONSerializer(registry, json.dumps(USER)).serialize
    rows = [write("t", [], {"id": i, "name": str(i), "score": i / 2, "tags": ["b"] * (i % 3)}) for i in range(20)]
    fast = arrow.decode(table_of([*rows]), registry).column("value")
    slow = arrow.decode(table_of([*rows, None]), registry).column("value")
    assert fast.type == slow.type
    assert fast.to_pylist() == slow.to_pylist()[:-1]


def test_json_maps_and_what_does_not_fit(registry: SchemaRegistryClient) -> None:
    open_map = {"type": "object", "additionalProperties": {"type": "integer"}}
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "m": open_map}}
    write = JSONSerializer(registry, json.dumps(schema), validate=False).serialize
    good = write("t", [], {"id": 1, "m": {"x": 1}})
    table = table_of([good, write("t", [], {"id": "no"}), write("t", [], {"id": 2})])
    with pytest.raises(SchemaDeserializationError, match="partition 3, offset 1"):
        arrow.decode(table, registry)
    assert arrow.decode(table, registry, errors="null").column("value").to_pylist() == [
        {"id": 1, "m": [("x", 1)]},
        None,
        {"id": 2, "m": None},
    ]
    mixed = table_of([good, AvroSerializer(registry, "long").serialize("u", [], 1)])
    with pytest.raises(
        SchemaDeserializationError, match="offset 1 cannot be read: The value was written with a schema of type AVRO"
    ):
        arrow.decode(mixed, registry, reader_schema=Schema(json.dumps(schema), "JSON"))


def test_json_values_that_hold_no_object_do_not_stand_for_each_other(registry: SchemaRegistryClient) -> None:
    write = JSONSerializer(registry, json.dumps(USER)).serialize
    good = write("t", [], {"id": 1})
    assert good is not None
    table = table_of([good, good + b'{"id":2}', good[:5], good])
    decoded = arrow.decode(table, registry, errors="null").column("value")
    assert [each and each["id"] for each in decoded.to_pylist()] == [1, None, None, 1]
