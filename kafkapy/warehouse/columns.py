"""Columns of tables: those of every table, and the evolution of a table's own for a new schema. No I/O.

An ADDITION adds a column (earlier rows have null), a REVISION widens one. All other changes are a MODEL: the values go
to a new table.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkapy.schemas.column_types import spark_type
from kafkapy.schemas.errors import SerdeError

META = StructType(
    [
        StructField("_event_id", StringType()),
        StructField("_event_time", TimestampType()),
        StructField("_key", BinaryType()),
        StructField("_partition", IntegerType()),
        StructField("_offset", LongType()),
    ]
)
"""Columns of every table, in files of both kinds."""
DELETED = StructField("_deleted", BooleanType())
"""Column of tables of kind "changes"."""
HOUR = StructType([StructField("ds", StringType()), StructField("hr", StringType())])
"""Columns of files in current; partitions of hours."""
ORIGIN = StructType([StructField("_batch", LongType()), StructField("_schema", IntegerType())])
"""Columns of files in hours; partitions of current."""
IN_BATCH, IN_SCHEMA = "in_batch", "in_schema"
RESERVED = {field.name for part in (META, HOUR, ORIGIN) for field in part} | {DELETED.name, IN_BATCH, IN_SCHEMA, "_n"}

QUARANTINE = StructType(
    [
        StructField("topic", StringType()),
        StructField("event_id", StringType()),
        StructField("reason", StringType()),
        StructField("value", BinaryType()),
        StructField("record_time", TimestampType()),
    ]
)
"""The quarantine's columns, in place of an event's."""


class NotATable(ValueError):
    """The schema's values cannot be rows; the message says why."""


class AnotherModel(ValueError):
    """A table's columns are incompatible with another schema; the message says which and why."""


def columns_of(type: pa.DataType) -> StructType:
    """Return the columns of a schema's values, by its Arrow type. Raises NotATable."""
    if not pa.types.is_struct(type):
        raise NotATable(f"its values are no records but {type}")
    for field in type:
        if field.name.lower() in RESERVED:
            raise NotATable(f"its field {field.name} has the name of a column that every table has")
    _check_names(type, "")
    try:
        found = from_arrow_type(spark_type(type))
    except SerdeError as error:
        raise NotATable(error.message) from None
    except Exception as error:
        raise NotATable(f"Spark has no type for {type}: {error}") from None
    assert isinstance(found, StructType)
    return StructType([StructField(field.name, _nullable(field.dataType)) for field in found])


def _check_names(type: pa.DataType, where: str) -> None:
    """Raise NotATable for field names that are impossible in files or statements. `where`: the path of `type`, with a
    trailing dot."""
    if pa.types.is_list(type):
        _check_names(type.value_type, where)
    elif pa.types.is_map(type):
        _check_names(type.item_type, where)
    elif pa.types.is_struct(type):
        if where and not len(type):
            raise NotATable(f"its field {where[:-1]} is a record without fields, which Parquet cannot hold")
        names = [each.name for each in type]
        counted = Counter(name.casefold() for name in names)
        same = sorted({name for name in names if counted[name.casefold()] > 1})
        if same:
            told = ", ".join(where + name for name in same)
            raise NotATable(f"its fields {told} are the same column, since upper case does not count")
        for field in type:
            _check_names(field.type, f"{where}{field.name}.")


def merged(table: StructType, schema: StructType) -> StructType:
    """Return the table's columns, extended to hold values of a schema. Raises AnotherModel."""
    known = {field.name.lower(): field for field in table}
    fields = {field.name.lower(): StructField(field.name, field.dataType) for field in table}
    for field in schema:
        before = known.get(field.name.lower())
        type = field.dataType if before is None else _wider(before.dataType, field.dataType, field.name)
        fields[field.name.lower()] = StructField(field.name if before is None else before.name, type)
    return StructType(list(fields.values()))


_WIDER: dict[tuple[type[DataType], type[DataType]], DataType] = {
    (IntegerType, LongType): LongType(),
    (IntegerType, DoubleType): DoubleType(),
    (FloatType, DoubleType): DoubleType(),
}
"""Type -> the types as which Parquet files of it can be read."""


def _wider(one: DataType, other: DataType, name: str) -> DataType:
    if one == other:
        return one
    if isinstance(one, StructType) and isinstance(other, StructType):
        return merged(one, other)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(_wider(one.elementType, other.elementType, name))
    if isinstance(one, MapType) and isinstance(other, MapType) and one.keyType == other.keyType:
        return MapType(one.keyType, _wider(one.valueType, other.valueType, name))
    found = _WIDER.get((type(one), type(other))) or _WIDER.get((type(other), type(one)))
    if found is None:
        raise AnotherModel(f"{name} is {one.simpleString()}, and cannot become {other.simpleString()}")
    return found


def _nullable(found: DataType) -> DataType:
    if isinstance(found, StructType):
        return StructType([StructField(field.name, _nullable(field.dataType)) for field in found])
    if isinstance(found, ArrayType):
        return ArrayType(_nullable(found.elementType))
    if isinstance(found, MapType):
        return MapType(_nullable(found.keyType), _nullable(found.valueType))
    return found


def from_json(columns: Any) -> StructType:
    return StructType.fromJson(columns)


def own_columns(columns: Any, kind: str) -> StructType:
    """Return a table's columns without those of place: its events', and those of every table."""
    deleted = [DELETED] if kind == "changes" else []
    return StructType([*(from_json(columns).fields if columns else ()), *META.fields, *deleted])
