"""Routes events of an outbox table (`io.debezium.transforms.outbox.EventRouter`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafkapy.common import strict_json
from kafkapy.common.config_def import ConfigException
from kafkapy.common.config_validators import OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import RegexPattern
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException, IllegalStateException
from kafkapy.connect.transforms.debezium.envelopes import is_envelope
from kafkapy.connect.transforms.debezium.json_payload import json_schema, json_value
from kafkapy.connect.transforms.requirements import require_struct
from kafkapy.connect.transforms.routers import RegexRouter
from kafkapy.connect.transforms.transformation import R, Transformation

log = logging.getLogger("kafkapy.connect.debezium")

_TIMES: Final = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}
"""Divisors to ms, by the names of schemas."""


class Placement(NamedTuple):
    """Where a column of the table goes: to a header, into the value, or it is the partition."""

    column: str
    place: str
    name: str

    @classmethod
    def of(cls, text: str) -> Placement:
        """Read `column:place` or `column:place:name`. Raises ConfigException."""
        column, *rest = (each.strip() for each in text.split(":"))
        if not 1 <= len(rest) <= 2 or rest[0] not in ("header", "envelope", "partition"):
            raise ConfigException(
                f"table.fields.additional.placement has {text}; write column:header, column:envelope or column:partition, "
                "with :name behind if it gets another name"
            )
        return cls(column, rest[0], rest[1] if len(rest) == 2 else column)


class EventRouter(Transformation):
    """Makes a message of each row that is inserted into an outbox table; updates and deletes are dropped.

    Settings:
        table.field.event.id (id), table.field.event.key (aggregateid), table.field.event.payload (payload): Columns with
            the header `id`, the key and the value.
        table.field.event.timestamp: Column with the timestamp. Default: the event's `ts_ms`.
        table.field.event.schema.version: Column with the version of the value's schema. Default: none.
        table.fields.additional.placement: `column:header[:name]`, `column:envelope[:name]`, `column:partition`. Default:
            none. `table.fields.additional.error.on.missing` (true): whether a missing column is an error.
        table.expand.json.payload (false): Text in JSON becomes a struct, with `table.json.payload.null.behavior`
            (`ignore` or `optional_bytes`).
        table.op.invalid.behavior (warn): What an update does: `warn`, `error` (both drop it) or `fatal`.
        route.by.field (aggregatetype), route.topic.regex ((?<routedByValue>.*)), route.topic.replacement
            (outbox.event.${routedByValue}): The topic.
        route.tombstone.on.empty.payload (false): Whether an empty payload becomes a tombstone.

    Raises:
        DataException: A column is missing.
        IllegalStateException: An update, with `fatal`.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> router = EventRouter()
        >>> router.configure({})
        >>> router.apply(SourceRecord({}, {}, "topic")) is None
        True
    """

    java_class = "io.debezium.transforms.outbox.EventRouter"
    version = "undefined"
    _DEFINITIONS = (
        ConfigDef()
        .define("table.field.event.id", default="id", doc="Column with the event's id.")
        .define("table.field.event.key", default="aggregateid", doc="Column with the key.")
        .define("table.field.event.payload", default="payload", doc="Column with the value.")
        .define("table.field.event.timestamp", default=None, doc="Column with the timestamp.")
        .define("table.field.event.schema.version", default=None, doc="Column with the version of the value's schema.")
        .define("table.fields.additional.placement", ConfigType.LIST, "", doc="Other columns, and where they go.")
        .define("table.fields.additional.error.on.missing", ConfigType.BOOLEAN, True, doc="Whether they must exist.")
        .define("table.expand.json.payload", ConfigType.BOOLEAN, False, doc="Whether text in JSON becomes a struct.")
        .define(
            "table.json.payload.null.behavior",
            default="ignore",
            validator=OneOf("ignore", "optional_bytes"),
            doc="What null in JSON becomes.",
        )
        .define(
            "table.op.invalid.behavior",
            default="warn",
            validator=OneOf("warn", "error", "fatal"),
            doc="What updates do.",
        )
        .define("route.by.field", default="aggregatetype", doc="Column that decides on the topic.")
        .define("route.topic.regex", default="(?<routedByValue>.*)", validator=RegexPattern(), doc="Matches its value.")
        .define("route.topic.replacement", default="outbox.event.${routedByValue}", doc="The topic's name.")
        .define("route.tombstone.on.empty.payload", ConfigType.BOOLEAN, False, doc="Whether an empty payload deletes.")
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        self._parsed = self._DEFINITIONS.parse(configs)
        self._placements = [Placement.of(each) for each in self._parsed["table.fields.additional.placement"]]
        self._in_envelope = any(each.place == "envelope" for each in self._placements)
        self._router = RegexRouter()
        regex, replacement = self._parsed["route.topic.regex"], self._parsed["route.topic.replacement"]
        self._router.configure({"regex": regex, "replacement": replacement})

    def apply(self, record: R) -> R | None:
        if record.value is None:
            return None
        if not is_envelope(record):
            return record
        event = require_struct(record.value, "Detect Debezium Operation")
        operation = event.get("op")
        if operation == "u":
            self._refuse(record.key)
        if operation in ("d", "u"):
            return None
        row = require_struct(event.get("after"), "Read Outbox Event")
        schema, value = self._payload(row)
        headers = record.headers.duplicate()
        id_name = self._parsed["table.field.event.id"]
        headers.add("id", _column(row, id_name), _schema(row, id_name))
        partition = None
        for placement in self._placements:
            if not self._has(row, placement.column):
                continue
            if placement.place == "header":
                headers.add(placement.name, _column(row, placement.column), _schema(row, placement.column))
            elif placement.place == "partition":
                partition = _column(row, placement.column)
        topic = _column(row, self._parsed["route.by.field"])
        deletes = self._parsed["route.tombstone.on.empty.payload"] and _is_empty(value)
        if deletes:
            schema, value = None, None
        elif self._in_envelope:
            schema, value = self._envelope(row, str(topic), schema, value)
        key_schema, key = self._key(row)
        contents = (key_schema, key, schema, value, self._timestamp(event, row), headers)
        return self._router.apply(record.new_record(None if topic is None else str(topic), partition, *contents))

    def _refuse(self, key: object) -> None:
        behavior, message = self._parsed["table.op.invalid.behavior"], "Unexpected update message received %s"
        if behavior == "fatal":
            raise IllegalStateException(f"Unexpected update message received {key}, fail.")
        log.log(logging.WARNING if behavior == "warn" else logging.ERROR, f"{message} and ignored", key)

    def _has(self, row: Struct, column: str) -> bool:
        return self._parsed["table.fields.additional.error.on.missing"] or row.schema.field(column) is not None

    def _key(self, row: Struct) -> tuple[Schema, Any]:
        name = self._parsed["table.field.event.key"]
        field = row.schema.field(name)
        return (STRING_SCHEMA, None) if field is None else (field.schema, row.get(name))

    def _payload(self, row: Struct) -> tuple[Schema | None, Any]:
        name = self._parsed["table.field.event.payload"]
        schema, value = _schema(row, name), _column(row, name)
        if not self._parsed["table.expand.json.payload"]:
            return schema, value
        if not isinstance(value, str) or not value.startswith(("{", "[")):
            log.warning("The payload is no object or array in JSON, and is not expanded")
            return schema, value
        try:
            node = strict_json.loads(value)
            keeps = self._parsed["table.json.payload.null.behavior"] == "optional_bytes"
            expanded = json_schema(name, node, keeps_nulls=keeps)
            return expanded, json_value(expanded, node)
        except (ValueError, DataException) as error:
            log.warning("The payload cannot be expanded: %s", error)
            return schema, value

    def _envelope(self, row: Struct, topic: str, payload: Schema | None, value: Any) -> tuple[Schema, Struct]:
        space, dot, name = (row.schema.name or "").rpartition(".")
        builder = SchemaBuilder(Type.STRUCT).name(f"{space}{dot}{topic}.{name}" if name else topic)
        builder.field("payload", payload or OPTIONAL_STRING_SCHEMA)
        placed = [each for each in self._placements if each.place == "envelope" and self._has(row, each.column)]
        for placement in placed:
            builder.field(placement.name, _schema(row, placement.column))
        version = self._parsed["table.field.event.schema.version"]
        if version:
            builder.version(_column(row, version))
        schema = builder.build()
        made = Struct(schema, {"payload": value})
        for placement in placed:
            made.put(placement.name, _column(row, placement.column))
        return schema, made

    def _timestamp(self, event: Struct, row: Struct) -> int | None:
        name = self._parsed["table.field.event.timestamp"]
        own: int | None = event.get("ts_ms")
        if not name:
            return own
        found = _column(row, name)
        if found is None:
            return own
        divisor = _TIMES.get(_schema(row, name).name or "")
        if divisor is None:
            raise DataException(f"The column {name} is no timestamp of Debezium: {_schema(row, name)}")
        return int(found) // divisor


def _schema(row: Struct, name: str) -> Schema:
    field = row.schema.field(name)
    if field is None:
        raise DataException(f"The outbox table has no column {name}")
    return field.schema


def _column(row: Struct, name: str) -> Any:
    _schema(row, name)
    return row.get(name)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
