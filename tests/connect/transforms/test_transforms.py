from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import TIMESTAMP_SCHEMA
from kafkapy.connect.data.scalars import Instant, Int8, Int32
from kafkapy.connect.data.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException, IllegalArgumentException
from kafkapy.connect.headers import Headers
from kafkapy.connect.java_classes import class_of
from kafkapy.connect.records import ConnectRecord, SinkRecord, SourceRecord

_DEFAULTED = SchemaBuilder(Type.STRING).optional().default("none").build()
_ROW = SchemaBuilder(Type.STRUCT).name("Row").field("id", INT32_SCHEMA).field("name", _DEFAULTED).build()


def _made(name: str, /, **configs: str) -> Any:
    transform = class_of(f"org.apache.kafka.connect.transforms.{name}")()
    transform.configure({key.replace("_", "."): value for key, value in configs.items()})
    return transform


def _record(value: Any, schema: Schema | None = None, **others: Any) -> SourceRecord:
    return SourceRecord({"p": 1}, {"o": 2}, "topic", value_schema=schema, value=value, **others)


def _row(**values: Any) -> SourceRecord:
    return _record(Struct(_ROW, values), _ROW)


def test_casts_of_a_struct_change_schema_and_default() -> None:
    cast = _made("Cast$Value", spec="id:string,name:boolean")
    found = cast.apply(_row(id=5))
    assert found.value["id"] == "5" and found.value["name"] is False
    assert found.value_schema.field("name").schema == SchemaBuilder(Type.BOOLEAN).optional().default(False).build()
    assert found.source_offset == {"o": 2}


def test_casts_wrap_numbers_and_refuse_texts_out_of_range() -> None:
    cast = _made("Cast$Key", spec="int8")
    record = SourceRecord({}, {}, "t", key=300)
    assert cast.apply(record).key == Int8(44)
    with pytest.raises(DataException, match=r"Value \(300\) was out of range for requested data type"):
        cast.apply(SourceRecord({}, {}, "t", key="300"))
    with pytest.raises(ConfigException, match="Cast transformation does not support casting to BYTES"):
        _made("Cast$Key", spec="bytes")


def test_the_first_failing_cast_is_that_of_javas_hash_map() -> None:
    with pytest.raises(DataException, match="does not support casting from MAP"):
        _made("Cast$Value", spec="tags:int8,note:int64").apply(_record({"tags": b"a", "note": {"x": 1}}))


def test_a_field_that_is_required_must_be_set() -> None:
    schema = SchemaBuilder(Type.STRUCT).field("a", INT64_SCHEMA).field("b", INT64_SCHEMA).build()
    half = _record(Struct(schema, {"a": 5}), schema)
    for name, configs in (
        ("MaskField$Value", {"fields": "a"}),
        ("InsertField$Value", {"topic.field": "t"}),
        ("ReplaceField$Value", {"renames": "a:c"}),
        ("SetSchemaMetadata$Value", {"schema.name": "New"}),
        ("ValueToKey", {"fields": "b"}),
    ):
        with pytest.raises(DataException, match='null used for required field: "b"'):
            _made(name, **configs).apply(half)
    with pytest.raises(DataException, match="c is not a valid field name"):
        _made("ReplaceField$Value", renames="c:b").apply(half)


def test_nested_fields_are_extracted_by_paths() -> None:
    transform = _made("ExtractField$Value", field="`a.b`.c", field_syntax_version="v2")
    assert transform.apply(_record({"a.b": {"c": 5}})).value == 5
    with pytest.raises(IllegalArgumentException, match="Unknown field: x"):
        _made("ExtractField$Value", field="x").apply(_row(id=1))
    with pytest.raises(ConfigException, match="Incomplete backtick pair"):
        _made("ExtractField$Value", field="`a", field_syntax_version="V2")


def test_defaults_stand_for_nulls_unless_told_otherwise() -> None:
    assert _made("ExtractField$Value", field="name").apply(_row(id=1)).value == "none"
    plain = _made("ExtractField$Value", field="name", replace_null_with_default="false")
    assert plain.apply(_row(id=1)).value is None


def test_flattened_fields_of_an_optional_struct_are_optional() -> None:
    inner = SchemaBuilder(Type.STRUCT).optional().field("x", INT32_SCHEMA).build()
    schema = SchemaBuilder(Type.STRUCT).field("in", inner).build()
    found = _made("Flatten$Value", delimiter="_").apply(_record(Struct(schema), schema))
    assert found.value_schema.field("in_x").schema == Schema(Type.INT32, True) and found.value["in_x"] is None


def test_fields_are_moved_to_headers() -> None:
    found = _made("HeaderFrom$Value", fields="id", headers="h", operation="move").apply(_row(id=7))
    header = found.headers.last_with_name("h")
    assert (header.value, header.schema) == (7, INT32_SCHEMA)
    assert [field.name for field in found.value_schema.fields] == ["name"]
    with pytest.raises(ConfigException, match="must have the same number of elements"):
        _made("HeaderFrom$Value", fields="a,b", headers="h", operation="copy")


