"""Whatever a record holds, at most that record goes to the quarantine, with its reason."""

from __future__ import annotations

import json
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")

import fastavro
import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.schemas.arrow import ColumnDecoder, decoder_of
from kafkapy.schemas.types import AVRO, JSON, Schema
from kafkapy.warehouse.decoding import SchemaValues, ValueDecoder
from kafkapy.warehouse.ingest import TopicSettings
from tests.warehouse.ran_task import Ran
from tests.warehouse.records import Sent, records

MOST, LEAST = 2**63 - 1, -(2**63)


def avro(kind: Any, value: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(kind), value)
    return out.getvalue()


def record(kind: Any) -> Schema:
    return Schema(json.dumps({"type": "record", "name": "E", "fields": [{"name": "at", "type": kind}]}), AVRO)


def logical(kind: str, name: str, **more: Any) -> Any:
    return {"type": kind, "logicalType": name, **more}


def read(schema: Schema, *values: bytes) -> tuple[list[Any], list[str]]:
    """What is in the field `at` of the rows, and the reasons of the others; each alone and all together are the same."""
    found = SchemaValues(None, schema, 0)
    together = found.read(pa.array(values, pa.binary()))
    alone = [found.read(pa.array([value], pa.binary())) for value in values]
    assert together.places.tolist() == [place for place, each in enumerate(alone) if len(each.rows)]
    assert together.reasons == {place: each.reasons[0] for place, each in enumerate(alone) if each.reasons}
    rows = pa.concat_arrays([each.rows for each in alone])
    assert shown(together.rows) == shown(rows)
    assert all(reason.strip() for reason in together.reasons.values())
    column = together.rows.field(0)
    if pa.types.is_list(column.type) and pa.types.is_temporal(column.type.value_type):
        column = column.flatten()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist(), list(together.reasons.values())


def same_as_one_by_one(schema: Schema, values: list[bytes]) -> None:
    """What Arrow's parser and checks of columns make of JSON is what Python's parser and jsonschema make of it."""
    decoder = decoder_of(None, schema)
    found, failures = decoder.read(values)
    expected, faults = ColumnDecoder.read(decoder, values)
    assert {row: str(error) for row, error in failures.items()} == {row: str(error) for row, error in faults.items()}
    assert shown(found) == shown(expected)


def shown(column: pa.Array) -> Any:
    """What can be compared: Python has no type for some times, and NaN is not itself."""
    if pa.types.is_struct(column.type):
        return [column.is_null().to_pylist(), *(shown(each) for each in column.flatten())]
    if pa.types.is_list(column.type) or pa.types.is_map(column.type):
        values = column.flatten() if pa.types.is_list(column.type) else column.items
        keys = [] if pa.types.is_list(column.type) else column.keys.to_pylist()
        return [column.is_null().to_pylist(), np.diff(column.offsets).tolist(), keys, shown(values)]
    return column.to_string(window=10**6)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (logical("int", "time-millis"), 1000, 1000),
        (logical("long", "time-micros"), MOST, MOST),
        (logical("long", "timestamp-millis"), 1_700_000_000_123, 1_700_000_000_123_000),
        (logical("long", "timestamp-millis"), -1, -1000),
        (logical("long", "timestamp-nanos"), 1_700_000_000_123_456_789, 1_700_000_000_123_456),
        (logical("long", "timestamp-nanos"), -1, -1),
        (logical("long", "local-timestamp-nanos"), LEAST, LEAST // 1000),
        (logical("long", "timestamp-micros"), MOST, MOST),
        (logical("int", "timestamp-millis"), 5, 5),
        (logical("string", "decimal", precision=2), "x", "x"),
        (logical("long", "what-is-this"), 7, 7),
    ],
)
def test_times_are_cut_to_microseconds_and_unknown_logical_types_count_for_nothing(
    kind: Any, value: Any, expected: int
) -> None:
    plain = kind["type"]
    good = avro(plain, value)
    assert read(record(kind), good, b"\xff" * 11, good)[0] == [expected, expected]
    in_list = avro({"type": "array", "items": plain}, [value])
    assert read(record({"type": "array", "items": kind}), in_list, b"\x01", in_list)[0] in (
        [expected, expected],
        [[expected], [expected]],
    )


