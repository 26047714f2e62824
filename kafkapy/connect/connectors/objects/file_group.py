"""The files of one folder that are being written: values, and if wanted keys and headers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kafkapy.connect.connectors.objects.formats import Encoder, FileFormat
from kafkapy.connect.connectors.objects.schema_rules import ends_file, projected
from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord

_HEADER: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.confluent.connect.storage.Header")
    .field("key", STRING_SCHEMA)
    .field("value", OPTIONAL_STRING_SCHEMA)
    .build()
)
_HEADERS: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.confluent.connect.storage.Headers")
    .field("headers", SchemaBuilder.array(_HEADER).build())
    .build()
)


class Column(NamedTuple):
    """What one of the files has of each record.

    Attributes:
        suffix: Of the file's name, with the extension.
        format: Of the file.
        part: Returns schema and value from a record.
    """

    suffix: str
    format: FileFormat
    part: Callable[[SinkRecord], tuple[Schema | None, Any]]


def value_part(record: SinkRecord) -> tuple[Schema | None, Any]:
    """Return the value of a record."""
    return record.value_schema, record.value


def key_part(record: SinkRecord) -> tuple[Schema | None, Any]:
    """Return the key of a record. Its schema is optional, so that records without a key fit the same file."""
    if record.key is None:
        return OPTIONAL_STRING_SCHEMA, None
    return None if record.key_schema is None else _optional(record.key_schema), record.key


@lru_cache(64)
def _optional(schema: Schema) -> Schema:
    if schema.optional or schema.type is Type.STRUCT:  # a struct has its schema, which must stay the same
        return schema
    about = (schema.name, schema.version, schema.doc, schema.parameters)
    if schema.type.is_primitive:
        return Schema(schema.type, True, schema.default, *about)
    keys = schema.key_schema if schema.type is Type.MAP else None
    return Schema(schema.type, True, schema.default, *about, key_schema=keys, value_schema=schema.value_schema)


def headers_part(record: SinkRecord) -> tuple[Schema | None, Any]:
    """Return the headers of a record: a struct with an array of keys and texts."""
    headers = [Struct(_HEADER, {"key": header.key, "value": _text(header.value)}) for header in record.headers]
    return _HEADERS, Struct(_HEADERS, {"headers": headers})


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else java_str(value)


class _OpenFile:
    def __init__(self, column: Column, base: str, schema: Schema | None, folder: str | None) -> None:
        self.column, self.schema = column, schema
        self.name = base + column.suffix
        self.spool = Spool(folder)
        self.encoder: Encoder = column.format.encoder(self.spool, schema, self.name)


class FileGroup:
    """Files with the same records, in the same order.

    Invariant: each file has the same number of records: a record that one of them cannot have is in none.

    Args:
        columns: The files.
        base: Path and name of the files, without suffix.
        first: The first record; it is not appended.
        time_ms: The time of the first record.
        schema_rule: `schema.compatibility`.
        folder: Of temporary files.

    Raises:
        DataException: A schema cannot be written in a format.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        base: str,
        first: SinkRecord,
        time_ms: int,
        schema_rule: str,
        folder: str | None,
    ) -> None:
        self.time_ms = time_ms
        self._rule = schema_rule
        self._files: list[_OpenFile] = []
        try:
            for column in columns:
                schema, _ = column.part(first)
                if schema is None and column.format.needs_schema:
                    raise DataException(
                        f"{base} cannot be written: the records have no schema, which the format needs."
                    )
                self._files.append(_OpenFile(column, base, schema, folder))
        except BaseException:
            self.discard()
            raise

    def ends_before(self, record: SinkRecord) -> bool:
        """Return whether a record belongs into new files, because of its schema. Raises SchemaProjectorException."""
        return any(self._ends(file, *file.column.part(record)) for file in self._files)

    def _ends(self, file: _OpenFile, schema: Schema | None, value: Any) -> bool:
        return value is not None and ends_file(self._rule, file.schema, schema)

    def append(self, record: SinkRecord) -> None:
        """Write a record. Raises DataException; the files are unchanged then."""
        prepared = []
        for file in self._files:
            schema, value = file.column.part(record)
            fitting = None if value is None else projected(value, schema, file.schema)
            prepared.append(file.encoder.prepared(fitting))
        for file, value in zip(self._files, prepared, strict=True):
            file.encoder.append(value)

    def finish(self) -> list[tuple[str, Spool]]:
        """Write the ends of the files; return their names and contents."""
        for file in self._files:
            file.encoder.finish()
        return [(file.name, file.spool) for file in self._files]

    def discard(self) -> None:
        """Remove the files."""
        for file in self._files:
            file.spool.discard()