def test_metadata_are_inserted() -> None:
    transform = _made("InsertField$Value", timestamp_field="at!", offset_field="offset", partition_field="p")
    sink = SinkRecord("t", 3, None, None, _ROW, Struct(_ROW, {"id": 1}), 9, timestamp=5)
    found = transform.apply(sink)
    assert (found.value["at"], found.value["offset"], found.value["p"]) == (Instant(5), 9, Int32(3))
    assert found.value_schema.field("at").schema == TIMESTAMP_SCHEMA
    with pytest.raises(DataException, match="Only SinkRecord supported for"):
        transform.apply(_row(id=1))


def test_masks() -> None:
    assert _made("MaskField$Value", fields="a,b").apply(_record({"a": 5, "b": [1]})).value == {"a": 0, "b": []}
    replaced = _made("MaskField$Value", fields="id,name", replacement="7").apply(_row(id=1))
    assert (replaced.value["id"], replaced.value["name"]) == (Int32(7), "7")
    with pytest.raises(DataException, match="with custom replacement"):
        _made("MaskField$Value", fields="a", replacement="7").apply(_record({"a": True}))


def test_fields_are_renamed_and_removed() -> None:
    found = _made("ReplaceField$Value", blacklist="id", renames="name:title").apply(_row(id=1))
    assert [field.name for field in found.value_schema.fields] == ["title"] and found.value["title"] == "none"


def test_topics_are_routed() -> None:
    assert _made("RegexRouter", regex="(t)(o)pic", replacement="$2-$1\\$").apply(_row(id=1)).topic == "o-t$"
    assert _made("RegexRouter", regex="(?<a>t)op(?<b>ic)", replacement="${b}${a}").apply(_row(id=1)).topic == "ict"
    with pytest.raises(IndexError, match="No group 1"):
        _made("RegexRouter", regex="topic", replacement="$1").apply(_row(id=1))
    with pytest.raises(ConfigException, match="Invalid regex"):
        _made("RegexRouter", regex="(", replacement="")
    router = _made("TimestampRouter", topic_format="${timestamp}.${topic}", timestamp_format="yyyy.MM.dd")
    assert router.apply(_record(None, timestamp=1709210096789)).topic == "2024.02.29.topic"
    with pytest.raises(DataException, match="Timestamp missing on record: SourceRecord"):
        router.apply(_record(None))


def test_schemas_get_names_and_versions() -> None:
    found = _made("SetSchemaMetadata$Value", schema_name="New", schema_version="3").apply(_row(id=1))
    assert (found.value_schema.name, found.value_schema.version) == ("New", 3)
    assert found.value.schema == found.value_schema


@pytest.mark.parametrize(
    ("target", "value", "result"),
    [
        ("unix", "2024-02-29 12:34:56", 1709210096),
        ("string", Instant(1709210096789), "2024-02-29 12:34:56"),
        ("Date", Instant(-1), Instant(-86_400_000)),
        ("Date", Instant(-(2**63)), Instant(9_223_372_036_794_351_616)),  # wraps, as Java's calendar does
        ("Time", 86_401, Instant(1000)),
        ("Timestamp", None, None),
    ],
)
def test_times_are_converted(target: str, value: Any, result: Any) -> None:
    configs = {"target.type": target, "format": "yyyy-MM-dd HH:mm:ss", "unix.precision": "seconds"}
    assert _made("TimestampConverter$Value", **configs).apply(_record(value)).value == result


def test_a_converted_field_has_the_targets_schema() -> None:
    schema = SchemaBuilder(Type.STRUCT).field("at", INT64_SCHEMA).build()
    transform = _made("TimestampConverter$Value", field="at", target_type="Timestamp")
    found = transform.apply(_record(Struct(schema, {"at": 5}), schema))
    assert found.value["at"] == Instant(5) and found.value_schema.field("at").schema == TIMESTAMP_SCHEMA
    with pytest.raises(ConfigException, match="requires format option"):
        _made("TimestampConverter$Value", target_type="string")


def test_keys_are_made_of_values_and_values_are_hoisted() -> None:
    found = _made("ValueToKey", fields="name").apply(_row(id=1))
    assert found.key["name"] == "none" and found.key_schema.fields[0].schema == _DEFAULTED
    assert _made("HoistField$Value", field="w").apply(_row(id=1)).value["w"]["id"] == 1
    with pytest.raises(DataException, match="Field does not exist: x"):
        _made("ValueToKey", fields="x").apply(_row(id=1))


def test_headers_are_added_and_removed() -> None:
    record = _record(1, headers=Headers().add("a", 1).add("b", "x", STRING_SCHEMA))
    assert [each.key for each in _made("DropHeaders", headers="a").apply(record).headers] == ["b"]
    added = _made("InsertHeader", header="a", value_literal="[1]").apply(record)
    assert added.headers.last_with_name("a").value == [1] and len(record.headers) == 2


@pytest.mark.parametrize(
    ("name", "configs", "true"),
    [
        ("RecordIsTombstone", {}, False),
        ("HasHeaderKey", {"name": "h"}, True),
        ("TopicNameMatches", {"pattern": "top"}, False),
        ("TopicNameMatches", {"pattern": "top.*"}, True),
    ],
)
def test_predicates(name: str, configs: dict[str, str], true: bool) -> None:
    record: ConnectRecord = _record(1, headers=Headers().add("h", 1))
    assert _made(f"predicates.{name}", **configs).test(record) is true
