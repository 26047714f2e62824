"""Parquet files."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, Struct
from kafkapy.connect.errors import DataException

_ROWS: Final = 5_000
"""How many rows are in memory at most; they become one row group."""


class ParquetEncoder:
    """Writes a file with a column for each field of the values.

    Args:
        spool: Where it writes.
        schema: Of the values, a struct.
        codec: none, snappy, gzip, zstd, lz4 or brotli.

    Raises:
        DataException: The values are no structs.
    """

    def __init__(self, spool: Spool, schema: Schema | None, codec: str) -> None:
        from pyarrow import parquet

        if schema is None or schema.type is not Type.STRUCT:
            raise DataException(
                "Parquet files need values that are structs with a schema, for example of AvroConverter."
            )
        self._schema = schema
        self._arrow = arrow_schema(schema)
        self._rows: list[Any] = []
        self._writer = parquet.ParquetWriter(spool, self._arrow, compression=codec)

    def prepared(self, value: Any) -> Any:
        if value is None:
            raise DataException("A null cannot be written to a Parquet file.")
        return arrow_value(self._schema, value)

    def append(self, prepared: Any) -> None:
        self._rows.append(prepared)
        if len(self._rows) >= _ROWS:
            self._write_group()

    def finish(self) -> None:
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        import pyarrow

        if self._rows:
            self._writer.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._arrow))
            self._rows = []


def arrow_schema(schema: Schema) -> Any:
    """Return the Arrow schema of a struct."""
    import pyarrow

    return pyarrow.schema([_field(field.name, field.schema) for field in schema.fields])


def _field(name: str, schema: Schema) -> Any:
    import pyarrow

    return pyarrow.field(name, _type(schema), nullable=schema.optional)


def _type(schema: Schema) -> Any:
    import pyarrow

    match schema.name:
        case name if name == DECIMAL:
            return pyarrow.decimal128(38, int((schema.parameters or {}).get("scale", 0)))
        case name if name == DATE:
            return pyarrow.date32()
        case name if name == TIME:
            return pyarrow.time32("ms")
        case name if name == TIMESTAMP:
            return pyarrow.timestamp("ms", "UTC")
    match schema.type:
        case Type.STRUCT:
            return pyarrow.struct([_field(field.name, field.schema) for field in schema.fields])
        case Type.ARRAY:
            return pyarrow.list_(_field("element", _inner(schema.value_schema)))
        case Type.MAP:
            key = _type(_inner(schema.key_schema))
            return pyarrow.map_(key, _field("value", _inner(schema.value_schema)))
        case kind:
            names = {Type.FLOAT32: "float32", Type.FLOAT64: "float64", Type.BOOLEAN: "bool_", Type.BYTES: "binary"}
            return getattr(pyarrow, names.get(kind, kind.value))()


def _inner(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataException("The elements of an array or a map have no schema.")
    return schema


def arrow_value(schema: Schema, value: Any) -> Any:
    """Return a value as pyarrow takes it.

    Args:
        schema: Its schema.
        value: The value; None stands for the schema's default.

    Raises:
        DataException: It has no place in a column of its schema.
    """
    if value is None:
        value = schema.default
        if value is None:
            if schema.optional:
                return None
            raise DataException("The value is null, and its schema neither optional nor with a default.")
    match schema.name:
        case name if name == DECIMAL:
            return _decimal(value)
        case name if name == DATE:
            return value.date()
        case name if name == TIME:
            return value.time()
        case name if name == TIMESTAMP:
            return value.datetime()
    match schema.type:
        case Type.STRUCT if isinstance(value, Struct):
            return {
                field.name: arrow_value(field.schema, value.get_without_default(field.name)) for field in schema.fields
            }
        case Type.ARRAY:
            items = _inner(schema.value_schema)
            return [arrow_value(items, each) for each in value]
        case Type.MAP:
            keys, values = _inner(schema.key_schema), _inner(schema.value_schema)
            return [(arrow_value(keys, key), arrow_value(values, each)) for key, each in value.items()]
    return value


def _decimal(value: Decimal) -> Decimal:
    if len(value.as_tuple().digits) > 38:
        raise DataException(f"The decimal {value} has more than the 38 digits that Parquet's have.")
    return value
