from __future__ import annotations

import json
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException, IllegalStateException
from kafkapy.connect.headers import Headers
from kafkapy.connect.java_classes import class_of
from kafkapy.connect.records import SourceRecord

ROW = SchemaBuilder(Type.STRUCT).name("db.public.orders.Value").optional()
ROW.field("id", INT32_SCHEMA).field("city", OPTIONAL_STRING_SCHEMA)
ROW_SCHEMA = ROW.build()
SOURCE = SchemaBuilder(Type.STRUCT).name("Source").field("ts_ms", INT64_SCHEMA).field("table", STRING_SCHEMA).build()


def _envelope(row: Schema) -> Schema:
    builder = SchemaBuilder(Type.STRUCT).name("db.public.orders.Envelope")
    builder.field("before", row).field("after", row).field("source", SOURCE).field("op", STRING_SCHEMA)
    return builder.field("ts_ms", OPTIONAL_INT64_SCHEMA).build()


ENVELOPE = _envelope(ROW_SCHEMA)


def _event(op: str, before: Any = None, after: Any = None, row: Schema = ROW_SCHEMA) -> SourceRecord:
    envelope = _envelope(row)
    value = Struct(envelope, {"op": op, "ts_ms": 9, "source": Struct(SOURCE, {"ts_ms": 7, "table": "orders"})})
    value.put("before", None if before is None else Struct(row, before))
    value.put("after", None if after is None else Struct(row, after))
    return SourceRecord({}, {}, "db.public.orders", key=5, value_schema=envelope, value=value)


TOMBSTONE = SourceRecord({}, {}, "db.public.orders", key=5)
CREATED = _event("c", after={"id": 1, "city": "Bonn"})
DELETED = _event("d", before={"id": 1, "city": "Bonn"})


def _made(name: str, configs: dict[str, str]) -> Any:
    transform = class_of(f"io.debezium.transforms.{name}")()
    transform.configure(configs)
    return transform


def _unwrap(**configs: str) -> Any:
    return _made("ExtractNewRecordState", {name.replace("_", "."): value for name, value in configs.items()})


def test_the_row_after_a_change_replaces_the_event() -> None:
    found = _unwrap().apply(CREATED)
    assert found.value == Struct(found.value_schema, {"id": 1, "city": "Bonn"})
    assert found.value_schema.name == "db.public.orders.Value" and not found.value_schema.optional
    plain = SourceRecord({}, {}, "t", value="text")
    assert _unwrap().apply(plain) is plain


@pytest.mark.parametrize(
    ("mode", "deleted", "tombstone"),
    [
        ("tombstone", "null", "dropped"),
        ("drop", "dropped", "dropped"),
        ("rewrite", "true", "dropped"),
        ("rewrite-with-tombstone", "true", "kept"),
        ("delete-to-tombstone", "null", "dropped"),
    ],
)
def test_modes_of_deletes(mode: str, deleted: str, tombstone: str) -> None:
    transform = _made("ExtractNewRecordState", {"delete.tombstone.handling.mode": mode})
    found = transform.apply(DELETED)
    shown = "dropped" if found is None else "null" if found.value is None else found.value["__deleted"]
    assert shown == deleted
    if mode == "delete-to-tombstone":
        assert found.value_schema is None
    assert (transform.apply(TOMBSTONE) is None) is (tombstone == "dropped")
    if mode.startswith("rewrite"):
        assert transform.apply(CREATED).value["__deleted"] == "false"


def test_older_settings_still_decide() -> None:
    older = _unwrap(drop_tombstones="false", delete_handling_mode="none")
    assert older.apply(TOMBSTONE) is not None and older.apply(DELETED).value is None
    assert _unwrap(drop_tombstones="false").apply(DELETED) is None
    rewriting = _unwrap(delete_handling_mode="rewrite")
    assert rewriting.apply(DELETED).value["__deleted"] == "true" and rewriting.apply(TOMBSTONE) is None


def test_rewriting_writes_defaults_for_nulls() -> None:
    city = SchemaBuilder(Type.STRING).optional().default("none").build()
    row = SchemaBuilder(Type.STRUCT).name("R").optional().field("city", city).build()
    event = _event("c", after={}, row=row)
    assert _unwrap().apply(event).value.get_without_default("city") is None
    rewriting = _unwrap(delete_tombstone_handling_mode="rewrite")
    assert rewriting.apply(event).value.get_without_default("city") == "none"
    keeping = _unwrap(delete_tombstone_handling_mode="rewrite", replace_null_with_default="false")
    assert keeping.apply(event).value.get_without_default("city") is None


def test_fields_and_headers_are_added() -> None:
    transform = _unwrap(add_fields="op,source.ts_ms,table:name,absent", add_headers="op,table")
    found = transform.apply(CREATED)
    values = {field.name: found.value[field.name] for field in found.value_schema.fields}
    assert values == {"id": 1, "city": "Bonn", "__op": "c", "__source_ts_ms": 7, "__name": "orders"}
    assert {header.key: header.value for header in found.headers} == {"__op": "c", "__table": "orders"}
    assert not CREATED.headers
    keeps = _unwrap(add_headers="op", delete_tombstone_handling_mode="rewrite-with-tombstone")
    assert keeps.apply(TOMBSTONE).headers.last_with_name("__op").value == "d"
    with pytest.raises(ConfigException, match="Unexpected field name"):
        _unwrap(add_fields="a.b.c")


