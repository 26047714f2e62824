"""Projects values from one schema to another (`org.apache.kafka.connect.data.SchemaProjector`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.numbers import (
    byte_value,
    double_value,
    float32,
    int_value,
    is_number,
    long_value,
    short_value,
)
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import SchemaProjectorException

_NUMBERS: Final[dict[Type, Callable[[Any], Any]]] = {
    Type.INT8: byte_value,
    Type.INT16: short_value,
    Type.INT32: int_value,
    Type.INT64: long_value,
    Type.FLOAT32: float32,
    Type.FLOAT64: double_value,
}
"""In the order in which each type can become a later one."""
_ORDER: Final = {type: place for place, type in enumerate(_NUMBERS)}


def project(source: Schema, value: Any, target: Schema) -> Any:
    """Return a value of one schema as one of another that is compatible.

    Numbers become larger types; fields that only one of the schemas has are left out, or get the default.

    Args:
        source: The value's schema.
        value: Fits it.
        target: Schema of the result.

    Raises:
        SchemaProjectorException: Types, names or parameters differ, or a required field is missing.

    Example:
        >>> from kafkapy.connect.data.schema import INT8_SCHEMA, INT64_SCHEMA
        >>> project(INT8_SCHEMA, 5, INT64_SCHEMA)
        5
    """
    _check_types(source, target)
    if source.optional and not target.optional:
        if target.default is None:
            raise SchemaProjectorException(
                "Writer schema is optional, however, target schema does not provide a default value."
            )
        return target.default if value is None else _projected(source, value, target)
    return None if value is None else _projected(source, value, target)


def _check_types(source: Schema, target: Schema) -> None:
    if source.type is not target.type and not _is_promotable(source.type, target.type):
        raise SchemaProjectorException(
            f"Schema type mismatch. source type: {source.type} and target type: {target.type}"
        )
    if source.name != target.name:
        raise SchemaProjectorException(
            f"Schema name mismatch. source name: {java_str(source.name)} and target name: {java_str(target.name)}"
        )
    if source.parameters != target.parameters:
        raise SchemaProjectorException(
            f"Schema parameters not equal. source parameters: {java_str(source.parameters)} and target parameters: "
            f"{java_str(target.parameters)}"
        )


def _is_promotable(source: Type, target: Type) -> bool:
    return source in _ORDER and target in _ORDER and _ORDER[source] <= _ORDER[target]


def _projected(source: Schema, value: Any, target: Schema) -> Any:
    match target.type:
        case Type.STRUCT:
            return _struct(source, value, target)
        case Type.ARRAY:
            return [project(_present(source.value_schema), each, _present(target.value_schema)) for each in value]
        case Type.MAP:
            keys = _present(source.key_schema), _present(target.key_schema)
            values = _present(source.value_schema), _present(target.value_schema)
            return {
                as_key(project(keys[0], key, keys[1])): project(values[0], each, values[1])
                for key, each in value.items()
            }
    if _is_promotable(source.type, target.type) and is_number(value):
        return _NUMBERS[target.type](value)
    return value


def _present(schema: Schema | None) -> Schema:
    if schema is None:
        raise SchemaProjectorException("A schema of elements is missing")
    return schema


def _struct(source: Schema, value: Struct, target: Schema) -> Struct:
    made = Struct(target)
    for field in target.fields:
        known = source.field(field.name)
        if known is not None:
            try:
                made.put(field.name, project(known.schema, value.get(field.name), field.schema))
            except SchemaProjectorException as error:
                raise SchemaProjectorException(f"Error projecting {known.name}") from error
        elif field.schema.optional:
            continue
        elif field.schema.default is not None:
            made.put(field.name, field.schema.default)
        else:
            raise SchemaProjectorException(f"Required field `{field.name}` is missing from source schema: {source}")
    return made
