"""Structs, and the check of values against schemas (`Struct`, `ConnectSchema.validateValue`)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, Self

from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.numbers import float32
from kafkapy.connect.data.scalars import Float32, Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Field, Schema, Type, same_value
from kafkapy.connect.errors import DataException

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"

_LOGICAL: dict[str, type] = {DECIMAL: Decimal, DATE: Instant, TIME: Instant, TIMESTAMP: Instant}
_INTEGERS: dict[Type, tuple[type, int]] = {
    Type.INT8: (Int8, 1 << 7),
    Type.INT16: (Int16, 1 << 15),
    Type.INT32: (Int32, 1 << 31),
    Type.INT64: (Int64, 1 << 63),
}


class Struct:
    """Values of the fields of a schema (`org.apache.kafka.connect.data.Struct`).

    Invariant: each value that is set fits its field's schema.

    Args:
        schema: Of type STRUCT.
        values: First values, by field. Default: none is set.

    Raises:
        DataException: The schema is of another type, or a value does not fit.

    Example:
        >>> from kafkapy.connect.data.schema import INT32_SCHEMA
        >>> point = Struct(Schema(Type.STRUCT, fields=[Field("x", 0, INT32_SCHEMA)]), {"x": 5})
        >>> point["x"]
        5
    """

    __slots__ = ("_values", "schema")
    java_class = "org.apache.kafka.connect.data.Struct"

    def __init__(self, schema: Schema, values: Mapping[str, object] | None = None) -> None:
        if schema.type is not Type.STRUCT:
            raise DataException(f"Not a struct schema: {schema}")
        self.schema = schema
        self._values: list[Any] = [None] * len(schema.fields)
        for name, value in (values or {}).items():
            self.put(name, value)

    @classmethod
    def of_values(cls, schema: Schema, values: list[Any]) -> Self:
        """Return a struct of values that are known to fit, such as those of other structs.

        Args:
            schema: Of type STRUCT.
            values: Of the first fields, the others are not set; the list becomes part of the struct. Each fits its
                field's schema, or is None.

        Raises:
            DataException: A value is None whose field is not optional.

        Example:
            >>> from kafkapy.connect.data.schema import STRING_SCHEMA
            >>> Struct.of_values(Schema(Type.STRUCT, fields=[Field("a", 0, STRING_SCHEMA)]), ["b"])
            Struct{a=b}
        """
        made = cls.__new__(cls)
        made.schema = schema
        made._values = values
        if None in values:
            for field, value in zip(schema.fields, values, strict=False):
                if value is None:
                    validate_value(field.schema, None, field.name)
        missing = len(schema.fields) - len(values)
        if missing:
            values.extend([None] * missing)
        return made

    def values(self, use_defaults: bool = False) -> list[Any]:
        """Return the values of all fields, in a new list.

        Args:
            use_defaults: A field's default stands for None. Default: None stays.
        """
        if use_defaults and None in self._values:
            pairs = zip(self.schema.fields, self._values, strict=True)
            return [field.schema.default if value is None else value for field, value in pairs]
        return self._values.copy()

    def get(self, name: str) -> Any:
        """Return a field's value, or its default. Raises DataException for an unknown field."""
        field = self._field(name)
        value = self._values[field.index]
        return field.schema.default if value is None else value

    __getitem__ = get

    def get_without_default(self, name: str) -> Any:
        """Return a field's value, None if it is not set. Raises DataException for an unknown field."""
        return self._values[self._field(name).index]

    def put(self, name: str, value: object) -> Self:
        """Set a field; returns this object.

        Args:
            name: The field's.
            value: Plain numbers, `datetime`, `date` and `time` become the schema's own type.

        Raises:
            DataException: There is no such field, or the value does not fit.
        """
        field = self._field(name)
        schema = field.schema
        if type(value) is not schema.value_class:
            value = own_type(schema, value)
            validate_value(schema, value, field.name)
        self._values[field.index] = value
        return self

    def validate(self) -> None:
        """Raise DataException if a required field without a default is not set."""
        for field, value in zip(self.schema.fields, self._values, strict=True):
            schema = field.schema
            if type(value) is schema.value_class:
                continue
            if value is None and (schema.optional or schema.default is not None):
                continue
            validate_value(schema, value, field.name)

    def _field(self, name: str) -> Field:
        field = self.schema.fields_by_name.get(name)
        if field is None:
            raise DataException(f"{name} is not a valid field name")
        return field

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        return self.schema == other.schema and all(map(same_value, self._values, other._values))

    def __hash__(self) -> int:
        """A struct may be the key of a map, but must not be changed then."""
        return hash((self.schema, java_str(self._values)))

    def __repr__(self) -> str:
        pairs = zip(self.schema.fields, self._values, strict=True)
        return f"Struct{{{','.join(f'{field.name}={java_str(value)}' for field, value in pairs if value is not None)}}}"


