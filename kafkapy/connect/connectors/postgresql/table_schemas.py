"""Captured tables: schemas of keys, rows and envelopes, and the conversion of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkapy.connect.connectors.debezium.event_schemas import envelope_schema
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.debezium.value_type import ValueType
from kafkapy.connect.connectors.postgresql.column_types import PgType
from kafkapy.connect.connectors.postgresql.event_schemas import SOURCE_SCHEMA
from kafkapy.connect.connectors.postgresql.pgoutput import UNCHANGED, ColumnText, PgRelation, Row
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.value_types import ValueTypes, read_value
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException


@dataclass(frozen=True)
class TableFacts:
    """What the catalog has of a table, beside what a Relation message says.

    Attributes:
        primary_key: Its columns, in the key's order; none without a primary key.
        required: Columns that are NOT NULL.
        types: Types by oid.

    Example:
        >>> TableFacts(("id",), frozenset({"id"}), {}).primary_key
        ('id',)
    """

    primary_key: tuple[str, ...]
    required: frozenset[str]
    types: Mapping[int, PgType]


@dataclass(frozen=True)
class CapturedColumn:
    """A column. `place`: its index in the rows of the server. `schema`: of its field."""

    name: str
    field: str
    place: int
    type: ValueType
    schema: Schema

    def value(self, text: ColumnText) -> Any:
        """Convert what is in a row. Raises ConnectException."""
        if text is None:
            return None if self.schema.optional else self.fit(self.type.zero)
        if text is UNCHANGED:
            return self.fit(self.type.unavailable)
        return self.fit(read_value(self.type, text, self.name))

    def fit(self, value: Any) -> Any:
        """Give a struct the column's own schema, which says whether it is optional."""
        if isinstance(value, Struct) and value.schema is not self.schema:
            return Struct(self.schema, {field.name: value.get(field.name) for field in value.schema.fields})
        return value


class CapturedTable:
    """A table as it is between two changes of its schema.

    Invariant: all fields are fixed by the relation, the facts and the settings.

    Args:
        relation: The table's columns.
        facts: Of the catalog.
        settings: Which columns are captured, and how.
        types: How types are represented.

    Attributes:
        id: The table's name.
        topic: Where its events go.
        columns: Those that are captured.
        key_schema: None: the table has no key.
        value_schema: Of a row.
        envelope: Of an event.
    """

    def __init__(self, relation: PgRelation, facts: TableFacts, settings: CaptureSettings, types: ValueTypes) -> None:
        self.id = TableId(relation.schema, relation.name)
        self.relation = relation
        self.topic = settings.topic(self.id)
        every = _columns(relation, facts, types, settings)
        self.columns = tuple(column for column in every if settings.includes_column(self.id, column.name))
        self.key = _key(self.id, every, relation, facts, settings)
        name = settings.schema_name(self.topic)
        self.value_schema = _struct(f"{name}.Value", self.columns, optional=True)
        self.key_schema = _struct(f"{name}.Key", self.key, optional=False) if self.key else None
        self.envelope = envelope_schema(f"{name}.Envelope", self.value_schema, SOURCE_SCHEMA)
        self._identity = _identity(relation)

    def row(self, row: Row) -> Struct:
        """Return a row. Raises ConnectException."""
        if len(row) != len(self.relation.columns):
            raise ConnectException(f"A row of {self.id} has {len(row)} columns instead of {len(self.relation.columns)}")
        struct = Struct(self.value_schema)
        for column in self.columns:
            struct.put(column.field, column.value(row[column.place]))
        return struct

    def key_of(self, row: Row) -> Struct | None:
        """Return the key of a row; None if the table has none."""
        if self.key_schema is None:
            return None
        struct = Struct(self.key_schema)
        for column in self.key:
            struct.put(column.field, column.value(row[column.place]))
        return struct

    def knows_key(self, is_full: bool) -> bool:
        """Return whether the old row of a change has all columns of the key; `is_full`: it is all of the row."""
        return is_full or all(column.name in self._identity for column in self.key)


def _identity(relation: PgRelation) -> frozenset[str]:
    return frozenset(column.name for column in relation.columns if column.is_key)


def _columns(
    relation: PgRelation, facts: TableFacts, types: ValueTypes, settings: CaptureSettings
) -> tuple[CapturedColumn, ...]:
    """All columns whose types are known, also those that only the key may have."""
    found = []
    for place, column in enumerate(relation.columns):
        type = facts.types.get(column.type_oid, PgType(column.type_oid, "unknown", "u"))
        represented = types.find(type, column.modifier)
        if represented is None:
            continue
        schema = represented.schema(column.name not in facts.required and column.name not in facts.primary_key)
        found.append(CapturedColumn(column.name, settings.field_name(column.name), place, represented, schema))
    return tuple(found)


def _key(
    table: TableId,
    columns: Sequence[CapturedColumn],
    relation: PgRelation,
    facts: TableFacts,
    settings: CaptureSettings,
) -> tuple[CapturedColumn, ...]:
    """The columns of the key: those of the config, or the primary key; where deletes don't tell that, those that they do."""
    by_name = {column.name: column for column in columns}
    names = settings.key_columns(table)
    if missing := [name for name in names if name not in by_name]:
        raise ConnectException(f"message.key.columns has columns that {table} lacks: {', '.join(missing)}")
    if not names:
        names, identity = facts.primary_key, _identity(relation)
        # DEFAULT: the primary key as it was, while the catalog may have a later one. INDEX: deletes have these columns only.
        is_other = identity != set(names) if relation.replica_identity == "d" else not identity.issuperset(names)
        if relation.replica_identity in "di" and is_other:
            names = tuple(column.name for column in relation.columns if column.name in identity)
    return tuple(by_name[name] for name in names if name in by_name)


def _struct(name: str, columns: Sequence[CapturedColumn], optional: bool) -> Schema:
    builder = SchemaBuilder(Type.STRUCT).name(name)
    if optional:
        builder.optional()
    for column in columns:
        builder.field(column.field, column.schema)
    return builder.build()
