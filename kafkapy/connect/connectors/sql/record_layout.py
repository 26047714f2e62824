"""Records as rows: columns, keys and values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from kafkapy.connect.connectors.sql.sink_config import KAFKA_COLUMNS
from kafkapy.connect.connectors.sql.source_config import zone_of
from kafkapy.connect.data.decimals import plain_text
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema
from kafkapy.connect.data.struct import DATE, TIME, Struct
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.records import SinkRecord

_DEBEZIUM: Final = "io.debezium.time."
_MICROS: Final = {
    f"{_DEBEZIUM}Timestamp": 1000,
    f"{_DEBEZIUM}MicroTimestamp": 1,
}
_AS_THEY_ARE: Final = frozenset((str, float, bytes, bool))
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class LayoutColumn(NamedTuple):
    """A column that a record fills: its name, the field's schema (None: unknown), and whether it is of the key."""

    name: str
    schema: Schema | None
    is_key: bool


_Cell = tuple[str, Schema | None, Any]
"""A field's name, schema and value."""


class RowChange(NamedTuple):
    """What a record does to a table.

    Attributes:
        record: The record.
        table: Name of the table.
        key: Values of the primary key; () without one.
        row: Values by columns, those of the key included; None: the row is deleted.
        columns: Of the row.
    """

    record: SinkRecord
    table: str
    key: tuple[Any, ...]
    row: Mapping[str, Any] | None
    columns: tuple[LayoutColumn, ...]


class RecordLayout:
    """Makes changes of records.

    Args:
        config: Parsed.
        kind: Of the database.
    """

    def __init__(self, config: Mapping[str, Any], kind: str) -> None:
        self._keys: str = config["pk.mode"]
        self._pk: list[str] = config["pk.fields"]
        self._wanted = frozenset(config["fields.whitelist"])
        self._format: str = config["table.name.format"]
        self._deletes: bool = config["delete.enabled"]
        self._zone = zone_of(config["db.timezone"])
        self._kind = kind
        self._last_fields: list[tuple[str, Schema | None]] = []
        self._last_keys = 0
        self._last_columns: tuple[LayoutColumn, ...] = ()

    def change(self, record: SinkRecord) -> RowChange | None:
        """Return what a record does; None if it is an event without a row.

        Raises:
            ConnectException: The record does not fit the configs.
        """
        table = self._format.replace("${topic}", record.topic or "")
        schema, value = record.value_schema, record.value
        if value is not None and _is_envelope(schema, value):
            if value["op"] in ("t", "m"):
                return None
            value = None if value["op"] == "d" else value["after"]
            schema = value.schema if isinstance(value, Struct) else None
        if value is None:
            return self._deletion(record, table)
        fields = _fields_of(schema, value, "value")
        key = self._key_fields(record, fields)
        names = [each[0] for each in key]
        others = [each for each in fields if each[0] not in names and (not self._wanted or each[0] in self._wanted)]
        row = {name: self._cell(name, kind, cell) for name, kind, cell in (*key, *others)}
        if not row:
            raise ConnectException("No field of the record is written: see fields.whitelist and pk.fields")
        return RowChange(record, table, tuple([row[name] for name in names]), row, self._columns(key, others))

    def _columns(self, key: Sequence[_Cell], others: Sequence[_Cell]) -> tuple[LayoutColumn, ...]:
        """The columns, the same object as for the record before if they are the same."""
        fields = [each[:2] for each in (*key, *others)]
        if fields != self._last_fields or len(key) != self._last_keys:
            self._last_fields, self._last_keys = fields, len(key)
            self._last_columns = tuple(LayoutColumn(*field, at < len(key)) for at, field in enumerate(fields))
        return self._last_columns

    def _deletion(self, record: SinkRecord, table: str) -> RowChange:
        if not self._deletes:
            raise ConnectException(
                "The record has no value: set delete.enabled=true and pk.mode=record_key to delete the row, "
                "or drop tombstones with the transform Filter and the predicate RecordIsTombstone"
            )
        key = self._key_fields(record, [])
        columns = tuple(LayoutColumn(name, kind, True) for name, kind, _ in key)
        return RowChange(record, table, tuple(self._cell(*each) for each in key), None, columns)

    def _key_fields(self, record: SinkRecord, fields: Sequence[tuple[str, Schema | None, Any]]) -> list[Any]:
        if self._keys == "none":
            return []
        if self._keys == "kafka":
            names = self._pk or KAFKA_COLUMNS
            place = (record.original_topic, record.original_kafka_partition, record.original_kafka_offset)
            return list(zip(names, (STRING_SCHEMA, INT32_SCHEMA, INT64_SCHEMA), place, strict=True))
        if self._keys == "record_key":
            if record.key is None:
                raise ConnectException("The record has no key, which pk.mode=record_key needs")
            if not isinstance(record.key, Struct | dict):
                if len(self._pk) != 1:
                    raise ConnectException(
                        "The key is a single value: pk.fields needs exactly one name, for its column"
                    )
                return [(self._pk[0], record.key_schema, record.key)]
            fields = _fields_of(record.key_schema, record.key, "key")
        if not self._pk:
            return list(fields)
        by_name = {each[0]: each for each in fields}
        if missing := [name for name in self._pk if name not in by_name]:
            part = "key" if self._keys == "record_key" else "value"
            raise ConnectException(f"The {part} has no field {missing[0]}, which is in pk.fields")
        return [by_name[name] for name in self._pk]

    def _cell(self, name: str, schema: Schema | None, value: Any) -> Any:
        if type(value) in _AS_THEY_ARE and schema is not None and schema.name is None:
            return value
        if value is None:
            return None if schema is None else schema.default
        if isinstance(value, Struct | dict) or (isinstance(value, list) and self._kind != "postgresql"):
            raise DataException(f"Field {name} has fields or elements of its own: use the transform Flatten$Value")
        try:
            return self._for_driver(_as_time(schema, value, self._zone))
        except (OverflowError, ValueError) as error:
            raise DataException(f"Field {name} cannot be stored: {error}") from error

    def _for_driver(self, value: Any) -> Any:
        kind = type(value)
        if self._kind == "sqlite":
            if kind is Decimal:
                return plain_text(value)
            if isinstance(value, dt.date | dt.time):
                return value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat()
        if kind is bool or value is None:
            return value
        if isinstance(value, int):
            return int(value)  # drivers look at the exact type
        return float(value) if isinstance(value, float) else value


