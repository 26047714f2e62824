"""Bytes as they are (`org.apache.kafka.connect.converters.ByteArrayConverter`)."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.converters.converter import DataConverter
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.schema import OPTIONAL_BYTES_SCHEMA, Schema, Type
from kafkapy.connect.data.schema_and_value import SchemaAndValue
from kafkapy.connect.errors import DataException


class ByteArrayConverter(DataConverter):
    """Passes bytes on.

    Example:
        >>> ByteArrayConverter().from_connect_data("topic", None, b"a")
        b'a'
    """

    java_class = "org.apache.kafka.connect.converters.ByteArrayConverter"

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataException(f"Invalid schema type for ByteArrayConverter: {schema.type}")
        if value is not None and not isinstance(value, bytes):
            raise DataException(
                f"ByteArrayConverter is not compatible with objects of type class {java_class_name(value)}"
            )
        return value

    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        return SchemaAndValue(OPTIONAL_BYTES_SCHEMA, value)