@pytest.mark.parametrize("name", ["timestamp-millis", "local-timestamp-millis"])
@pytest.mark.parametrize("value", [9_223_372_036_825_200_000, LEAST, MOST // 1000 + 1])
def test_a_time_out_of_bounds_is_its_own_records_fault(name: str, value: int) -> None:
    rows, reasons = read(record(logical("long", name)), avro("long", 1), avro("long", value), avro("long", 2))
    assert rows == [1000, 2000]
    assert len(reasons) == 1
    assert str(value) in reasons[0]


def test_decimals() -> None:
    money = logical("bytes", "decimal", precision=4, scale=2)
    values = [b"\x00", b"\xff", b"\x27\x0f", b"\x27\x10", b"", b"\x00" * 20 + b"\x01", b"\x80" + b"\x00" * 20]
    rows, reasons = read(record(money), *(avro("bytes", value) for value in values))
    assert list(map(str, rows)) == ["0.00", "-0.01", "99.99", "0.01"]
    assert "more than the 4 digits" in reasons[0]
    assert "no bytes" in reasons[1]
    fixed = {"type": "fixed", "name": "F", "size": 3, "logicalType": "decimal", "precision": 6, "scale": 0}
    assert list(map(str, read(record(fixed), b"\xff\xff\xfe")[0])) == ["-2"]


def test_bytes_of_no_such_value() -> None:
    """They stand beside a time, whose conversion sees none of them."""
    schema = record(logical("long", "timestamp-millis"))
    rows, reasons = read(schema, b"\xfe" + b"\xff" * 8 + b"\x01junk", avro("long", 1), b"", b"\x80")
    assert rows == [1000]
    assert reasons[1] == "its bytes end before the value does"


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "array", "items": "null"},
        {"type": "array", "items": {"type": "record", "name": "Empty", "fields": []}},
        ["null", "E"],
        ["long", "string"],
        logical("bytes", "decimal", precision=90),
        {"type": "enum", "name": "X", "symbols": []},
    ],
)
def test_a_schema_without_rows_is_a_reason_and_no_failure(kind: Any) -> None:
    decoder = ValueDecoder(None, record(kind))
    found = decoder.of(0)
    assert isinstance(found, str) or read(record(kind), b"\x00", b"\x02")[0] == []


TEXT = Schema(json.dumps({"type": "object", "properties": {"at": {"type": "string"}}}), JSON)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"at":"\\ud83d"}', "half a surrogate pair"),
        (b'{"at":"\xff"}', "not utf-8"),
        (b"[]", "is not of type 'object'"),
        (b'""', "is not of type 'object'"),
        (b"null", "is not of type 'object'"),
        (b'{"at":1.5}', "1.5 is not of type 'string' (at $.at)"),
        (b'{"at":null}', "None is not of type 'string' (at $.at)"),
        (b'{"at":"a","x":NaN}', "NaN"),
        (b'{"at":"a","x":1e999}', "1e999"),
        (b'{"at":"a\nb"}', "control character"),
        (b'{"at":"a"}{"at":"b"}', "Extra data"),
        (b'{"at":"a","x":' + b"[" * 9000 + b"]" * 9000 + b"}", "nested too deeply"),
        (b"", "Expecting value"),
    ],
)
def test_json_that_is_none(value: bytes, reason: str) -> None:
    rows, reasons = read(TEXT, b'{"at":"a"}', value, b'{"at":"\\u0062"}', b'\xef\xbb\xbf{"at":"c"}', b"{}")
    assert rows == ["a", "b", "c", None]
    assert reason in reasons[0]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ({"type": "integer"}, b'{"at":1.0}', b'{"at":1.5}'),
        ({"type": "integer"}, b'{"at":9223372036854775807}', b'{"at":9223372036854775808}'),
        ({"type": "integer", "minimum": 0}, b'{"at":0}', b'{"at":-1}'),
        ({"type": "number", "exclusiveMaximum": 1}, b'{"at":0.5}', b'{"at":1}'),
        ({"type": "string", "maxLength": 1}, '{"at":"ü"}'.encode(), b'{"at":"ab"}'),
        ({"enum": ["a", None]}, b'{"at":null}', b'{"at":"b"}'),
        ({"type": ["string", "null"], "const": "a"}, b'{"at":"a"}', b'{"at":null}'),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, b'{"at":["a"]}', b'{"at":[]}'),
        ({"type": "array", "items": {"type": "string"}}, b'{"at":[]}', b'{"at":[null]}'),
        (
            {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            b'{"at":{"x":1}}',
            b'{"at":{}}',
        ),
        ({"type": "string", "pattern": "^a"}, b'{"at":"ab"}', b'{"at":"b"}'),
        ({"type": "number"}, b'{"at":123456789012345678901234567890}', b'{"at":true}'),
    ],
)
@pytest.mark.parametrize("closed", [False, True])
def test_json_is_held_against_its_schema(kind: Any, good: bytes, bad: bytes, closed: bool) -> None:
    schema: Any = {"type": "object", "properties": {"at": kind}, "required": ["at"]}
    if closed:
        schema["additionalProperties"] = False
    values = [good, bad, b"{}", good, good[:-1] + b',"more":1}']
    rows, reasons = read(Schema(json.dumps(schema), JSON), *values)
    assert len(rows) == (2 if closed else 3)
    assert "'at' is a required property" in reasons[1]


