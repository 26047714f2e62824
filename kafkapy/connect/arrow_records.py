"""Records as Arrow tables, for tasks that work in columns. Needs the extra `arrow`."""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from kafkapy.connect.data.arrow_schemas import arrow, arrow_field, connect_schema
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.logical import DAY_MS
from kafkapy.connect.data.numbers import double_value, float32
from kafkapy.connect.data.scalars import Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import ConnectRecord, SinkRecord, SourceRecord
from kafkapy.connect.sink import SinkTask
from kafkapy.connect.source import SourceTask

_INTEGERS: Final = {Type.INT8: Int8, Type.INT16: Int16, Type.INT32: Int32, Type.INT64: Int64}


def records_to_arrow(records: Sequence[ConnectRecord]) -> Any:
    """Return a table with the columns topic, partition, offset, timestamp, key and value.

    A struct is a struct in Arrow, a tombstone null; `table["value"].combine_chunks().flatten()` are its columns.

    Args:
        records: Values and keys that are not None have one schema each; keys without a schema must be text, bytes or None.

    Raises:
        DataException: Schemas differ or are missing.

    Example:
        >>> from kafkapy.connect.data.schema import INT32_SCHEMA
        >>> record = SinkRecord("t", 0, None, b"k", INT32_SCHEMA, 5, 7)
        >>> records_to_arrow([record]).column_names
        ['topic', 'partition', 'offset', 'timestamp', 'key', 'value']
    """
    pa = arrow()
    offsets = [each.kafka_offset if isinstance(each, SinkRecord) else None for each in records]
    key = _column("key", [(each.key_schema, each.key) for each in records])
    value = _column("value", [(each.value_schema, each.value) for each in records])
    fields = [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("ms", "UTC")),
        key[0],
        value[0],
    ]
    columns = [
        pa.array([each.topic for each in records], pa.string()),
        pa.array([each.kafka_partition for each in records], pa.int32()),
        pa.array(offsets, pa.int64()),
        pa.array([each.timestamp for each in records], pa.timestamp("ms", "UTC")),
        key[1],
        value[1],
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def arrow_tables(records: Sequence[ConnectRecord]) -> Iterator[Any]:
    """Return `records_to_arrow` of each run of records with the same schemas, in order.

    Args:
        records: Tombstones belong to the run before them.
    """
    last: list[Schema | None] = [None, None]

    def schemas(record: ConnectRecord) -> tuple[Schema | None, Schema | None]:
        if record.key is not None:
            last[0] = record.key_schema
        if record.value is not None:
            last[1] = record.value_schema
        return last[0], last[1]

    for _, run in groupby(records, schemas):
        yield records_to_arrow(list(run))


def _column(name: str, cells: list[tuple[Schema | None, Any]]) -> tuple[Any, Any]:
    pa = arrow()
    present = [(schema, value) for schema, value in cells if value is not None]
    if not present:
        return pa.field(name, pa.null()), pa.nulls(len(cells))
    schema = present[0][0]
    if any(each is not schema and each != schema for each, _ in present):
        raise DataException(f"The schemas of the records differ in their {name}; make one table for each schema")
    if schema is None:
        kinds = {type(value) for _, value in present}
        if kinds not in ({str}, {bytes}):
            raise DataException(f"The {name} has no schema; only text and bytes can be a column then")
        kind = pa.string() if kinds == {str} else pa.binary()
        return pa.field(name, kind), pa.array([value for _, value in cells], kind)
    field = arrow_field(name, schema).with_nullable(True)
    return field, pa.array([_to_arrow(schema, value) for _, value in cells], field.type)


def _to_arrow(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Instant):
        return value.ms // DAY_MS if schema.name == DATE else value.ms
    match schema.type:
        case Type.STRUCT:
            return {field.name: _to_arrow(field.schema, value.get(field.name)) for field in schema.fields}
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [_to_arrow(schema.value_schema, each) for each in value]
        case Type.MAP:
            assert schema.key_schema is not None and schema.value_schema is not None
            return [
                (_to_arrow(schema.key_schema, key), _to_arrow(schema.value_schema, each)) for key, each in value.items()
            ]
    return value


def arrow_to_records(
    table: Any,
    topic: str,
    *,
    source_partition: Mapping[str, Any] | None = None,
    source_offset: Callable[[int], Mapping[str, Any] | None] = lambda row: None,
    key_fields: Sequence[str] = (),
    schema: Schema | None = None,
) -> list[SourceRecord]:
    """Return a source record for each row; its value is a struct with the columns as fields.

    Args:
        table: A table or a record batch.
        topic: Where the records go.
        source_partition: Names the part of the source. Default: None.
        source_offset: Returns the offset of a row, from 0. Default: None for each.
        key_fields: Columns of which the key consists: one is the key itself, several are a struct. Default: no key.
        schema: Of the values. Default: `connect_schema` of the table.

    Raises:
        DataException: A column is missing, or Connect has nothing for its type.

    Example:
        >>> import pyarrow
        >>> records = arrow_to_records(pyarrow.table({"id": [1, 2]}), "rows", key_fields=["id"])
        >>> [(record.key, record.value["id"]) for record in records]
        [(1, 1), (2, 2)]
    """
    schema = connect_schema(table.schema) if schema is None else schema
    key_schema = _key_schema(schema, key_fields)
    columns = [table.column(field.name).to_pylist() for field in schema.fields]
    records = []
    for row, cells in enumerate(zip(*columns, strict=True)):
        value = Struct(schema)
        for field, cell in zip(schema.fields, cells, strict=True):
            value.put(field.name, _from_arrow(field.schema, cell))
        key: Any = None
        if len(key_fields) == 1:
            key = value.get(key_fields[0])
        elif key_schema is not None:
            key = Struct(key_schema, {name: value.get(name) for name in key_fields})
        offset = source_offset(row)
        records.append(SourceRecord(source_partition, offset, topic, None, key_schema, key, schema, value))
    return records


def _key_schema(schema: Schema, names: Sequence[str]) -> Schema | None:
    parts = []
    for name in names:
        field = schema.field(name)
        if field is None:
            raise DataException(f"The table has no column {name}, which key_fields names")
        parts.append(field)
    if len(parts) <= 1:
        return parts[0].schema if parts else None
    builder = SchemaBuilder(Type.STRUCT)
    for field in parts:
        builder.field(field.name, field.schema)
    return builder.build()


def _from_arrow(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dt.date | dt.time):
        return Instant.of(value)
    match schema.type:
        case Type.STRUCT:
            return Struct(schema, {field.name: _from_arrow(field.schema, value[field.name]) for field in schema.fields})
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [_from_arrow(schema.value_schema, each) for each in value]
        case Type.MAP:
            assert schema.key_schema is not None and schema.value_schema is not None
            return {
                as_key(_from_arrow(schema.key_schema, key)): _from_arrow(schema.value_schema, each)
                for key, each in value
            }
        case Type.FLOAT32:
            return float32(value)
        case Type.FLOAT64:
            return double_value(value)
    integer = _INTEGERS.get(schema.type)
    return value if integer is None else integer(value)


class ArrowSinkTask(SinkTask):
    """Base of sink tasks that take their records as Arrow tables."""

    def put(self, records: Sequence[Any]) -> None:
        """Call `put_arrow` for each run of records with the same schemas. Raises what that raises, and DataException."""
        for table in arrow_tables(records):
            self.put_arrow(table)

    @abstractmethod
    def put_arrow(self, table: Any) -> None:
        """Write the records of a table, or keep them until `flush`.

        Args:
            table: As `records_to_arrow` gives it.

        Raises:
            RetriableException: All records of the same `put` come again.
        """


class ArrowSourceTask(SourceTask):
    """Base of source tasks that return Arrow tables."""

    @abstractmethod
    def poll_arrow(self) -> tuple[Any, Mapping[str, Any]] | None:
        """Return a table or a record batch, and the arguments of `arrow_to_records` besides it; None: no data now.

        Example of the arguments: `{"topic": "rows", "source_partition": …, "source_offset": lambda row: …}`.
        """

    def poll(self) -> Sequence[SourceRecord] | None:
        """Return the rows that `poll_arrow` has returned, as records."""
        found = self.poll_arrow()
        return None if found is None else arrow_to_records(found[0], **found[1])
