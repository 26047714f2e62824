from __future__ import annotations

import sys
import types
from decimal import Decimal
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.scalars import Instant, Int32
from kafkapy.connect.data.schema import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.headers import Headers
from kafkapy.connect.java_classes import class_of
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.transforms.expressions.expression import Expression

ROW = SchemaBuilder(Type.STRUCT).name("Row").field("n", INT32_SCHEMA).field("city", OPTIONAL_STRING_SCHEMA).build()


def _made(name: str, configs: dict[str, str]) -> Any:
    transform = class_of(f"kafkapy.connect.transforms.{name}")()
    transform.configure(configs)
    return transform


def _row(**values: Any) -> SourceRecord:
    return SourceRecord({}, {}, "sales", value_schema=ROW, value=Struct(ROW, values))


def _evaluated(text: str, value: Any = None) -> Any:
    return Expression(text, ["value"]).evaluate({"value": value})


@pytest.mark.parametrize(
    ("text", "value", "result"),
    [
        ("1 + 2 * 3 - -4 // 2 % 3", None, 1 + 2 * 3 - -4 // 2 % 3),
        ("value.a.b[1]", {"a": {"b": [1, 2]}}, 2),
        ("value['a b']", {"a b": 5}, 5),
        ("value.a.b.c", {"a": None}, None),
        ("value[1:3]", "abcd", "bc"),
        ("0 < value <= 5 and value != 4", 5, True),
        ("value in ('a', 'b') or not value", "b", True),
        ("upper(value) if value is not None else 'none'", None, "none"),
        ("coalesce(value.x, 'y')", {}, "y"),
        ("join('-', split(lower(value), ' '))", "A B", "a-b"),
        ("matches(value, '[a-z]+\\\\d')", "abc1", True),
        ("startswith(value, 'a') and len(strip(value)) == 1", "a ", True),
        ("int(value) + 1", "41", 42),
        ("decimal('1.10') * 2", None, Decimal("2.20")),
        ("int(timestamp(5))", None, 5),
        ("str(1.0) + replace('aXa', 'X', '')", None, "1.0aa"),
        ("max(1, 2, 3) + min([4, 5]) + abs(-1) + round(1.6)", None, 10),
    ],
)
def test_values_of_expressions(text: str, value: Any, result: Any) -> None:
    assert _evaluated(text, value) == result


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "value.__class__",
        "value.a.__dict__",
        "open('x')",
        "(lambda: 1)()",
        "[x for x in value]",
        "value.lower()",
        "f'{value}'",
        "2 ** 100",
        "1 << 100",
        "other",
        "value; value",
        "value = 5",
        "matches(value, value)",
        "len(*value)",
        "{'a': 1}",
        "1j",
        "..." + "",
        "((((" * 30 + "1" + "))))" * 30 + " + (",
    ],
)
def test_what_is_not_allowed_is_refused_at_start(text: str) -> None:
    with pytest.raises(ConfigException):
        Expression(text, ["value"])


def test_size_and_cost_are_bounded() -> None:
    with pytest.raises(ConfigException, match="at most 10000 characters"):
        Expression("1+" * 6000 + "1", ["value"])
    with pytest.raises(ConfigException):
        Expression("-" * 200 + "1", ["value"])
    with pytest.raises(DataException, match="cannot be multiplied"):
        _evaluated("'a' * 1000000000")
    with pytest.raises(DataException, match="more than 1048576 items"):
        _evaluated("replace(value, 'a', value)", "a" * 10_000)
    big = "*".join(["value"] * 90)
    with pytest.raises(DataException, match="4096 bits"):
        _evaluated(big, 2**64)
    with pytest.raises(DataException, match="formats no text"):
        _evaluated("'%1000000000d' % 5")


def test_failures_are_data_exceptions_with_the_expression() -> None:
    with pytest.raises(DataException, match="'1 / value' has failed: ZeroDivisionError"):
        _evaluated("1 / value", 0)
    with pytest.raises(DataException, match="x is not a valid field name"):
        _evaluated("value.x", Struct(ROW, {"n": 1}))