def _fields_of(schema: Schema | None, value: Any, place: str) -> list[tuple[str, Schema | None, Any]]:
    if isinstance(value, Struct):
        pairs = zip(value.schema.fields, value.values(use_defaults=True), strict=True)
        return [(field.name, field.schema, each) for field, each in pairs]
    if isinstance(value, dict) and schema is None:
        return [(str(name), None, each) for name, each in value.items()]
    raise ConnectException(
        f"The {place} has no fields: a table needs a Struct, as converters with schemas make, or a JSON object"
    )


def _is_envelope(schema: Schema | None, value: Any) -> bool:
    """Return whether it is a change event of Debezium's."""
    if isinstance(value, Struct):
        names = value.schema.fields_by_name.keys()
        return "op" in names and ("after" in names or (schema is not None and str(schema.name).endswith(".Envelope")))
    return isinstance(value, dict) and {"op", "before", "after", "source"} <= set(value)


def _as_time(schema: Schema | None, value: Any, zone: ZoneInfo) -> Any:
    """Return a value of a logical type as Python's."""
    name = None if schema is None else schema.name
    if name is None:
        return value
    if isinstance(value, Instant):
        if name == DATE:
            return value.date()
        return value.time() if name == TIME else value.datetime().astimezone(zone).replace(tzinfo=None)
    if not name.startswith(_DEBEZIUM):
        return value
    if name in _MICROS or name == f"{_DEBEZIUM}NanoTimestamp":  # they have no zone: what they show is stored
        micros = value * _MICROS[name] if name in _MICROS else value // 1000
        return (_EPOCH + dt.timedelta(microseconds=micros)).replace(tzinfo=None)
    if name == f"{_DEBEZIUM}Date":
        return (_EPOCH + dt.timedelta(days=value)).date()
    if name in (f"{_DEBEZIUM}Time", f"{_DEBEZIUM}MicroTime"):
        micros = value * 1000 if name.endswith(".Time") else value
        return (_EPOCH + dt.timedelta(microseconds=micros)).time()
    if name == f"{_DEBEZIUM}ZonedTimestamp":
        return dt.datetime.fromisoformat(value).astimezone(zone).replace(tzinfo=None)
    return value
