"""When a file ends because of a schema, and values as the file's schema has them: `schema.compatibility`."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.data.values import convert_to
from kafkapy.connect.errors import DataException, SchemaProjectorException

NONE, BACKWARD, FORWARD, FULL = "NONE", "BACKWARD", "FORWARD", "FULL"


def ends_file(rule: str, of_file: Schema | None, of_record: Schema | None) -> bool:
    """Return whether a file ends before a record.

    Args:
        rule: NONE: at each change of the schema. BACKWARD, FULL: at a newer version. FORWARD: at an older version.
        of_file: Schema of the file.
        of_record: Schema of the record.

    Raises:
        SchemaProjectorException: One of two schemas has no version, or another name, and the rule is not NONE.

    Example:
        >>> ends_file("NONE", Schema(Type.INT8), Schema(Type.INT16))
        True
    """
    if of_file is of_record or of_file == of_record:
        return False
    if rule == NONE or of_file is None or of_record is None:
        return True
    if of_file.version is None or of_record.version is None:
        raise SchemaProjectorException(f"Schema version required for {rule} compatibility")
    if of_file.type is not of_record.type or of_file.name != of_record.name:
        return True
    return of_record.version < of_file.version if rule == FORWARD else of_record.version > of_file.version


def projected(value: Any, schema: Schema | None, target: Schema | None) -> Any:
    """Return a value as another schema has it.

    Args:
        value: The value.
        schema: Its schema.
        target: The schema of the file.

    Raises:
        SchemaProjectorException: The target has a required field that the value lacks, or a narrower type.
    """
    if target is None or schema is None or schema is target or schema == target:
        return value
    if value is None:
        if target.optional or target.default is not None:
            return target.default
        raise SchemaProjectorException("Writer schema is optional, reader schema is required and has no default")
    if target.type is Type.STRUCT and isinstance(value, Struct):
        result = Struct(target)
        for field in target.fields:
            source = schema.field(field.name)
            if source is not None:
                value_there = value.get_without_default(field.name)
                result.put(field.name, projected(value_there, source.schema, field.schema))
            elif field.schema.default is not None:
                result.put(field.name, field.schema.default)
            elif not field.schema.optional:
                raise SchemaProjectorException(f"Required field `{field.name}` is missing and has no default")
        return result
    if target.type is Type.ARRAY and isinstance(value, list):
        return [projected(each, schema.value_schema, target.value_schema) for each in value]
    if target.type is Type.MAP and isinstance(value, dict):
        return {
            projected(key, schema.key_schema, target.key_schema): projected(
                each, schema.value_schema, target.value_schema
            )
            for key, each in value.items()
        }
    return _widened(value, schema, target)


_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def _widened(value: Any, schema: Schema, target: Schema) -> Any:
    if schema.type is target.type and schema.name == target.name:
        return value
    is_wider = schema.type in _NUMBERS and target.type in _NUMBERS
    if not is_wider or _NUMBERS.index(schema.type) > _NUMBERS.index(target.type) or schema.name or target.name:
        raise SchemaProjectorException(
            f"Schema type mismatch. source type: {schema.type} and target type: {target.type}"
        )
    try:
        return convert_to(target, schema, value)
    except DataException as error:
        raise SchemaProjectorException(str(error)) from error
