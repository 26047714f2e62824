"""Avro by columns: the same as fastavro, value by value."""

from __future__ import annotations

import random
import struct
from io import BytesIO
from typing import Any

import pytest

pytest.importorskip("fastavro")

import fastavro
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.schemas.avro_columns import Reader, compile_reader, read_values
from kafkapy.schemas.column_types import type_of_avro, without_logical_types

INNER = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "string"}]}
FIELDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": ("int", st.integers(-(2**31), 2**31 - 1)),
    "long": ("long", st.integers(-(2**63), 2**63 - 1)),
    "string": ("string", st.text(max_size=12)),
    "bytes": ("bytes", st.binary(max_size=12)),
    "boolean": ("boolean", st.booleans()),
    "double": ("double", st.floats(allow_nan=False)),
    "float": ("float", st.integers(-1000, 1000).map(lambda n: n / 4)),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, st.sampled_from("AB")),
    "maybe_long": (["null", "long"], st.none() | st.integers(-5, 300)),
    "maybe_text": (["string", "null"], st.none() | st.text(max_size=3)),
    "time": ({"type": "long", "logicalType": "timestamp-millis"}, st.integers(0, 2**40)),
    "inner": (INNER, st.fixed_dictionaries({"x": st.integers(0, 9), "y": st.text(max_size=2)})),
    "maybe_inner": (["null", "Inner"], st.none() | st.fixed_dictionaries({"x": st.just(1), "y": st.just("b")})),
    "nothing": ("null", st.none()),
}


def schema_of(names: list[str]) -> Any:
    fields = [{"name": name, "type": FIELDS[name][0]} for name in names]
    return fastavro.parse_schema({"type": "record", "name": "R", "fields": fields})


def columnar(schema: Any) -> tuple[Reader, pa.DataType]:
    type = type_of_avro(schema)
    reader = compile_reader(fastavro.parse_schema(without_logical_types(schema)), type)
    assert reader is not None
    return reader, type


def written(schema: Any, value: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(without_logical_types(schema)), value)
    return out.getvalue()


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_the_same_values(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from([n for n in FIELDS if "inner" not in n]), unique=True, max_size=8))
    names += data.draw(st.sampled_from([[], ["inner"], ["inner", "maybe_inner"]]))
    schema = schema_of(names)
    values = data.draw(st.lists(st.fixed_dictionaries({name: FIELDS[name][1] for name in names}), max_size=20))
    reader, type = columnar(schema)
    found, broken = read_values(reader, pa.array([b"12345" + written(schema, v) for v in values], pa.binary()), 5)
    assert not broken.any()
    assert found.cast(type).equals(pa.array(values, type))


NEGATIVE = ((1, 3), (7, 1), (7, 3))
"""Where the test below may put which byte, so that a union's branch or an enum's symbol is a negative one: fastavro counts these
from the end, as Python does; Avro knows none."""


@settings(deadline=None, max_examples=200)
@given(seed=st.integers(0, 10**9))
def test_damage_stays_with_its_value(seed: int) -> None:
    """Bytes that fastavro refuses are broken here, and the values beside them are whole."""
    dice = random.Random(seed)
    schema = schema_of(["int", "maybe_text", "enum", "double", "string"])
    reader, type = columnar(schema)
    values = [
        {"int": n, "maybe_text": None if n % 2 else "ü" * n, "enum": "B", "double": n / 2, "string": "text"}
        for n in range(6)
    ]
    data = [written(schema, value) for value in values]
    damaged = bytearray(data[2])
    if dice.random() < 0.5:
        del damaged[dice.randrange(len(damaged)) :]
    else:
        damaged[dice.randrange(len(damaged))] = dice.randrange(256)
    data[2] = bytes(damaged)
    found, broken = read_values(reader, pa.array(data, pa.binary()), 0)
    rest = pa.array([0, 1, 3, 4, 5])
    assert not broken[[0, 1, 3, 4, 5]].any()
    assert found.take(rest).equals(pa.array(values, type).take(rest))
    source = BytesIO(data[2])
    try:
        expected = fastavro.schemaless_reader(source, schema)
        whole = source.tell() == len(data[2])
    except Exception:
        whole = False
    if any(len(data[2]) > at and data[2][at] == byte for at, byte in NEGATIVE):
        whole = False
    assert bool(broken[2]) != whole
    if whole:
        assert found.slice(2, 1).equals(pa.array([expected], type))


def test_texts_that_are_none() -> None:
    schema = schema_of(["string"])
    reader, _ = columnar(schema)
    found, broken = read_values(reader, pa.array([b"\x04\xff\xfe", b"\x02a"], pa.binary()), 0)
    assert broken.tolist() == [True, False]
    assert found.to_pylist()[1] == {"string": "a"}


def test_a_sliced_array() -> None:
    reader, _ = columnar(schema_of(["double"]))
    values = pa.array([struct.pack("<d", n) for n in range(9)], pa.binary()).slice(3, 4)
    found, broken = read_values(reader, values, 0)
    assert found.field(0).to_pylist() == [3, 4, 5, 6]
    assert not broken.any()
    assert len(read_values(reader, values.slice(0, 0), 0)[0]) == 0


@pytest.mark.parametrize(
    "type",
    [{"type": "array", "items": "int"}, {"type": "map", "values": "int"}, {"type": "fixed", "name": "F", "size": 3}],
    ids=lambda type: type["type"],
)
def test_what_needs_a_walk_of_its_own(type: Any) -> None:
    schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": [{"name": "a", "type": type}]})
    assert compile_reader(schema, type_of_avro(schema)) is None
