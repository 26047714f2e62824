from __future__ import annotations

import time
from typing import Any

import pytest

from kafkapy.connect.data.scalars import Float32, Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import STRING_SCHEMA, Type
from kafkapy.connect.data.value_parser import parse_string


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("127", Int8, 127),
        ("128", Int16, 128),
        ("32768", Int32, 32768),
        ("2147483648", Int64, 2147483648),
        ("1.5", Float32, 1.5),
        ("1e40", float, 1e40),
        (" true ", bool, True),
        ("true}", str, "true}"),
        ("-", str, "-"),
        ("1-", str, "1-"),
        ("a:b", str, "a:b"),
        ("[1,,2]", str, "[1,,2]"),
        ("[1", str, "[1"),
        ("[1,null]", str, "[1,null]"),
    ],
)
def test_a_text_is_the_smallest_type_that_holds_it(text: str, kind: type, value: Any) -> None:
    found = parse_string(text).value
    assert type(found) is kind and found == value


def test_elements_of_an_array_get_their_common_type() -> None:
    found = parse_string('[1, 300, "x"]')
    assert found.schema is not None and found.schema.value_schema is None and found.value == [1, 300, "x"]
    numbers = parse_string("[1, 300]")
    assert numbers.schema is not None and numbers.schema.value_schema is not None
    assert numbers.schema.value_schema.type is Type.INT16 and [type(each) for each in numbers.value] == [Int16, Int16]


def test_maps_may_have_no_null_keys_and_empty_ones_have_no_schemas() -> None:
    assert parse_string('{"a":1,"b":2}').value == {"a": 1, "b": 2}
    empty = parse_string("{}").schema
    assert empty is not None and empty.type is Type.MAP and empty.key_schema is None
    assert parse_string("{null:1}").schema == STRING_SCHEMA


def test_times_of_five_tokens_and_in_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert parse_string("2019-08-23T14:34:54.346Z").value == Instant(1566570894346)
    assert parse_string("14:34:54.346Z").value == Instant(52494346)
    assert parse_string('["2019-08-23"]').value == [Instant(1566518400000)]


def test_deep_nesting_is_no_traceback_but_an_error_of_python() -> None:
    with pytest.raises(RecursionError):
        parse_string("[" * 100_000)


def test_arrays_and_maps_may_be_keys() -> None:
    found = parse_string('{[1]:2,{"a":1}:3}').value
    assert list(found) == [[1], {"a": 1}] and list(found.values()) == [2, 3]
