"""Decodes values in the registry's wire format to typed columns of Arrow tables.

    from kafkapy.schemas import SchemaRegistryClient, arrow

    table = arrow.decode(consumer.poll_arrow(timeout_ms=1000), SchemaRegistryClient("http://localhost:8081"))

Needs pyarrow, and the library of the format.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from kafkapy.common import strict_json
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

from kafkapy.schemas.column_types import type_of_avro, type_of_json, without_logical_types  # noqa: E402
from kafkapy.schemas.column_values import converted, fitting_of, salvaged  # noqa: E402

if TYPE_CHECKING:
    from kafkapy.schemas.json_checks import ColumnChecks

OnError = Literal["raise", "null"]
_SPACES = b" \t\r\n"
_FEW = 16
"""Batches of this many JSON values are not halved further to find the value that Arrow rejects."""
_DEEP = 500
"""Number of brackets below which a text can't be nested too deeply for Python's parser."""


def decode(
    table: pa.Table,
    registry: SchemaRegistryClient,
    *,
    column: str = "value",
    reader_schema: str | Schema | None = None,
    errors: OnError = "raise",
) -> pa.Table:
    """Return the table with `column` (bytes in the wire format) decoded to a typed column.

    `flatten()` turns a record's fields into columns.

    Each value is decoded with its writer's schema, and resolved to `reader_schema`; without one, to the schema with
    the highest id in the table. `errors`: a value that can't be decoded raises a SchemaDeserializationError that names
    the record, or becomes null. Raises SerdeError for a schema without an Arrow type, and the registry's errors.
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


def decode_array(
    decoder: ColumnDecoder,
    values: pa.Array,
    errors: OnError,
    as_type: Callable[[pa.DataType], pa.DataType] | None = None,
) -> pa.Array:
    """Decode an array of bytes (with prefixes, if the decoder has a registry) to a typed array.

    Args:
        decoder: Of the values' schema.
        values: Bytes, or null.
        errors: As in `decode`.
        as_type: The type to convert to, by the decoder's; a value that this type cannot hold counts as one that cannot be read.

    Raises:
        SchemaDeserializationError, SchemaRegistryError: As `decode`.
    """
    ids = _ids(pa.chunked_array([values])) if decoder.registry is not None else None
    found, failures = decoder.read(values.to_pylist(), ids)
    if as_type is not None:
        type = as_type(decoder.type)
        found, unfit = salvaged(lambda part: converted(part, type), found, type)
        failures |= unfit
    if errors == "raise":
        raise_first(failures, lambda row: f"row {row}")
    return found


def raise_first(failures: Mapping[int, Exception], place: Callable[[int], str]) -> None:
    """Raise SchemaDeserializationError for the first failed row, if there is one."""
    if failures:
        row = min(failures)
        raise _failure(place(row), failures[row]) from failures[row]


class ColumnDecoder(ABC):
    """Decodes columns of bytes to `type`, the Arrow type of a reader's schema. Without a registry values have no
    prefixes."""

    type: pa.DataType
    registry: SchemaRegistryClient | None

    @abstractmethod
    def reader(self, schema_id: int | None) -> Callable[[bytes], Any]:
        """Return a function that decodes a value written with a schema (None: the reader's, without prefix)."""

    def decode(self, values: list[Any], ids: Any, errors: OnError, place: Callable[[int], str]) -> pa.Array:
        """Decode values. `ids`: each value's schema id, -1 for null and -2 for invalid prefixes; None: no prefixes.

        Raises SchemaDeserializationError, and the registry's errors.
        """
        found, failures = self.read(values, ids)
        if errors == "raise":
            raise_first(failures, place)
        return found

    def read(self, values: list[Any], ids: Any = None) -> tuple[pa.Array, dict[int, Exception]]:
        """Decode values individually, so that a bad value does not affect the others.

        Args:
            values: Bytes, or None for null.
            ids: As in `decode`.

        Returns:
            A column with null for what cannot be read, and why not, by row.

        Raises:
            SchemaRegistryError, SchemaRegistryUnavailableError: The registry could not say.
        """
        rows: list[Any] = [None] * len(values)
        failures: dict[int, Exception] = {}
        for schema_id in [None] if ids is None else sorted(set(ids.tolist()) - {-1}):
            chosen = range(len(values)) if schema_id is None else np.flatnonzero(ids == schema_id).tolist()
            read = self._reader_or_error(schema_id)
            for row in chosen:
                try:
                    rows[row] = None if values[row] is None else read(values[row])
                except Exception as error:
                    failures[row] = error
        found, unfit = salvaged(self._column, rows, self.type)
        return found, failures | unfit

    def _column(self, rows: list[Any]) -> pa.Array:
        """Values that `reader` has read as a column. Raises for one that does not fit the type."""
        return pa.array(rows, type=self.type)

    def _reader_or_error(self, schema_id: int | None) -> Callable[[bytes], Any]:
        """Return the reader of a schema id; an unknown or invalid schema is an error of each record with that id."""
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