def test_ids_of_schemas_that_cannot_be(tmp_path: Path) -> None:
    from tests.schemas.registry_server import running_registry

    with running_registry() as server:
        values = [b"\x00\xff\xff\xff\xffx", b"\x00\x00\x00\x00\x63x", b"\x01\x00\x00\x00\x01x", b"\x00", b""]
        sent = [Sent(value, f"e{n}") for n, value in enumerate(values)]
        registry = json.dumps({"url": server.url})
        ran = Ran(tmp_path, [records(sent)], TopicSettings("events", "event-id"), registry=registry)
    reasons = {row["event_id"]: row["reason"] for row in ran.rows[""]}
    assert reasons["e0"] == "schema 4294967295 is not in the registry"
    assert reasons["e1"] == "schema 99 is not in the registry"
    assert all("wire format" in reasons[id] for id in ("e2", "e3", "e4"))


def test_a_schema_that_was_unknown_is_asked_for_again() -> None:
    from kafkapy.schemas import SchemaRegistryClient
    from tests.schemas.registry_server import running_registry

    now = [0.0]
    with running_registry() as server:
        registry = SchemaRegistryClient(server.url)
        decoder = ValueDecoder(registry, None, lambda: now[0])
        assert decoder.of(1) == "schema 1 is not in the registry"
        registry.register_schema("s", record("long"))
        assert decoder.of(1) == "schema 1 is not in the registry"
        now[0] = 60.0
        assert isinstance(decoder.of(1), SchemaValues)


PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
LOGICAL = [
    "date",
    "time-millis",
    "time-micros",
    "timestamp-millis",
    "timestamp-micros",
    "timestamp-nanos",
    "local-timestamp-millis",
    "local-timestamp-micros",
    "local-timestamp-nanos",
    "uuid",
    "duration",
    "decimal",
]


def _named(draw: Any, kind: dict[str, Any]) -> dict[str, Any]:
    return {**kind, "name": f"N{draw(st.integers(0, 10**9))}"}


@st.composite
def avro_types(draw: Any, depth: int = 3) -> Any:
    shape = draw(
        st.sampled_from(["plain", "logical", "fixed", "enum"] + ["array", "map", "maybe", "record"] * (depth > 0))
    )
    inner = avro_types(depth - 1)
    if shape == "logical":
        precision, scale = draw(st.integers(1, 40)), draw(st.integers(0, 6))
        name, kind = draw(st.sampled_from(LOGICAL)), draw(st.sampled_from(PRIMITIVES))
        return logical(kind, name, precision=max(precision, scale), scale=scale)
    if shape == "fixed":
        fixed = _named(draw, {"type": "fixed", "size": draw(st.integers(0, 20))})
        if draw(st.booleans()) and fixed["size"]:
            fixed |= {"logicalType": "decimal", "precision": 2, "scale": 1}
        return fixed
    if shape == "enum":
        return _named(draw, {"type": "enum", "symbols": ["A", "B"]})
    if shape == "array":
        return {"type": "array", "items": draw(inner)}
    if shape == "map":
        return {"type": "map", "values": draw(inner)}
    if shape == "maybe":
        found = draw(inner)
        return ["null", found] if not isinstance(found, list) and found != "null" else found
    if shape == "record":
        fields = draw(st.lists(inner, max_size=3))
        return _named(draw, {"type": "record", "fields": [{"name": f"f{n}", "type": t} for n, t in enumerate(fields)]})
    return draw(st.sampled_from(PRIMITIVES))


EDGES = st.sampled_from([b"\x00", b"\x02", b"\x01", b"\xff" * 9 + b"\x01", b"\xfe" + b"\xff" * 8 + b"\x01", b"\x7f"])
BYTES = st.lists(EDGES | st.binary(max_size=6), max_size=8).map(b"".join)


