"""Dataclasses as structs: the schema of a class, and objects as values."""

from __future__ import annotations

import dataclasses
import datetime as dt
import types
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import scale_of
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.scalars import Float32, Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, TIME, Struct, own_type
from kafkapy.connect.errors import DataException

T = TypeVar("T")
ENUM: Final = "org.apache.kafka.connect.data.Enum"
"""Parameter of the schemas of enums."""
_PLAIN: Final[dict[type, Type]] = {
    bool: Type.BOOLEAN,
    int: Type.INT64,
    Int8: Type.INT8,
    Int16: Type.INT16,
    Int32: Type.INT32,
    Int64: Type.INT64,
    float: Type.FLOAT64,
    Float32: Type.FLOAT32,
    str: Type.STRING,
    bytes: Type.BYTES,
    UUID: Type.STRING,
}
_EXACT: Final = Context(prec=1_000)


class Scale(NamedTuple):
    """How many digits a decimal has behind the point: `Annotated[Decimal, Scale(2)]`.

    Attributes:
        digits: At least 0.

    Example:
        >>> Scale(2).digits
        2
    """

    digits: int


def schema_of(kind: type, name: str | None = None) -> Schema:
    """Return the schema of a dataclass.

    `int` is INT64, `float` FLOAT64; `Int8` to `Int64` and `Float32` are those types; `datetime`, `date` and `time` are
    logical types, and so is `Annotated[Decimal, Scale(2)]`; an enum and a `UUID` are text; `T | None` is optional;
    lists, dictionaries and dataclasses may be nested. A default of a scalar is the field's default, and
    `field(metadata={"doc": …})` its description.

    Args:
        kind: The dataclass.
        name: Of the schema. Default: the name of the class.

    Raises:
        DataException: It is no dataclass, or a field has another type.

    Example:
        >>> @dataclasses.dataclass
        ... class Point:
        ...     x: int
        ...     label: str | None = None
        >>> [(field.name, str(field.schema), field.schema.optional) for field in schema_of(Point).fields]
        [('x', 'Schema{INT64}', False), ('label', 'Schema{STRING}', True)]
    """
    found = _schema(kind)
    if name is None or name == found.name:
        return found
    return Schema(found.type, name=name, fields=found.fields)


@cache
def _schema(kind: type) -> Schema:
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise DataException(f"{kind!r} is no dataclass")
    hints = get_type_hints(kind, include_extras=True)
    builder = SchemaBuilder(Type.STRUCT).name(kind.__name__)
    for field in dataclasses.fields(kind):
        try:
            inner = _builder(hints[field.name])
        except RecursionError:
            raise DataException(f"{kind.__name__} contains itself, which schemas of Connect cannot") from None
        if isinstance(field.default, bool | int | float | str | bytes | Decimal | dt.date | dt.time | Enum | UUID):
            inner.default(_to_connect(inner.build(), field.default))
        builder.field(field.name, inner.doc(field.metadata.get("doc")).build())
    return builder.build()


def _builder(hint: Any) -> SchemaBuilder:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        others = [each for each in arguments if each is not type(None)]
        if len(others) == 1 and len(arguments) == 2:
            return _builder(others[0]).optional()
        raise DataException(f"{hint} is a choice of types, which Connect does not have; only T | None is allowed")
    if origin is Annotated:
        scale = next((each for each in arguments[1:] if isinstance(each, Scale)), None)
        return decimal_builder(scale.digits) if scale is not None else _builder(arguments[0])
    if origin is list:
        return SchemaBuilder.array(_builder(arguments[0]).build())
    if origin is dict:
        return SchemaBuilder.map(_builder(arguments[0]).build(), _builder(arguments[1]).build())
    if hint in _PLAIN:
        return SchemaBuilder(_PLAIN[hint])
    for known, make in ((dt.datetime, timestamp_builder), (dt.date, date_builder), (dt.time, time_builder)):
        if hint is known:
            return make()
    if hint is Decimal:
        raise DataException("A Decimal needs its scale: Annotated[Decimal, Scale(2)]")
    if isinstance(hint, type) and issubclass(hint, Enum):
        builder = SchemaBuilder(Type.STRING).name(hint.__name__).parameter(ENUM, hint.__name__)
        for place, member in enumerate(hint):
            builder.parameter(f"{ENUM}.{member.name}", str(place))
        return builder
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        inner = _schema(hint)
        builder = SchemaBuilder(Type.STRUCT).name(inner.name)
        for field in inner.fields:
            builder.field(field.name, field.schema)
        return builder
    raise DataException(f"{hint} has no type in Connect")