class AvroColumns(ColumnDecoder):
    """Decodes Avro: fastavro reads the written numbers and bytes; logical types are converted by columns."""

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema) -> None:
        from kafkapy.schemas import avro

        self._avro = avro
        self.registry = registry
        parsed = avro.parse(registry, schema)
        self.type = type_of_avro(parsed)
        self._schema = avro.fastavro.parse_schema(without_logical_types(parsed))
        self.written_type = type_of_avro(self._schema)

    @property
    def written_schema(self) -> Any:
        """Without logical types, as `written_type` has it."""
        return self._schema

    def _column(self, rows: list[Any]) -> pa.Array:
        return converted(pa.array(rows, type=self.written_type), self.type)

    def reader(self, schema_id: int | None) -> Callable[[bytes], Any]:
        read: Any = self._avro.fastavro.schemaless_reader
        own, start, writer = self._schema, 0, self._schema
        if schema_id is not None:
            assert self.registry is not None
            schema = self._avro.parse(self.registry, _checked(self.registry.get_schema(schema_id), AVRO))
            start, writer = PREFIX_SIZE, self._avro.fastavro.parse_schema(without_logical_types(schema))
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
    """Decodes JSON: each value is parsed and validated against its writer's schema.

    If Arrow's parser and checks of its columns suffice to validate values, many are decoded at once.
    """

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema) -> None:
        from kafkapy.schemas import json_schema
        from kafkapy.schemas.json_checks import ColumnChecks

        self._json_schema = json_schema
        self.registry = registry
        references: dict[str, Any] = {}
        if registry is not None and schema.references:
            references = {name: json.loads(used.schema_str) for name, used in with_references(registry, schema).items()}
        self.type = type_of_json(json.loads(schema.schema_str), references)
        self._own = schema
        self._parsed = json_schema.parse(registry, schema)
        self._checks = ColumnChecks(self._parsed.validator) if pa.types.is_struct(self.type) else None
        self._fitted = fitting_of(self.type)

    def reader(self, schema_id: int | None) -> Callable[[bytes], Any]:
        parsed, start = self._parsed, 0
        if schema_id is not None:
            assert self.registry is not None
            start = PREFIX_SIZE
            schema = _checked(self.registry.get_schema(schema_id), JSON)
            if schema != self._own:
                parsed = self._json_schema.parse(self.registry, schema)

        def read_one(value: bytes) -> Any:
            found = strict_json.loads(value[start:])
            wrong = self._json_schema.first_error(parsed, found)
            if wrong is not None:
                raise SchemaDeserializationError(f"It does not fit its schema: {wrong}")
            return self._fitted(found)

        return read_one

    def read(self, values: list[Any], ids: Any = None) -> tuple[pa.Array, dict[int, Exception]]:
        if self._checks is None or not self._checks.are_possible or None in values or not self._is_own(ids):
            return super().read(values, ids)
        start = 0 if ids is None else PREFIX_SIZE
        texts = [value[start:].strip(_SPACES) for value in values]
        found, suspects = self._at_once(texts, self._checks)
        if not len(suspects):
            return found, {}
        own, failures = super().read([values[row] for row in suspects], None if ids is None else ids[suspects])
        places = np.arange(len(values))
        places[suspects] = len(values) + np.arange(len(suspects))
        both = pa.concat_arrays([found, own]).take(pa.array(places))
        return both, {int(suspects[row]): error for row, error in failures.items()}

    def _is_own(self, ids: Any) -> bool:
        """Return whether all values were written with the reader's schema."""
        if ids is None:
            return True
        assert self.registry is not None
        unique = np.unique(ids).tolist()
        return len(unique) == 1 and unique[0] >= 0 and self._is_schema(unique[0])

    def _is_schema(self, schema_id: int) -> bool:
        assert self.registry is not None
        try:
            return self.registry.get_schema(schema_id) == self._own
        except SchemaRegistryError as error:
            if error.http_status_code != 404:
                raise
            return False

    def _at_once(self, texts: list[bytes], checks: ColumnChecks) -> tuple[pa.Array, Any]:
        """Decode all values at once; return the column, and the rows that must be decoded individually."""
        found = self._parsed_by_arrow(texts, checks.refuse_unknown)
        if found is None and len(texts) > _FEW:
            middle = len(texts) // 2
            (left, odd), (right, others) = (self._at_once(each, checks) for each in (texts[:middle], texts[middle:]))
            return pa.concat_arrays([left, right]), np.concatenate([odd, others + middle])
        if found is None:
            return pa.nulls(len(texts), self.type), np.arange(len(texts))
        odd = np.array([_is_odd(text) for text in texts], np.bool_)
        return found, np.flatnonzero(checks.suspects(found, texts) | odd)

    def _parsed_by_arrow(self, texts: list[bytes], refuse_unknown: bool) -> pa.Array | None:
        """Parse texts with Arrow to one struct each; None if one is no object, or results can't be matched to
        texts."""
        if not all(text[:1] == b"{" and text[-1:] == b"}" for text in texts):
            return None  # a value with no object and one with two would cancel out in the count
        whole = b"\n".join(texts)
        options = pa_json.ParseOptions(
            explicit_schema=pa.schema(list(self.type)),
            unexpected_field_behavior="error" if refuse_unknown else "ignore",
            newlines_in_values=whole.count(b"\n") >= len(texts),
        )
        try:
            whole.decode()
            table = pa_json.read_json(BytesIO(whole), pa_json.ReadOptions(block_size=len(whole) + (1 << 20)), options)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError):
            return None
        if table.num_rows != len(texts):
            return None
        return table.to_struct_array().combine_chunks().cast(self.type)


