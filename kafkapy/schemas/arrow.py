"""Values in the registry's wire format as typed columns of Arrow tables.

    from kafkapy.schemas import SchemaRegistryClient, arrow

    table = arrow.decode(consumer.poll_arrow(timeout_ms=1000), SchemaRegistryClient("http://localhost:8081"))

Needs pyarrow, and the library of the format.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from io import BytesIO
from typing import Any, Literal

from kafkapy.common.extras import need
from kafkapy.schemas import wire_format
from kafkapy.schemas.errors import SchemaDeserializationError, SchemaRegistryError, SerdeError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import describe, with_references
from kafkapy.schemas.types import AVRO, JSON, PROTOBUF, Schema
from kafkapy.schemas.wire_format import MAGIC_BYTE, PREFIX_SIZE

need("arrow", "pyarrow", "numpy", by="A typed column")

import numpy as np  # noqa: E402
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]  # noqa: E402
import pyarrow.json as pa_json  # type: ignore[import-untyped, unused-ignore]  # noqa: E402

from kafkapy.schemas.column_types import type_of_avro, type_of_json, without_times  # noqa: E402

OnError = Literal["raise", "null"]


def decode(
    table: pa.Table,
    registry: SchemaRegistryClient,
    *,
    column: str = "value",
    reader_schema: str | Schema | None = None,
    errors: OnError = "raise",
) -> pa.Table:
    """The table with `column` (bytes in the wire format) as a typed one; `flatten()` makes columns of a
    record's fields.

    Each value is read by the schema that it was written with, and resolved to `reader_schema`; without one, to that of the
    highest id in the table. `errors`: what cannot be read is a SchemaDeserializationError that names the record, or null.
    Raises SerdeError for a schema that has no type as a column, and what the registry raises.
    """
    index = table.schema.get_field_index(column)
    if index < 0:
        raise ValueError(f"There is no column {column!r}, or several, among {', '.join(table.column_names)}")
    data = table.column(index)
    ids = _ids(data)
    reader = _as_schema(reader_schema) or _newest(registry, ids)
    if reader is None:  # no value at all
        return table
    decoder = decoder_of(registry, reader)
    decoded = decoder.decode(data.to_pylist(), ids, errors, lambda row: _place(table, row))
    return table.set_column(index, column, decoded)


def decode_array(decoder: ColumnDecoder, values: pa.Array, errors: OnError) -> pa.Array:
    """An array of bytes (with prefixes, if the decoder has a registry) as a typed one. Raises what `decode` raises."""
    ids = _ids(pa.chunked_array([values])) if decoder.registry is not None else None
    return decoder.decode(values.to_pylist(), ids, errors, lambda row: f"row {row}")


class ColumnDecoder(ABC):
    """Reads columns of bytes as the type of a reader's schema. `type` is that type; without a registry there are no prefixes."""

    type: pa.DataType
    registry: SchemaRegistryClient | None

    @abstractmethod
    def reader(self, schema_id: int | None) -> Callable[[bytes], Any]:
        """What reads a value that was written with a schema (None: the reader's, and there is no prefix)."""

    def decode(self, values: list[Any], ids: Any, errors: OnError, place: Callable[[int], str]) -> pa.Array:
        """`ids`: of each value its schema's, -1 for nulls and -2 for what is not in the wire format; None: no prefixes.

        Raises SchemaDeserializationError, and what the registry raises.
        """
        rows: list[Any] = [None] * len(values)
        for schema_id in [None] if ids is None else sorted(set(ids.tolist()) - {-1}):
            chosen = range(len(values)) if schema_id is None else np.flatnonzero(ids == schema_id).tolist()
            read = self._reader_or_error(schema_id)
            for row in chosen:
                try:
                    rows[row] = None if values[row] is None else read(values[row])
                except Exception as error:
                    if errors == "raise":
                        raise _failure(place(row), error) from error
        try:
            return pa.array(rows, type=self.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            return self._one_by_one(rows, errors, place, error)

    def _reader_or_error(self, schema_id: int | None) -> Callable[[bytes], Any]:
        """A schema that is unknown, or makes no sense, is an error of each record that names it."""
        if schema_id == -2:
            return _foreign
        try:
            return self.reader(schema_id)
        except Exception as error:
            if getattr(error, "retriable", False) or getattr(error, "http_status_code", 404) != 404:
                raise
            failure = error

            def fail(value: bytes) -> Any:
                raise failure

            return fail

    def _one_by_one(
        self, rows: list[Any], errors: OnError, place: Callable[[int], str], failure: Exception
    ) -> pa.Array:
        """Which value is it that does not fit the column?"""
        for row, value in enumerate(rows):
            try:
                pa.array([value], type=self.type)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                if errors == "raise":
                    raise _failure(place(row), error) from error
                rows[row] = None
        return pa.array(rows, type=self.type)


class AvroColumns(ColumnDecoder):
    """Times stay the numbers that they are written as: Arrow takes them as they are."""

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema) -> None:
        from kafkapy.schemas import avro

        self._avro = avro
        self.registry = registry
        parsed = avro.parse(registry, schema)
        self.type = type_of_avro(parsed)
        self._schema = avro.fastavro.parse_schema(without_times(parsed))

    @property
    def own_schema(self) -> Any:
        """As `type` has it: without logical types but decimals."""
        return self._schema

    def reader(self, schema_id: int | None) -> Callable[[bytes], Any]:
        read: Any = self._avro.fastavro.schemaless_reader
        own, start, writer = self._schema, 0, self._schema
        if schema_id is not None:
            assert self.registry is not None
            schema = self._avro.parse(self.registry, _checked(self.registry.get_schema(schema_id), AVRO))
            start, writer = PREFIX_SIZE, self._avro.fastavro.parse_schema(without_times(schema))
        reader = None if writer == own else own

        def read_one(value: bytes) -> Any:
            source = BytesIO(value)
            source.seek(start)
            found = read(source, writer, reader)
            if source.tell() != len(value):
                raise ValueError(f"{len(value) - source.tell()} bytes are left behind the value")
            return found

        return read_one