def to_struct(value: Any, schema: Schema | None = None) -> Struct:
    """Return the struct of a dataclass' object.

    Args:
        value: The object. Times without a zone are in UTC; decimals get the schema's scale, if no digits are lost.
        schema: Default: `schema_of` its class.

    Raises:
        DataException: A value does not fit.

    Example:
        >>> @dataclasses.dataclass
        ... class Point:
        ...     x: int
        >>> to_struct(Point(5))["x"]
        5
    """
    schema = schema_of(type(value)) if schema is None else schema
    made = Struct(schema)
    for field in schema.fields:
        made.put(field.name, _to_connect(field.schema, getattr(value, field.name)))
    return made


def _to_connect(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if dataclasses.is_dataclass(value) and schema.type is Type.STRUCT:
        return to_struct(value, schema)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        return _scaled(schema, value)
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return [_to_connect(schema.value_schema, each) for each in value]
    if schema.type is Type.MAP:
        assert schema.key_schema is not None and schema.value_schema is not None
        return {
            as_key(_to_connect(schema.key_schema, key)): _to_connect(schema.value_schema, each)
            for key, each in value.items()
        }
    if schema.type is Type.FLOAT64 and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return own_type(schema, value)


def _scaled(schema: Schema, value: Decimal) -> Decimal:
    scale = int((schema.parameters or {}).get("scale", "0"))
    if scale_of(value) == scale:
        return value
    found = value.quantize(Decimal((0, (1,), -scale)), rounding=ROUND_HALF_EVEN, context=_EXACT)
    if found != value:
        raise DataException(f"{value} has more than {scale} digits behind the point")
    return found


def from_struct(kind: type[T], struct: Struct) -> T:
    """Return an object of a dataclass with the values of a struct.

    Args:
        kind: The dataclass.
        struct: May have more fields, and may lack those with a default.

    Raises:
        DataException: A field is missing, or has another type.

    Example:
        >>> @dataclasses.dataclass
        ... class Point:
        ...     x: int
        >>> from_struct(Point, to_struct(Point(5)))
        Point(x=5)
    """
    if not dataclasses.is_dataclass(kind):
        raise DataException(f"{kind!r} is no dataclass")
    hints = get_type_hints(kind, include_extras=True)
    values = {}
    for field in dataclasses.fields(kind):
        known = struct.schema.field(field.name)
        if known is not None:
            values[field.name] = _from_connect(hints[field.name], known.schema, struct.get(field.name))
    try:
        return kind(**values)
    except TypeError as error:
        raise DataException(f"{kind.__name__} cannot be made of {struct.schema}: {error}") from error


def _from_connect(hint: Any, schema: Schema, value: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if value is None:
        return None
    if origin in (Union, types.UnionType):
        return _from_connect(next(each for each in arguments if each is not type(None)), schema, value)
    if origin is Annotated:
        return _from_connect(arguments[0], schema, value)
    if origin is list and schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return [_from_connect(arguments[0], schema.value_schema, each) for each in value]
    if origin is dict and schema.type is Type.MAP:
        assert schema.key_schema is not None and schema.value_schema is not None
        return {
            _from_connect(arguments[0], schema.key_schema, key): _from_connect(arguments[1], schema.value_schema, each)
            for key, each in value.items()
        }
    if isinstance(value, Struct):
        return from_struct(hint, value)
    if isinstance(value, Instant):
        return value.date() if schema.name == DATE else value.time() if schema.name == TIME else value.datetime()
    if isinstance(hint, type) and issubclass(hint, Enum):
        try:
            return hint[value]
        except KeyError as error:
            raise DataException(f"{value} is no member of {hint.__name__}") from error
    if hint is UUID:
        return UUID(value)
    return value if not isinstance(hint, type) or isinstance(value, hint) or hint not in _PLAIN else _plain(hint, value)


def _plain(hint: type, value: Any) -> Any:
    if hint in (str, bytes, bool) or isinstance(value, str | bytes | bool):
        raise DataException(f"{value!r} is no {hint.__name__}")
    return hint(value)