def test_routes_and_truncates() -> None:
    transform = _unwrap(route_by_field="city")
    assert transform.apply(CREATED).topic == "Bonn" and transform.apply(DELETED).topic == "Bonn"
    assert transform.apply(_event("t")) is None
    with pytest.raises(DataException, match=r"route\.by\.field"):
        _unwrap(route_by_field="absent").apply(CREATED)


def test_fields_that_a_header_names_are_dropped() -> None:
    transform = _unwrap(drop_fields_header_name="drop")
    record = CREATED.replace(headers=Headers().add("drop", ["id", "city"]))
    assert [field.name for field in transform.apply(record).value_schema.fields] == ["id"]


OUTBOX = SchemaBuilder(Type.STRUCT).name("db.outbox.Value").optional()
for _name in ("id", "aggregatetype", "aggregateid", "type", "payload"):
    OUTBOX.field(_name, OPTIONAL_STRING_SCHEMA)
OUTBOX_SCHEMA = OUTBOX.field("shard", INT32_SCHEMA).build()


def _outbox(**values: Any) -> SourceRecord:
    row = {"id": "e1", "aggregatetype": "order", "aggregateid": "17", "type": "OrderMade", "payload": "{}", "shard": 2}
    return _event("c", after={**row, **values}, row=OUTBOX_SCHEMA)


def _router(**configs: str) -> Any:
    return _made("outbox.EventRouter", {name.replace("_", "."): value for name, value in configs.items()})


def test_rows_of_an_outbox_become_messages() -> None:
    found = _router().apply(_outbox(payload='{"a":1}'))
    assert (found.topic, found.key, found.value, found.timestamp) == ("outbox.event.order", "17", '{"a":1}', 9)
    assert found.headers.last_with_name("id").value == "e1" and found.kafka_partition is None
    assert _router().apply(TOMBSTONE) is None
    assert _router().apply(_event("d", before={"id": 1})) is None


def test_columns_of_an_outbox_are_placed() -> None:
    placement = "type:header:kind,shard:partition,aggregatetype:envelope"
    found = _router(table_fields_additional_placement=placement).apply(_outbox())
    assert found.headers.last_with_name("kind").value == "OrderMade" and found.kafka_partition == 2
    assert (found.value["payload"], found.value["aggregatetype"]) == ("{}", "order")
    assert found.value_schema.name == "db.outbox.order.Value"
    with pytest.raises(DataException, match="no column absent"):
        _router(table_fields_additional_placement="absent:header").apply(_outbox())
    with pytest.raises(ConfigException, match="column:header"):
        _router(table_fields_additional_placement="type")


def test_payloads_in_json_are_expanded() -> None:
    payload = json.dumps({"n": 1, "big": 2**40, "list": [{"a": 1}, {"b": "x"}], "none": None})
    found = _router(table_expand_json_payload="true").apply(_outbox(payload=payload))
    assert (found.value["n"], found.value["big"], found.value["list"][1]["b"]) == (1, 2**40, "x")
    assert found.value_schema.field("none") is None
    assert _router(table_expand_json_payload="true").apply(_outbox(payload='[1,"x"]')).value == '[1,"x"]'


def test_updates_and_empty_payloads_of_an_outbox() -> None:
    update = _event("u", after={"id": 1})
    assert _router().apply(update) is None
    with pytest.raises(IllegalStateException, match="Unexpected update message"):
        _router(table_op_invalid_behavior="fatal").apply(update)
    found = _router(route_tombstone_on_empty_payload="true").apply(_outbox(payload=" "))
    assert found.value is None and found.value_schema is None


def test_tables_share_a_topic() -> None:
    router = _made("ByLogicalTableRouter", {"topic.regex": r"db\.public\.orders(.*)", "topic.replacement": "orders"})
    key = SchemaBuilder(Type.STRUCT).name("db.public.orders.Key").field("id", INT32_SCHEMA).build()
    found = router.apply(CREATED.replace(key_schema=key, key=Struct(key, {"id": 1})))
    assert found.topic == "orders" and found.key["__dbz__physicalTableIdentifier"] == "db.public.orders"
    assert (found.key_schema.name, found.value_schema.name) == ("orders.Key", "orders.Envelope")
    assert found.value["after"].schema.name == "orders.Value" and found.value["after"]["city"] == "Bonn"
    other = SourceRecord({}, {}, "else", key=1)
    assert router.apply(other) is other
    with pytest.raises(ConfigException, match="belong together"):
        configs = {"topic.regex": "a", "topic.replacement": "b", "key.field.regex": "c"}
        _made("ByLogicalTableRouter", configs)
