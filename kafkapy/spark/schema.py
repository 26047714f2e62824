"""The columns of the source in Spark and Arrow, and those that a sink accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkapy.spark.errors import OptionError

if TYPE_CHECKING:
    pass

HEADERS_TYPE = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))


def source_schema(include_headers: bool) -> StructType:
    fields: list[tuple[str, DataType]] = [
        ("key", BinaryType()),
        ("value", BinaryType()),
        ("topic", StringType()),
        ("partition", IntegerType()),
        ("offset", LongType()),
        ("timestamp", TimestampType()),
        ("timestampType", IntegerType()),
    ]
    if include_headers:
        fields.append(("headers", HEADERS_TYPE))
    return StructType([StructField(name, type) for name, type in fields])


_SINK_TYPES: dict[str, tuple[DataType, ...]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "headers": (HEADERS_TYPE,),
    "partition": (IntegerType(),),
}


def check_sink_schema(schema: StructType, topic: str | None) -> None:
    """Check a sink's columns (Spark's `KafkaWriter.validateQuery`); other columns are ignored. Raises
    `OptionError`."""
    columns = {field.name: field.dataType for field in schema.fields}
    if topic is None and "topic" not in columns:
        raise OptionError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    if "value" not in columns:
        raise OptionError("Required attribute 'value' not found")
    for name, allowed in _SINK_TYPES.items():
        if name not in columns or (name == "topic" and topic is not None):
            continue
        if not any(_same(columns[name], type) for type in allowed):
            raise OptionError(
                f"{name} attribute unsupported type {columns[name].simpleString()}. {name} must be a(n) "
                f"{' or '.join(type.simpleString() for type in allowed)}"
            )


def _same(one: DataType, other: DataType) -> bool:
    """Return whether two types are equal except for nullability."""
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return _same(one.elementType, other.elementType)
    if isinstance(one, StructType) and isinstance(other, StructType):
        return one.names == other.names and all(
            _same(a.dataType, b.dataType) for a, b in zip(one.fields, other.fields, strict=True)
        )
    return type(one) is type(other)
