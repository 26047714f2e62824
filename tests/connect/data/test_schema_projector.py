from __future__ import annotations

from typing import Any

import pytest

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.scalars import Float32, Int64
from kafkapy.connect.data.schema import (
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.schema_projector import project
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import SchemaProjectorException

NUMBERS = [Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64]


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", NUMBERS)
def test_numbers_become_larger_types_only(source: Type, target: Type) -> None:
    value: Any = Float32(5) if source is Type.FLOAT32 else 5.0 if source is Type.FLOAT64 else 5
    if NUMBERS.index(source) <= NUMBERS.index(target):
        found = project(Schema(source), value, Schema(target))
        assert found == 5 and isinstance(found, float) == (target in (Type.FLOAT32, Type.FLOAT64))
    else:
        with pytest.raises(SchemaProjectorException, match="Schema type mismatch"):
            project(Schema(source), value, Schema(target))


def test_optional_values_need_a_default() -> None:
    with pytest.raises(SchemaProjectorException, match="does not provide a default value"):
        project(OPTIONAL_INT32_SCHEMA, 5, INT32_SCHEMA)
    target = SchemaBuilder(Type.INT32).default(7).build()
    assert project(OPTIONAL_INT32_SCHEMA, None, target) == 7
    assert project(OPTIONAL_INT32_SCHEMA, 5, target) == 5
    assert project(INT32_SCHEMA, 5, OPTIONAL_INT32_SCHEMA) == 5
    assert project(OPTIONAL_INT32_SCHEMA, None, OPTIONAL_INT32_SCHEMA) is None


def test_fields_come_and_go() -> None:
    source = SchemaBuilder(Type.STRUCT).field("a", INT8_SCHEMA).field("gone", STRING_SCHEMA).build()
    target = SchemaBuilder(Type.STRUCT).field("a", INT64_SCHEMA).field("b", OPTIONAL_INT32_SCHEMA)
    target.field("c", SchemaBuilder(Type.STRING).default("x").build())
    found = project(source, Struct(source, {"a": 5, "gone": "y"}), target.build())
    assert found == Struct(target.build(), {"a": Int64(5), "c": "x"})
    wider = SchemaBuilder(Type.STRUCT).field("new", INT32_SCHEMA).build()
    with pytest.raises(SchemaProjectorException, match="Required field `new` is missing from source schema"):
        project(source, Struct(source, {"a": 5, "gone": "y"}), wider)
    with pytest.raises(SchemaProjectorException, match="Error projecting a"):
        project(
            source, Struct(source, {"a": 5, "gone": "y"}), SchemaBuilder(Type.STRUCT).field("a", STRING_SCHEMA).build()
        )


def test_arrays_and_maps_are_projected_inside() -> None:
    ints, longs = SchemaBuilder.array(INT32_SCHEMA).build(), SchemaBuilder.array(INT64_SCHEMA).build()
    assert project(ints, [1, 2], longs) == [1, 2]
    source = SchemaBuilder.map(INT32_SCHEMA, STRING_SCHEMA).build()
    assert project(source, {1: "a"}, SchemaBuilder.map(INT64_SCHEMA, STRING_SCHEMA).build()) == {1: "a"}


def test_names_and_parameters_must_be_equal() -> None:
    named = SchemaBuilder(Type.INT32).name("a").build()
    with pytest.raises(SchemaProjectorException, match="source name: a and target name: null"):
        project(named, 5, INT32_SCHEMA)
    with pytest.raises(SchemaProjectorException, match="Schema parameters not equal"):
        project(SchemaBuilder(Type.INT32).parameter("p", "1").build(), 5, INT32_SCHEMA)
