"""A value with its schema (`org.apache.kafka.connect.data.SchemaAndValue`)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.schema import Schema


class SchemaAndValue(NamedTuple):
    """A value with its schema.

    Attributes:
        schema: None: the value has no schema.
        value: Fits the schema.

    Example:
        >>> from kafkapy.connect.data.schema import STRING_SCHEMA
        >>> str(SchemaAndValue(STRING_SCHEMA, "a"))
        'SchemaAndValue{schema=Schema{STRING}, value=a}'
    """

    schema: Schema | None
    value: Any

    def __str__(self) -> str:
        return f"SchemaAndValue{{schema={java_str(self.schema)}, value={java_str(self.value)}}}"


NULL: Final = SchemaAndValue(None, None)
"""No value and no schema."""
