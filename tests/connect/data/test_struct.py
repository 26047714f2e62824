"""Tests of structs that are made of other structs' values, and of the cache of what belongs to a schema."""

from __future__ import annotations

import pytest

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.scalars import Int64
from kafkapy.connect.data.schema import INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SourceRecord

_ROW = SchemaBuilder(Type.STRUCT).field("id", INT64_SCHEMA).field("name", OPTIONAL_STRING_SCHEMA).build()


def test_values_are_copied_and_missing_ones_are_not_set() -> None:
    row = Struct(_ROW, {"id": 5})
    values = row.values()
    copy = Struct.of_values(_ROW, values[:1])
    assert copy == row and copy.put("name", "a") != row
    with pytest.raises(DataException, match="required field"):
        Struct.of_values(_ROW, [None])


def test_defaults_stand_for_what_is_not_set() -> None:
    schema = SchemaBuilder(Type.STRUCT).field("n", SchemaBuilder(Type.INT64).default(7).build()).build()
    assert (Struct(schema).values(), Struct(schema).values(True)) == ([None], [7])


@pytest.mark.parametrize("value", ["x", 2**63, 1.5, True])
def test_a_value_of_another_class_is_examined(value: object) -> None:
    with pytest.raises(DataException, match="Invalid Java object"):
        Struct(_ROW).put("id", value)
    assert type(Struct(_ROW).put("id", 5)["id"]) is Int64
    assert Schema(Type.INT64, name="org.apache.kafka.connect.data.Timestamp").value_class is None


def test_the_cache_keeps_no_more_than_it_may() -> None:
    cache, made = SchemaCache[str, str](2), []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    assert [cache.get(key, make) for key in "aabaca"] == ["A", "A", "B", "A", "C", "A"]
    assert (made, len(cache)) == (["a", "b", "c"], 2)
    cache.get("b", make)
    assert made == ["a", "b", "c", "b"]


def test_copies_of_a_record_have_their_own_headers() -> None:
    record = SourceRecord({}, {"at": 1}, "topic", value=1)
    for copy in (record.with_value(None, 2), record.with_key(None, 2), record.with_topic("b"), record.replace(value=2)):
        copy.headers.add("a", 1)
        assert (len(record.headers), copy.source_offset, record == copy) == (0, {"at": 1}, False)
    with pytest.raises(TypeError, match="no contents source_offset"):
        record.replace(source_offset={})