class JsonColumns(ColumnDecoder):
    """Values of records are parsed by Arrow, all at once; whatever it does not like, one by one."""

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema) -> None:
        self.registry = registry
        references: dict[str, Any] = {}
        if registry is not None and schema.references:
            references = {name: json.loads(used.schema_str) for name, used in with_references(registry, schema).items()}
        self.type = type_of_json(json.loads(schema.schema_str), references)

    def reader(self, schema_id: int | None) -> Callable[[bytes], Any]:
        if schema_id is None:
            return json.loads
        assert self.registry is not None
        _checked(self.registry.get_schema(schema_id), JSON)
        return lambda value: json.loads(value[PREFIX_SIZE:])

    def decode(self, values: list[Any], ids: Any, errors: OnError, place: Callable[[int], str]) -> pa.Array:
        if pa.types.is_struct(self.type) and (ids is None or ids.min(initial=0) >= 0) and None not in values:
            for schema_id in [] if ids is None else set(ids.tolist()):
                self._reader_or_error(schema_id)
            found = self._at_once(values, 0 if ids is None else PREFIX_SIZE)
            if found is not None:
                return found
        return super().decode(values, ids, errors, place)

    def _at_once(self, values: list[bytes], start: int) -> pa.Array | None:
        values = [value[start:].replace(b"\n", b" ").replace(b"\r", b" ").strip() for value in values]
        if not all(value[:1] == b"{" and value[-1:] == b"}" for value in values):
            return None  # values that hold no object, or two, must not stand for each other
        size = max(1 << 20, 2 * max(map(len, values), default=0))
        options = pa_json.ParseOptions(explicit_schema=pa.schema(list(self.type)), unexpected_field_behavior="ignore")
        try:
            table = pa_json.read_json(BytesIO(b"\n".join(values)), pa_json.ReadOptions(block_size=size), options)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        if table.num_rows != len(values):
            return None
        return table.to_struct_array().combine_chunks().cast(self.type)