def test_records_are_filtered() -> None:
    transform = _made("Expression", {"filter": "value.n > 3 and topic == 'sales'", "type": "ignored"})
    assert transform.apply(_row(n=3)) is None
    record = _row(n=4)
    assert transform.apply(record) is record


def test_fields_of_structs_are_set() -> None:
    configs = {
        "set.n": "value.n * 2",
        "set.total": "value.n / 4",
        "type.total": "decimal(2)",
        "set.city": "upper(value.city)",
    }
    found = _made("Expression", configs).apply(_row(n=5, city="Bonn"))
    assert (found.value["n"], found.value["total"], found.value["city"]) == (Int32(10), Decimal("1.25"), "BONN")
    assert found.value_schema.field("total").schema.optional
    with pytest.raises(DataException, match=r"set type\.other"):
        _made("Expression", {"set.other": "1"}).apply(_row(n=5))
    with pytest.raises(DataException, match="more than 2 digits"):
        _made("Expression", {"set.d": "1 / 3", "type.d": "decimal(2)"}).apply(_row(n=5))


def test_maps_topics_headers_and_timestamps() -> None:
    configs = {
        "set.b": "value.a + 1",
        "topic": "topic + '-' + key",
        "timestamp": "timestamp + 1",
        "partition": "0",
        "header.h": "headers.h + 1",
        "header.gone": "None",
    }
    headers = Headers().add("h", 1).add("gone", 2)
    record = SourceRecord({}, {}, "t", key="k", value={"a": 1}, timestamp=5, headers=headers)
    found = _made("Expression", configs).apply(record)
    assert (found.value, found.topic, found.timestamp, found.kafka_partition) == ({"a": 1, "b": 2}, "t-k", 6, 0)
    assert [(header.key, header.value) for header in found.headers] == [("h", 2)]
    assert record.value == {"a": 1} and len(record.headers) == 2
    assert _made("Expression", {"set.b": "1"}).apply(SourceRecord({}, {}, "t")).value is None
    with pytest.raises(DataException, match="topic gives 5"):
        _made("Expression", {"topic": "5"}).apply(record)


def test_times_are_fields() -> None:
    found = _made("Expression", {"set.at": "timestamp(1000)", "type.at": "timestamp"}).apply(_row(n=1))
    assert found.value["at"] == Instant(1000)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({}, "has no expression"),
        ({"sett.a": "1"}, "has no setting sett.a"),
        ({"set.a": "1", "type.a": "number"}, "type.a is number"),
        ({"set.a": "1", "type.b": "int32"}, "type.b is set"),
    ],
)
def test_wrong_settings_are_refused(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigException, match=message):
        _made("Expression", configs)


def test_functions_change_and_drop_records(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("own_transforms")
    module.change = lambda record: record.replace(topic="new") if record.value else None  # type: ignore[attr-defined]
    module.wrong = lambda record: 5  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_transforms", module)
    transform = _made("Function", {"function": "own_transforms:change"})
    assert transform.apply(SourceRecord({}, {}, "t", value=1)).topic == "new"
    assert transform.apply(SourceRecord({}, {}, "t")) is None
    with pytest.raises(DataException, match="returned int; it must return a record or None"):
        _made("Function", {"function": "own_transforms:wrong"}).apply(SourceRecord({}, {}, "t"))
    for path, message in (
        ("x", "write package.module:function"),
        ("no_such:f", "cannot be imported"),
        ("sys:path", "no function"),
    ):
        with pytest.raises(ConfigException, match=message):
            _made("Function", {"function": path})


def test_schema_type_is_kept() -> None:
    schema = Schema(Type.FLOAT64)
    row = SchemaBuilder(Type.STRUCT).field("f", schema).build()
    record = SourceRecord({}, {}, "t", value_schema=row, value=Struct(row, {"f": 1.5}))
    assert type(_made("Expression", {"set.f": "2"}).apply(record).value["f"]) is float
