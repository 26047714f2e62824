"""Numbers and booleans as bytes of a fixed size, big-endian (`org.apache.kafka.connect.converters`)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, ClassVar

from kafkapy.connect.converters.converter import DataConverter, parse_converter_configs
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.scalars import Float32, Int16, Int32, Int64
from kafkapy.connect.data.schema import (
    OPTIONAL_BOOLEAN_SCHEMA,
    OPTIONAL_FLOAT32_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_INT16_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.schema_and_value import SchemaAndValue
from kafkapy.connect.data.struct import fits_type
from kafkapy.connect.errors import DataException

_CONVERTERS = "org.apache.kafka.connect.converters."


class NumberConverter(DataConverter):
    """Base of the converters of numbers of one type."""

    java_class: ClassVar[str]
    _name: ClassVar[str]
    _layout: ClassVar[struct.Struct]
    _kind: ClassVar[type]
    _schema: ClassVar[Schema]

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:
        parse_converter_configs(self.config(), configs, is_key)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        if value is None:
            return None
        if not fits_type(self._schema.type, value):
            raise DataException(f"Failed to serialize to {self._name} (was class {java_class_name(value)}): ")
        return self._layout.pack(value)

    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        if value is None:
            return SchemaAndValue(self._schema, None)
        if len(value) != self._layout.size:
            raise DataException(f"Failed to deserialize {self._name}: ")
        return SchemaAndValue(self._schema, self._kind(self._layout.unpack(value)[0]))


class ShortConverter(NumberConverter):
    """INT16 in two bytes.

    Example:
        >>> ShortConverter().from_connect_data("topic", None, 5)
        b'\\x00\\x05'
    """

    java_class = f"{_CONVERTERS}ShortConverter"
    _name, _layout, _kind, _schema = "short", struct.Struct(">h"), Int16, OPTIONAL_INT16_SCHEMA


class IntegerConverter(NumberConverter):
    """INT32 in four bytes."""

    java_class = f"{_CONVERTERS}IntegerConverter"
    _name, _layout, _kind, _schema = "integer", struct.Struct(">i"), Int32, OPTIONAL_INT32_SCHEMA


class LongConverter(NumberConverter):
    """INT64 in eight bytes."""

    java_class = f"{_CONVERTERS}LongConverter"
    _name, _layout, _kind, _schema = "long", struct.Struct(">q"), Int64, OPTIONAL_INT64_SCHEMA


class FloatConverter(NumberConverter):
    """FLOAT32 in four bytes."""

    java_class = f"{_CONVERTERS}FloatConverter"
    _name, _layout, _kind, _schema = "float", struct.Struct(">f"), Float32, OPTIONAL_FLOAT32_SCHEMA


class DoubleConverter(NumberConverter):
    """FLOAT64 in eight bytes."""

    java_class = f"{_CONVERTERS}DoubleConverter"
    _name, _layout, _kind, _schema = "double", struct.Struct(">d"), float, OPTIONAL_FLOAT64_SCHEMA


class BooleanConverter(DataConverter):
    """A boolean in one byte: 1 or 0.

    Example:
        >>> BooleanConverter().to_connect_data("topic", b"\\x01").value
        True
    """

    java_class = f"{_CONVERTERS}BooleanConverter"

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:
        parse_converter_configs(self.config(), configs, is_key)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataException(f"Invalid schema type for BooleanConverter: {schema.type}")
        if value is None:
            return None
        if not isinstance(value, bool):
            raise DataException(
                f"BooleanConverter is not compatible with objects of type class {java_class_name(value)}"
            )
        return b"\x01" if value else b"\x00"

    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        if value not in (None, b"\x00", b"\x01"):
            raise DataException("Failed to deserialize boolean: ")
        return SchemaAndValue(OPTIONAL_BOOLEAN_SCHEMA, None if value is None else value == b"\x01")