class ProtobufColumns(ColumnDecoder):
    """Message by message. Those of other versions of the file are read by this one, as Protobuf does it."""

    def __init__(self, registry: SchemaRegistryClient, schema: Schema) -> None:
        """`schema`: as `columns_schema` has it."""
        from kafkapy.schemas.protobuf import load, message_at
        from kafkapy.schemas.protobuf_columns import MessageRows

        self.registry = registry
        self._rows = MessageRows(message_at(load(registry, schema), [0]))
        self.type = self._rows.type

    @property
    def message_name(self) -> str:
        name: str = self._rows.message.full_name
        return name

    def reader(self, schema_id: int | None) -> Callable[[bytes], Any]:
        if schema_id is None:
            return self._rows.read
        assert self.registry is not None
        _checked(self.registry.get_schema(schema_id), PROTOBUF)
        return lambda value: self._rows.read(value[PREFIX_SIZE:])


def columns_schema(registry: SchemaRegistryClient, schema_id: int) -> Schema:
    """As `decoder_of` takes it: a Protobuf file is a descriptor, not a text. Raises what the registry raises."""
    schema = registry.get_schema(schema_id)
    return registry.get_schema(schema_id, fmt="serialized") if schema.schema_type == PROTOBUF else schema


def decoder_of(registry: SchemaRegistryClient | None, schema: Schema) -> ColumnDecoder:
    """Raises SerdeError for Protobuf without a registry, and for a schema that has no type as a column."""
    if schema.schema_type == AVRO:
        return AvroColumns(registry, schema)
    if schema.schema_type == JSON:
        return JsonColumns(registry, schema)
    if schema.schema_type == PROTOBUF and registry is not None:
        return ProtobufColumns(registry, schema)
    raise SerdeError(f"Columns are made of Avro and JSON, and of Protobuf in a registry; this is {schema.schema_type}")


def _as_schema(given: str | Schema | None) -> Schema | None:
    return Schema(given) if isinstance(given, str) else given


def _newest(registry: SchemaRegistryClient, ids: Any) -> Schema | None:
    """The schema of the highest id that the registry knows; None if there is no value in the wire format."""
    wanted = sorted(set(ids.tolist()) - {-1, -2}, reverse=True)
    for schema_id in wanted:
        try:
            return columns_schema(registry, schema_id)
        except SchemaRegistryError as error:
            if error.http_status_code != 404 or schema_id == wanted[-1]:
                raise
    if (ids == -2).any():
        raise SchemaDeserializationError("No value is in the registry's wire format")
    return None


def _ids(data: pa.ChunkedArray) -> Any:
    """Of each value the id of its schema; -1 for null, -2 for what is not in the wire format."""
    parts = [ids_of_array(chunk) for chunk in data.chunks if len(chunk)]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def ids_of_array(values: pa.Array) -> Any:
    """Of each value (bytes) the id of its schema; -1 for null, -2 for what is not in the wire format."""
    chunk = values.cast(pa.large_binary())
    _, offsets_buffer, data_buffer = chunk.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
    content = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    ids = np.full(len(chunk), -2, np.int64)
    rows = np.flatnonzero(np.diff(offsets) >= PREFIX_SIZE)
    starts = offsets[:-1][rows]
    rows, starts = rows[content[starts] == MAGIC_BYTE], starts[content[starts] == MAGIC_BYTE]
    found = np.zeros(len(rows), np.int64)
    for byte in range(1, PREFIX_SIZE):
        found = found << 8 | content[starts + byte]
    ids[rows] = found
    if chunk.null_count:
        ids[chunk.is_null().to_numpy(zero_copy_only=False)] = -1
    return ids


def _foreign(value: bytes) -> Any:
    wire_format.read(value)
    raise SchemaDeserializationError("The value is not in the registry's wire format")


def _checked(schema: Schema, kind: str) -> Schema:
    if schema.schema_type != kind:
        raise SchemaDeserializationError(
            f"The value was written with a schema of type {schema.schema_type}, not {kind}"
        )
    return schema


def _place(table: pa.Table, row: int) -> str:
    """Where a record is, as far as the table tells."""
    names = [name for name in ("topic", "partition", "offset") if name in table.column_names]
    told = ", ".join(f"{name} {table.column(name)[row].as_py()}" for name in names)
    return told or f"row {row}"


def _failure(place: str, error: Exception) -> SchemaDeserializationError:
    reason = error.message if isinstance(error, SerdeError) else describe(error)
    return SchemaDeserializationError(f"The value of the record at {place} cannot be read: {reason}")
