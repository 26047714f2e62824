"""Random schemas of Connect, and values that fit them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import decimal_of
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.numbers import float32
from kafkapy.connect.data.scalars import Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, Struct

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
_DAY = 86_400_000


def _integers(kind: type[Any], bits: int) -> st.SearchStrategy[Any]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1).map(kind)


_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT8: _integers(Int8, 8),
    Type.INT16: _integers(Int16, 16),
    Type.INT32: _integers(Int32, 32),
    Type.INT64: _integers(Int64, 64),
    Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False).map(float32),
    Type.FLOAT64: _FLOATS,
    Type.BOOLEAN: st.booleans(),
    Type.STRING: TEXTS,
    Type.BYTES: st.binary(max_size=12),
}


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that fit a schema; None now and then if it is optional and has no default."""
    found = _present(schema)
    return st.none() | found if schema.optional and schema.default is None else found


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.name:
        case str(name) if name == DECIMAL:
            scale = int((schema.parameters or {})["scale"])
            return st.integers(-(10**20), 10**20).map(lambda each: decimal_of(each, scale))
        case str(name) if name == DATE:
            return st.integers(-(10**5), 10**5).map(lambda each: Instant(each * _DAY))
        case str(name) if name == TIME:
            return st.integers(0, _DAY - 1).map(Instant)
        case str(name) if name == TIMESTAMP:
            return st.integers(-(10**12), 10**13).map(Instant)
    match schema.type:
        case Type.ARRAY:
            assert schema.value_schema is not None
            return st.lists(values(schema.value_schema), max_size=3)
        case Type.MAP:
            assert schema.key_schema is not None and schema.value_schema is not None
            return st.dictionaries(values(schema.key_schema), values(schema.value_schema), max_size=3)
        case Type.STRUCT:
            parts = {field.name: values(field.schema) for field in schema.fields}
            return st.fixed_dictionaries(parts).map(lambda given: Struct(schema, given))
    return _VALUES[schema.type]


@st.composite
def _leaves(draw: st.DrawFn) -> SchemaBuilder:
    kind = draw(st.sampled_from([*_VALUES, DECIMAL, DATE, TIME, TIMESTAMP]))
    if isinstance(kind, Type):
        builder = SchemaBuilder(kind)
        if draw(st.booleans()):
            builder.default(draw(_VALUES[kind]))
        return builder
    makers = {DATE: date_builder, TIME: time_builder, TIMESTAMP: timestamp_builder}
    return decimal_builder(draw(st.integers(0, 8))) if kind == DECIMAL else makers[str(kind)]()


@st.composite
def schemas(draw: st.DrawFn, *, with_odd_keys: bool = True, depth: int = 2) -> Schema:
    """Schemas without recursion; names of structs are unique.

    Args:
        with_odd_keys: Whether keys of maps may have other types than text.
        depth: How deep they are nested at most.
    """
    counter = iter(range(1000))
    return _nested(draw, depth, counter, with_odd_keys)


def _nested(draw: st.DrawFn, depth: int, counter: Any, odd: bool, is_item: bool = False) -> Schema:
    kind = draw(st.sampled_from(["leaf", "leaf", "array", "map", "struct"])) if depth else "leaf"
    match kind:
        case "array":
            builder = SchemaBuilder.array(_nested(draw, depth - 1, counter, odd, True))
        case "map":
            keys = draw(st.sampled_from([STRING_SCHEMA, Schema(Type.INT32)])) if odd else STRING_SCHEMA
            builder = SchemaBuilder.map(keys, _nested(draw, depth - 1, counter, odd, True))
            if keys is not STRING_SCHEMA:
                builder.name(f"entries.Map{next(counter)}")
        case "struct":
            builder = SchemaBuilder(Type.STRUCT).name(f"some.Row{next(counter)}")
            for name in draw(st.lists(NAMES, unique=True, min_size=1, max_size=3)):
                builder.field(name, _nested(draw, depth - 1, counter, odd))
        case _:
            builder = draw(_leaves())
    if draw(st.booleans()):
        builder.optional()
    if draw(st.booleans()) and builder.build().name is not None and builder.build().version is None:
        builder.version(draw(st.integers(1, 5)))
    if draw(st.booleans()):
        builder.doc(draw(TEXTS.filter(bool)))
    return builder.build()


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, of the same types, decimals with the same scales."""
    if type(one) is not type(other) and not (isinstance(one, int) and isinstance(other, int)):
        return False
    if isinstance(one, Decimal):
        return bool(one.as_tuple() == other.as_tuple())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one is other or bool(one == other)
