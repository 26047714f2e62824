"""Captured tables: schemas of keys, rows and envelopes, and the conversion of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkapy.connect.connectors.debezium.event_schemas import envelope_schema
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.debezium.value_type import ValueType
from kafkapy.connect.connectors.mysql.column_types import MyTable
from kafkapy.connect.connectors.mysql.event_schemas import source_schema
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.connectors.mysql.value_types import PlainValueTypes
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException


@dataclass(frozen=True)
class PlainColumn:
    """A column. `place`: its index in the rows of the server. `schema`: of its field."""

    name: str
    field: str
    place: int
    type: ValueType
    schema: Schema

    def value(self, plain: Any) -> Any:
        """Convert what is in a row. Raises ConnectException."""
        if plain is None:  # NULL, or a date that no calendar has
            return None if self.schema.optional else self.type.zero
        try:
            return self.type.read(plain)
        except (ValueError, ArithmeticError, IndexError) as error:
            raise ConnectException(
                f"The value {str(plain)[:64]!r} of column {self.name} cannot be represented: {error}"
            ) from error


class BinlogTable:
    """A table at one place of the binary log: a change of its structure makes another one.

    Args:
        table: Its structure.
        settings: Which columns are captured, and names.
        types: Representations.
        untold: Types of columns that the structure does not tell, by their names. Default: none.

    Attributes:
        id: The table's name.
        structure: As given.
        topic: Where its events go.
        columns: Those that are captured.
        key_schema: None: the table has no key.
        value_schema: Of a row.
        envelope: Of an event.

    Raises:
        ConnectException: A captured column's type cannot be captured.
    """

    def __init__(
        self, table: MyTable, settings: BinlogSettings, types: PlainValueTypes, untold: Mapping[str, str] | None = None
    ) -> None:
        self.id = TableId(table.database, table.name)
        self.structure = table
        self.topic = settings.topic(self.id)
        key_names = settings.key_columns(self.id)
        if missing := set(key_names) - {column.name for column in table.columns}:
            raise ConnectException(
                f"message.key.columns has columns that {self.id} lacks: {', '.join(sorted(missing))}"
            )
        every = {}
        for place, column in enumerate(table.columns):
            is_captured = settings.includes_column(self.id, column.name)
            if not is_captured and column.name not in (key_names or table.key):
                continue
            if kind := (untold or {}).get(column.name):
                raise ConnectException(
                    f"Column {self.id}.{column.name} has the type {kind}, which cannot be captured: "
                    "add it to column.exclude.list"
                )
            found = types.find(column)
            schema = found.schema(column.is_nullable)
            every[column.name] = PlainColumn(column.name, settings.field_name(column.name), place, found, schema)
        self.columns = tuple(each for each in every.values() if settings.includes_column(self.id, each.name))
        self._key = tuple(every[name] for name in key_names or table.key)
        name = settings.schema_name(self.topic)
        self.value_schema = _struct(f"{name}.Value", self.columns, optional=True)
        self.key_schema = _struct(f"{name}.Key", self._key, optional=False) if self._key else None
        self.envelope = envelope_schema(f"{name}.Envelope", self.value_schema, source_schema(settings.flavor))

    def row(self, row: Sequence[Any]) -> Struct:
        """Return a row. Raises ConnectException."""
        struct = Struct(self.value_schema)
        for column in self.columns:
            struct.put(column.field, column.value(row[column.place]))
        return struct

    def key_of(self, row: Sequence[Any]) -> Struct | None:
        """Return the key of a row; None if the table has none."""
        if self.key_schema is None:
            return None
        struct = Struct(self.key_schema)
        for column in self._key:
            struct.put(column.field, column.value(row[column.place]))
        return struct


def _struct(name: str, columns: Sequence[PlainColumn], optional: bool) -> Schema:
    builder = SchemaBuilder(Type.STRUCT).name(name)
    if optional:
        builder.optional()
    for column in columns:
        builder.field(column.field, column.schema)
    return builder.build()
