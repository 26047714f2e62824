"""When a file ends because of a schema, and values as the file's schema has them: `schema.compatibility`."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.schema_projector import project
from kafkapy.connect.errors import SchemaProjectorException

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
        >>> from kafkapy.connect.data.schema import INT8_SCHEMA, INT16_SCHEMA
        >>> ends_file("NONE", INT8_SCHEMA, INT16_SCHEMA)
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
    return project(schema, value, target)
