"""Turns change events of Debezium into rows (`io.debezium.transforms.ExtractNewRecordState`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_validators import OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import ConnectRecord
from kafkapy.connect.transforms.debezium.envelopes import FieldReference, is_envelope
from kafkapy.connect.transforms.replace_field import ReplaceFieldOnKey, ReplaceFieldOnValue
from kafkapy.connect.transforms.requirements import (
    SCHEMAS_KEPT,
    USE_DEFAULTS,
    copied_basics,
    define_use_defaults,
    require_struct,
)
from kafkapy.connect.transforms.transformation import R, Transformation

log = logging.getLogger("kafkapy.connect.debezium")

_MODES: Final = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
_PURPOSE: Final = "source field insertion"
_DELETED: Final = "__deleted"


class ExtractNewRecordState(Transformation):
    """Replaces a change event by the row after the change; other records stay as they are.

    Settings:
        delete.tombstone.handling.mode: What becomes of a delete and of the tombstone after it. `tombstone` (default): the
            delete has the value null, the tombstone is dropped; `drop`: both are dropped; `rewrite`: the row before with
            `__deleted` = "true", no tombstone; `rewrite-with-tombstone`: the same with the tombstone;
            `delete-to-tombstone`: the delete becomes a tombstone. Both rewriting modes add `__deleted` = "false" to others.
        drop.tombstones, delete.handling.mode: The older settings (`drop`, `rewrite`, `none`), if one of them is given and
            the one above is not.
        add.fields, add.headers: Fields of the event that are added: `op`, `source.ts_ms`, `table:name`. Default: none.
        add.fields.prefix, add.headers.prefix: Default: `__`.
        route.by.field: The row's field with the topic. Default: the topic stays.
        replace.null.with.default: Whether the rewriting modes write the default of a column for null. Default: true.
        drop.fields.header.name: Header with a list of fields that are removed; `drop.fields.from.key` (false) from the key,
            too; `drop.fields.keep.schema.compatible` (true): only optional ones. Default: none.

    Raises:
        DataException: The row lacks the field of `route.by.field`.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = ExtractNewRecordState()
        >>> transform.configure({"add.fields": "op"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value="no event")).value
        'no event'
    """

    java_class = "io.debezium.transforms.ExtractNewRecordState"
    version = "undefined"
    _DEFINITIONS = define_use_defaults(
        ConfigDef()
        .define(
            "delete.tombstone.handling.mode",
            default="",
            validator=OneOf("", *_MODES),
            doc="What becomes of deletes and tombstones.",
        )
        .define("drop.tombstones", ConfigType.BOOLEAN, True, doc="Older setting: whether tombstones are dropped.")
        .define(
            "delete.handling.mode",
            default="drop",
            validator=OneOf("drop", "rewrite", "none"),
            doc="Older setting: what becomes of deletes.",
        )
        .define("route.by.field", default="", doc="The row's field with the topic.")
        .define("add.fields", ConfigType.LIST, "", doc="Fields of the event that are added to the row.")
        .define("add.fields.prefix", default="__", doc="Prefix of added fields.")
        .define("add.headers", ConfigType.LIST, "", doc="Fields of the event that are added as headers.")
        .define("add.headers.prefix", default="__", doc="Prefix of added headers.")
        .define("drop.fields.header.name", default="", doc="Header with a list of fields that are removed.")
        .define("drop.fields.from.key", ConfigType.BOOLEAN, False, doc="Whether they are removed from the key, too.")
        .define("drop.fields.keep.schema.compatible", ConfigType.BOOLEAN, True, doc="Whether only optional ones are.")
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._mode = _mode(parsed, configs)
        is_legacy = not parsed["delete.tombstone.handling.mode"] and _is_legacy(configs)
        self._drops_tombstones = parsed["drop.tombstones"] if is_legacy else self._mode != "rewrite-with-tombstone"
        self._fields = [FieldReference.of(each, parsed["add.fields.prefix"]) for each in parsed["add.fields"]]
        self._headers = [FieldReference.of(each, parsed["add.headers.prefix"]) for each in parsed["add.headers"]]
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        self._route: str = parsed["route.by.field"]
        self._drop_header: str = parsed["drop.fields.header.name"]
        self._drops_from_key: bool = parsed["drop.fields.from.key"]
        self._keeps_schema: bool = parsed["drop.fields.keep.schema.compatible"]
        self._schemas = SchemaCache[tuple[Schema, Schema, bool], Schema](SCHEMAS_KEPT)

    @property
    def _rewrites(self) -> bool:
        return self._mode.startswith("rewrite")

    def apply(self, record: R) -> R | None:
        if record.value is None:
            return None if self._drops_tombstones else self._with_headers(record, None)
        if not is_envelope(record):
            return record
        event = require_struct(record.value, _PURPOSE)
        record = self._with_headers(record, event)
        after, before = _part(event, "after"), _part(event, "before")
        if after is None and before is None:
            return None  # a truncate event
        if after is not None:
            return self._row(record, event, after, is_deleted=False)
        assert before is not None
        return self._deleted(record, event, before)

    def _deleted(self, record: R, event: Struct, before: Struct) -> R | None:
        if self._mode == "drop":
            return None
        if self._rewrites:
            return self._row(record, event, before, is_deleted=True)
        field = event.schema.field("after")
        schema = None if field is None or self._mode == "delete-to-tombstone" else field.schema
        return self._drop_fields(record.replace(topic=self._topic(record, before), value_schema=schema, value=None))

    def _row(self, record: R, event: Struct, row: Struct, *, is_deleted: bool) -> R:
        schema = self._schemas.get((row.schema, event.schema, self._rewrites), self._extended)
        made = Struct.of_values(schema, row.values(self._rewrites and self._use_defaults))
        if self._rewrites:
            made.put(_DELETED, "true" if is_deleted else "false")
        for reference in self._fields:
            if schema.field(reference.target) is not None:
                made.put(reference.target, reference.value(event))
        return self._drop_fields(record.replace(topic=self._topic(record, row), value_schema=schema, value=made))

    def _extended(self, key: tuple[Schema, Schema, bool]) -> Schema:
        row, event, rewrites = key
        builder = copied_basics(row, SchemaBuilder(Type.STRUCT))
        for field in row.fields:
            builder.field(field.name, field.schema)
        if rewrites:
            builder.field(_DELETED, SchemaBuilder(Type.STRING).optional().build())
        for reference in self._fields:
            schema = reference.schema(event)
            if schema is not None:
                builder.field(reference.target, schema)
        return builder.build()

    def _topic(self, record: ConnectRecord, row: Struct) -> str | None:
        if not self._route:
            return record.topic
        if row.schema.field(self._route) is None:
            raise DataException(f"The row has no field {self._route}, which route.by.field names")
        found = row.get(self._route)
        return record.topic if found is None or not str(found).strip() else str(found)

    def _with_headers(self, record: R, event: Struct | None) -> R:
        if not self._headers:
            return record
        headers = record.headers.duplicate()
        for reference in self._headers:
            if event is None:
                if reference.name == "op":
                    headers.add(reference.target, "d", STRING_SCHEMA)
                continue
            schema = reference.schema(event.schema)
            if schema is not None:
                headers.add(reference.target, reference.value(event), schema)
        return record.replace(headers=headers)

    def _drop_fields(self, record: R) -> R:
        header = record.headers.last_with_name(self._drop_header) if self._drop_header else None
        if header is None or not header.value:
            return record
        names = header.value if isinstance(header.value, list) else str(header.value).split(",")
        if self._drops_from_key and record.key is not None:
            record = _without(ReplaceFieldOnKey(), record, self._dropped(record.key_schema, names))
        if record.value is not None:
            record = _without(ReplaceFieldOnValue(), record, self._dropped(record.value_schema, names))
        return record

    def _dropped(self, schema: Schema | None, names: list[str]) -> list[str]:
        if not self._keeps_schema or schema is None:
            return names
        return [field.name for field in schema.fields if field.schema.optional and field.name in names]


def _is_legacy(configs: Mapping[str, object]) -> bool:
    return "drop.tombstones" in configs or "delete.handling.mode" in configs


def _mode(parsed: Mapping[str, Any], configs: Mapping[str, object]) -> str:
    chosen = parsed["delete.tombstone.handling.mode"]
    if not chosen:
        return str(parsed["delete.handling.mode"]) if _is_legacy(configs) else "tombstone"
    if _is_legacy(configs):
        log.warning("drop.tombstones and delete.handling.mode have no effect beside delete.tombstone.handling.mode")
    return str(chosen)


def _part(event: Struct, name: str) -> Struct | None:
    if event.schema.field(name) is None:
        return None
    found = event.get_without_default(name)
    return None if found is None else require_struct(found, _PURPOSE)


def _without(transform: Any, record: R, names: list[str]) -> R:
    if not names:
        return record
    transform.configure({"exclude": ",".join(names)})
    found: R = transform.apply(record)
    return found
