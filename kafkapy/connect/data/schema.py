"""Schemas of Connect's data (`org.apache.kafka.connect.data.Schema`, `ConnectSchema`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from kafkapy.connect.data.scalars import Float32, Int8, Int16, Int32, Int64
from kafkapy.connect.errors import DataException


class Type(Enum):
    """The types of data; `value` is the name in JSON.

    Example:
        >>> str(Type.INT32), Type.INT32.value
        ('INT32', 'int32')
    """

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    def __str__(self) -> str:
        return self.name

    @property
    def is_primitive(self) -> bool:
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


_LOGICAL_PREFIX: Final = "org.apache.kafka.connect.data."
"""Of the names of Kafka's logical types, whose values are of other classes."""
_CLASSES: Final[dict[Type, type]] = {
    Type.INT8: Int8,
    Type.INT16: Int16,
    Type.INT32: Int32,
    Type.INT64: Int64,
    Type.FLOAT32: Float32,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
}


class Schema:
    """A type of data. Immutable; `SchemaBuilder` makes it.

    Args:
        type: The type.
        optional: Whether None is allowed. Default: False.
        default: Stands for None. Default: None.
        name: Of a struct, or of a logical type. Default: None.
        version: Default: None.
        doc: Default: None.
        parameters: Settings of a logical type. Default: None.
        fields: Of a struct. Default: none.
        key_schema: Of a map's keys.
        value_schema: Of the values of a map or an array.

    Attributes:
        fields_by_name: Of a struct; of other types empty.
        value_class: All values of exactly this class fit. None: each value must be examined.

    Example:
        >>> Schema(Type.INT32, optional=True) == OPTIONAL_INT32_SCHEMA, str(STRING_SCHEMA)
        (True, 'Schema{STRING}')
    """

    __slots__ = (
        "_fields",
        "_hash",
        "_key_schema",
        "_value_schema",
        "default",
        "doc",
        "fields_by_name",
        "name",
        "optional",
        "parameters",
        "type",
        "value_class",
        "version",
    )

    def __init__(
        self,
        type: Type,
        optional: bool = False,
        default: object = None,
        name: str | None = None,
        version: int | None = None,
        doc: str | None = None,
        parameters: Mapping[str, str] | None = None,
        fields: Iterable[Field] = (),
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> None:
        self.type = type
        self.optional = optional
        self.default = default
        self.name = name
        self.version = version
        self.doc = doc
        self.parameters = None if parameters is None else dict(parameters)
        self._fields = tuple(fields)
        self.fields_by_name = {field.name: field for field in self._fields}
        self._key_schema = key_schema
        self._value_schema = value_schema
        self._hash: int | None = None
        logical = name is not None and name.startswith(_LOGICAL_PREFIX)
        self.value_class = None if logical else _CLASSES.get(type)

    @property
    def fields(self) -> tuple[Field, ...]:
        if self.type is not Type.STRUCT:
            raise DataException("Cannot list fields on non-struct type")
        return self._fields

    def field(self, name: str) -> Field | None:
        """Return the field of a struct, None if it has none of this name. Raises DataException for other types."""
        if self.type is not Type.STRUCT:
            raise DataException("Cannot look up fields on non-struct type")
        return self.fields_by_name.get(name)

    @property
    def key_schema(self) -> Schema | None:
        if self.type is not Type.MAP:
            raise DataException("Cannot look up key schema on non-map type")
        return self._key_schema

    @property
    def value_schema(self) -> Schema | None:
        if self.type is not Type.MAP and self.type is not Type.ARRAY:
            raise DataException("Cannot look up value schema on non-array and non-map type")
        return self._value_schema

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return (
            self.type is other.type
            and self.optional == other.optional
            and self.name == other.name
            and self.version == other.version
            and self.doc == other.doc
            and self._fields == other._fields
            and same_value(self.default, other.default)
            and self._key_schema == other._key_schema
            and self._value_schema == other._value_schema
            and self.parameters == other.parameters
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.type, self.optional, self.name, self.version, self._fields, self._value_schema))
        return self._hash

    def __repr__(self) -> str:
        return f"Schema{{{self.name}:{self.type}}}" if self.name is not None else f"Schema{{{self.type}}}"


class Field(NamedTuple):
    """A field of a struct.

    Attributes:
        name: Unique in the struct.
        index: Its place, from 0.
        schema: Of its values.

    Example:
        >>> str(Field("a", 0, INT8_SCHEMA))
        'Field{name=a, index=0, schema=Schema{INT8}}'
    """

    name: str
    index: int  # type: ignore[assignment]  # Kafka's name; hides that of tuples
    schema: Schema

    def __str__(self) -> str:
        return f"Field{{name={self.name}, index={self.index}, schema={self.schema}}}"


def same_value(one: object, other: object) -> bool:
    """Return whether two values are equal, NaN with NaN, too.

    Args:
        one: A value of Connect's.
        other: Another.

    Example:
        >>> same_value(float("nan"), float("nan"))
        True
    """
    return one is other or one == other or (one != one and other != other)


INT8_SCHEMA: Final = Schema(Type.INT8)
INT16_SCHEMA: Final = Schema(Type.INT16)
INT32_SCHEMA: Final = Schema(Type.INT32)
INT64_SCHEMA: Final = Schema(Type.INT64)
FLOAT32_SCHEMA: Final = Schema(Type.FLOAT32)
FLOAT64_SCHEMA: Final = Schema(Type.FLOAT64)
BOOLEAN_SCHEMA: Final = Schema(Type.BOOLEAN)
STRING_SCHEMA: Final = Schema(Type.STRING)
BYTES_SCHEMA: Final = Schema(Type.BYTES)
OPTIONAL_INT8_SCHEMA: Final = Schema(Type.INT8, True)
OPTIONAL_INT16_SCHEMA: Final = Schema(Type.INT16, True)
OPTIONAL_INT32_SCHEMA: Final = Schema(Type.INT32, True)
OPTIONAL_INT64_SCHEMA: Final = Schema(Type.INT64, True)
OPTIONAL_FLOAT32_SCHEMA: Final = Schema(Type.FLOAT32, True)
OPTIONAL_FLOAT64_SCHEMA: Final = Schema(Type.FLOAT64, True)
OPTIONAL_BOOLEAN_SCHEMA: Final = Schema(Type.BOOLEAN, True)
OPTIONAL_STRING_SCHEMA: Final = Schema(Type.STRING, True)
OPTIONAL_BYTES_SCHEMA: Final = Schema(Type.BYTES, True)