def _is_odd(text: bytes) -> bool:
    """Return whether Arrow's parser may accept a text that is no valid JSON."""
    return b"NaN" in text or b"Inf" in text or text.count(b"[") + text.count(b"{") > _DEEP


class ProtobufColumns(ColumnDecoder):
    """Decodes Protobuf, one message at a time; Protobuf itself reads messages of other versions of the file."""

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
    """Return the schema in the form of `decoder_of`: a Protobuf file is a descriptor, not a text. Raises the
    registry's errors."""
    schema = registry.get_schema(schema_id)
    return registry.get_schema(schema_id, fmt="serialized") if schema.schema_type == PROTOBUF else schema


def decoder_of(registry: SchemaRegistryClient | None, schema: Schema) -> ColumnDecoder:
    """Create a decoder. Raises SerdeError for Protobuf without a registry, and for a schema without an Arrow type."""
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
    """Return the schema with the highest id in the registry; None if no value is in the wire format."""
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
    """Describe a record's place by the table's columns."""
    names = [name for name in ("topic", "partition", "offset") if name in table.column_names]
    told = ", ".join(f"{name} {table.column(name)[row].as_py()}" for name in names)
    return told or f"row {row}"


def _failure(place: str, error: Exception) -> SchemaDeserializationError:
    reason = error.message if isinstance(error, SerdeError) else describe(error)
    return SchemaDeserializationError(f"The value of the record at {place} cannot be read: {reason}")
