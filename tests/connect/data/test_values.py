from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from kafkapy.common.java_hash_order import hash_map
from kafkapy.connect.data.conversions import convert_to_string, infer_schema
from kafkapy.connect.data.decimals import decimal_of, decimal_text, parse_decimal
from kafkapy.connect.data.logical import DATE_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema, decimal_to_bytes
from kafkapy.connect.data.scalars import Instant, Int8, Int32
from kafkapy.connect.data.schema import INT8_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.values import convert_to, convert_to_boolean
from kafkapy.connect.errors import DataException, NumberFormatException


def test_integers_wrap_and_floats_are_cut() -> None:
    assert convert_to(INT8_SCHEMA, None, 200) == Int8(-56)
    assert convert_to(Schema(Type.INT64), None, 1e30) == 2**63 - 1
    assert convert_to(Schema(Type.FLOAT32), None, "1e39") == float("inf")


@pytest.mark.parametrize(("value", "found"), [("true", True), ("0", False), (2, True), (None, None)])
def test_booleans(value: Any, found: bool | None) -> None:
    assert convert_to_boolean(None, value) is found


def test_what_cannot_be_converted_is_refused_with_kafkas_message() -> None:
    with pytest.raises(DataException, match=r"Unable to convert x \(class java.lang.String\) to a number"):
        convert_to(INT8_SCHEMA, None, "x")
    with pytest.raises(DataException, match="Unable to convert a null value to a schema that requires a value"):
        convert_to(INT8_SCHEMA, None, None)


def test_a_date_of_a_timestamp_loses_its_time() -> None:
    assert convert_to(DATE_SCHEMA, TIMESTAMP_SCHEMA, Instant(86_400_000 + 5)) == Instant(86_400_000)


def test_text_is_json_inside_of_arrays_and_maps() -> None:
    assert convert_to_string({"a": [Int32(1), 2.5, 'q"', b"x", None]}) == '{"a":[1,2.5,"q\\"","eA==",null]}'
    assert convert_to_string(STRING_SCHEMA.name) is None


def test_schemas_are_guessed_of_elements_of_one_type() -> None:
    assert infer_schema([Int8(1), None]) == Schema(Type.ARRAY, value_schema=Schema(Type.INT8, True))
    assert infer_schema([1, "a"]) is None and infer_schema({}) is None and infer_schema(Decimal(1)) is None


def test_decimals_keep_scale_and_digits_beyond_the_context() -> None:
    long = "123456789012345678901234567890.123"
    assert decimal_text(parse_decimal(long)) == long
    assert decimal_to_bytes(decimal_schema(2), decimal_of(-12345, 2)).hex() == "cfc7"
    with pytest.raises(DataException, match="Schema has scale 2, value has scale 3"):
        decimal_to_bytes(decimal_schema(2), decimal_of(1, 3))
    for bad in ("", "1_000", "0x1", "1e99999999999", " 1"):
        with pytest.raises(NumberFormatException):
            parse_decimal(bad)


def test_maps_have_the_order_of_javas_hash_map() -> None:
    assert list(hash_map(dict.fromkeys(["name", "id", "zip", "city"]))) == ["zip", "city", "name", "id"]