def own_type(schema: Schema, value: Any) -> Any:
    """Return a plain number or time as the schema's own type, any other value as it is.

    Args:
        schema: What the value is for.
        value: Any.

    Example:
        >>> type(own_type(Schema(Type.INT8), 5)).__name__
        'Int8'
    """
    kind = type(value)
    if kind is int and schema.type in _INTEGERS:
        integer, limit = _INTEGERS[schema.type]
        return integer(value) if -limit <= value < limit else value
    if kind is float and schema.type is Type.FLOAT32:
        return float32(value)
    if isinstance(value, dt.date | dt.time) and _LOGICAL.get(schema.name or "") is Instant:
        return Instant.of(value)
    return value


def validate_value(schema: Schema, value: object, field: str | None = None) -> None:
    """Check a value against a schema.

    Args:
        schema: The schema.
        value: The value.
        field: Name of the field, for the message. Default: None, it is no field's.

    Raises:
        DataException: It does not fit; the message is Kafka's.

    Example:
        >>> validate_value(Schema(Type.STRING), 5)
        Traceback (most recent call last):
        kafkapy.connect.errors.DataException: Invalid Java object for schema with type STRING: class java.lang.Long for value
    """
    _validate(schema, value, "value" if field is None else f'field: "{field}"')


def _validate(schema: Schema, value: Any, location: str) -> None:
    if value is None:
        if not schema.optional:
            raise DataException(f"Invalid value: null used for required {location}, schema type: {schema.type}")
        return
    if not _is_instance(schema, value):
        name = "" if schema.name is None else f' "{schema.name}"'
        kind = java_class_name(value)
        raise DataException(
            f"Invalid Java object for schema{name} with type {schema.type}: class {kind} for {location}"
        )
    match schema.type:
        case Type.STRUCT:
            if value.schema != schema:
                raise DataException("Struct schemas do not match.")
            value.validate()
        case Type.ARRAY:
            location = f"element of array {location}"
            items = _present(schema.value_schema, location)
            for each in value:
                _validate(items, each, location)
        case Type.MAP:
            of_keys, of_values = f"key of map {location}", f"value of map {location}"
            keys, values = _present(schema.key_schema, of_keys), _present(schema.value_schema, of_values)
            for key, each in value.items():
                _validate(keys, key, of_keys)
                _validate(values, each, of_values)


def _present(schema: Schema | None, location: str) -> Schema:
    if schema is None:
        raise DataException(f"No schema defined for {location}")
    return schema


def _is_instance(schema: Schema, value: Any) -> bool:
    logical = _LOGICAL.get(schema.name or "")
    return fits_type(schema.type, value) if logical is None else isinstance(value, logical)


def fits_type(type_: Type, value: Any) -> bool:
    """Return whether a value, and not what is in it, is of a type.

    Args:
        type_: The type; logical types are not looked at.
        value: Not None.

    Example:
        >>> fits_type(Type.INT8, 5), fits_type(Type.INT8, 500)
        (True, False)
    """
    kind = type(value)
    match type_:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            integer, limit = _INTEGERS[type_]
            return kind is integer or (kind is int and -limit <= value < limit)
        case Type.FLOAT32:
            return kind is Float32
        case Type.FLOAT64:
            return kind is float
        case Type.BOOLEAN:
            return kind is bool
        case Type.STRING:
            return isinstance(value, str)
        case Type.BYTES:
            return isinstance(value, bytes)
        case Type.ARRAY:
            return isinstance(value, list)
        case Type.MAP:
            return isinstance(value, dict)
        case Type.STRUCT:
            return isinstance(value, Struct)