def is_row_or_reason(schema: Schema, values: list[bytes]) -> None:
    try:
        found = ValueDecoder(None, schema).of(0)
    except Exception as error:
        raise AssertionError(f"{schema} {error}") from error
    if isinstance(found, SchemaValues):
        read(schema, *values)
        if schema.schema_type == JSON:
            same_as_one_by_one(schema, values)
    with tempfile.TemporaryDirectory() as directory:
        topic = TopicSettings("events", "event-id", schema.schema_str, schema.schema_type)
        ran = Ran(Path(directory), [records([Sent(value, f"e{n}") for n, value in enumerate(values)])], topic)
    assert sum(file["rows"] for file in ran.files) == len(values)


@settings(deadline=None, max_examples=150)
@given(kind=avro_types(), values=st.lists(BYTES, min_size=1, max_size=12))
def test_any_avro(kind: Any, values: list[bytes]) -> None:
    is_row_or_reason(record(kind), values)


@st.composite
def json_types(draw: Any, depth: int = 2) -> Any:
    shape = draw(
        st.sampled_from(
            ["text", "whole", "number", "boolean", "enum"] + ["list", "object", "map", "maybe"] * (depth > 0)
        )
    )
    inner = json_types(depth - 1)
    if shape == "list":
        return {
            "type": "array",
            "items": draw(inner),
            **draw(st.sampled_from([{}, {"minItems": 1}, {"uniqueItems": True}])),
        }
    if shape == "object":
        names = draw(st.lists(st.sampled_from(["a", "A", "og:title", "x y", "", "`", "\x00"]), unique=True, max_size=3))
        closed = draw(st.sampled_from([{}, {"additionalProperties": False}]))
        properties = {name: draw(inner) for name in names}
        return {"type": "object", "properties": properties, "required": names[: draw(st.integers(0, 3))], **closed}
    if shape == "map":
        return {"type": "object", "additionalProperties": draw(inner)}
    if shape == "maybe":
        found = draw(inner)
        if "type" in found and draw(st.booleans()):
            return {**found, "type": [found["type"], "null"]} if isinstance(found["type"], str) else found
        return {draw(st.sampled_from(["oneOf", "anyOf"])): [{"type": "null"}, found]}
    more: Any = {
        "text": st.sampled_from([{}, {"maxLength": 2}, {"pattern": "^a"}, {"enum": ["a", "b"]}]),
        "whole": st.sampled_from([{}, {"minimum": 0}, {"exclusiveMaximum": 3, "minimum": -1}, {"multipleOf": 2}]),
        "number": st.sampled_from([{}, {"minimum": 0.5}, {"maximum": 2**53 + 1}]),
        "boolean": st.sampled_from([{}, {"const": True}]),
        "enum": st.just({"enum": ["a", "b", None]}),
    }
    names = {"text": "string", "whole": "integer", "number": "number", "boolean": "boolean"}
    found = draw(more[shape])
    return found if shape == "enum" else {"type": names[shape], **found}


def _loose(strategy: Any) -> Any:
    keys = st.sampled_from(["at", "a", "A", "og:title", "x y", "", "more"])
    return st.lists(strategy, max_size=3) | st.dictionaries(keys, strategy, max_size=3)


LEAVES = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        1.0,
        1.5,
        2**53 + 1,
        2**63,
        10**30,
        "",
        "a",
        "abc",
        "ü",
        "null",
        "NaN",
        '"a"',
        "\ud83d",
        float("nan"),
    ]
)
TEXTS = st.recursive(LEAVES, _loose, max_leaves=6)


@st.composite
def json_values(draw: Any) -> bytes:
    if draw(st.integers(0, 9)) == 0:
        return bytes(
            draw(st.binary(max_size=8) | st.sampled_from([b"{}", b"{", b'{"at":1} {"at":2}', b'{"at":1,"at":2}']))
        )
    value: Any = {"at": draw(TEXTS)} if draw(st.integers(0, 4)) else draw(TEXTS)
    return json.dumps(value, indent=draw(st.sampled_from([None, 1])), ensure_ascii=draw(st.booleans())).encode(
        "utf-8", "surrogatepass"
    )


@settings(deadline=None, max_examples=200)
@given(kind=json_types(), more=st.booleans(), values=st.lists(json_values(), min_size=1, max_size=24))
def test_any_json(kind: Any, more: bool, values: list[bytes]) -> None:
    schema: Any = {"type": "object", "properties": {"at": kind}}
    if more:
        schema |= {"required": ["at"], "additionalProperties": False}
    is_row_or_reason(Schema(json.dumps(schema), JSON), values)
