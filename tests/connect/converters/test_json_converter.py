from __future__ import annotations

import contextlib
from decimal import Decimal
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.converters.json_converter import JsonConverter
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import decimal_of
from kafkapy.connect.data.logical import DATE_SCHEMA, decimal_schema
from kafkapy.connect.data.scalars import Float32, Instant, Int8
from kafkapy.connect.data.schema import INT32_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException


def _converter(**configs: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({name.replace("_", "."): value for name, value in configs.items()})
    return converter


def _plain() -> JsonConverter:
    return _converter(schemas_enable="false")


def test_an_envelope_has_the_schema_in_kafkas_order() -> None:
    schema = SchemaBuilder(Type.STRUCT).name("Row").version(2).field("id", INT32_SCHEMA).build()
    assert _converter().from_connect_data("t", schema, Struct(schema, {"id": 1})) == (
        b'{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],"optional":false,'
        b'"name":"Row","version":2},"payload":{"id":1}}'
    )


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (1e21, b"1.0E21"),
        (Float32(1.100000023841858), b"1.1"),
        (float("nan"), b'"NaN"'),
        ('é"\x01', '"é\\"\\u0001"'.encode()),
        ("\U0001f600", b'"\\uD83D\\uDE00"'),
        (b"ab", b'"YWI="'),
        ({1: "x"}, b'[[1,"x"]]'),
        ({"a": None}, b'{"a":null}'),
    ],
)
def test_values_without_a_schema(value: Any, data: bytes) -> None:
    assert _plain().from_connect_data("t", None, value) == data


def test_decimals_are_base64_or_numbers() -> None:
    assert _plain().from_connect_data("t", decimal_schema(2), decimal_of(12345, 2)) == b'"MDk="'
    numeric = _converter(schemas_enable="false", decimal_format="numeric")
    assert numeric.from_connect_data("t", decimal_schema(2), decimal_of(12300, 2)) == b"123.00"


def test_a_schema_read_again_gives_the_value_again() -> None:
    converter = _converter()
    inner = SchemaBuilder(Type.STRING).optional().default("none").build()
    schema = SchemaBuilder(Type.STRUCT).field("d", DATE_SCHEMA).field("n", decimal_schema(1)).field("s", inner).build()
    row = Struct(schema, {"d": Instant(86_400_000), "n": decimal_of(-5, 1)})
    found = converter.to_connect_data("t", converter.from_connect_data("t", schema, row))
    assert found.schema == schema and found.value["n"] == Decimal("-0.5") and found.value["s"] == "none"


def test_numbers_of_json_wrap_into_the_schemas_type() -> None:
    found = _converter().to_connect_data("t", b'{"schema":{"type":"int8"},"payload":300}')
    assert type(found.value) is Int8 and found.value == 44


@pytest.mark.parametrize(
    ("text", "value"),
    [(b"01", 1), (b"1 2", 1), (b"", None), (b"\xef\xbb\xbf1", 1), (b'{"a":1,"a":2}', {"a": 2}), (b"1.5", 1.5)],
)
def test_json_is_read_as_leniently_as_jackson_does(text: bytes, value: object) -> None:
    assert _plain().to_connect_data("t", text).value == value


@pytest.mark.parametrize(
    "text", [b"NaN", b"{", b"1x", b"// c\n1", b"[1,]", b"[" * 1001, b"1" * 1001, b'"\xc3"', b"\xff\xfe"]
)
def test_what_jackson_refuses_is_refused(text: bytes) -> None:
    with pytest.raises(DataException, match="failed due to serialization error"):
        _plain().to_connect_data("t", text)


def test_refusals_have_kafkas_messages() -> None:
    with pytest.raises(DataException, match='requires "schema" and "payload" fields'):
        _converter().to_connect_data("t", b"1")
    with pytest.raises(DataException, match=r"Invalid type for INT32: class java\.lang\.String"):
        _converter().from_connect_data("t", INT32_SCHEMA, "x")
    with pytest.raises(DataException, match="Schema must contain 'type' field"):
        _converter().to_connect_data("t", b'{"schema":{},"payload":1}')
    with pytest.raises(ConfigException, match=r"decimal\.format: String must be one of"):
        _converter(decimal_format="HEX")


_FIELD = b'{"schema":{"type":"struct","fields":[{"field":"a","type":"string","optional":true}]},"payload":'


@pytest.mark.parametrize(
    "data",
    [
        _FIELD + b'{"a":"x"}}',
        _FIELD + b'{"a":"x","more":[1,{"payload":2}]}} ',
        _FIELD + b'{"a":",\\"payload\\":1"}}',
        _FIELD + b"null}",
        _FIELD + b'{"a":"x"},"schema":null}',
        _FIELD + b'{"a":"x"},"other":1}',
        _FIELD + b'{"a":"x"',
        _FIELD + b'{"a":"' + b"x" * 2000 + b'"}}',
        _FIELD + b'{"a":"\xff"}}',
        _FIELD.replace(b",", b", ", 1) + b'{"a":"x"}}',
        b'{"schema":null,"payload":5}',
        b'{"schema":{"type":"string","doc":",\\"payload\\":"},"payload":"x"}',
        b'{"schema":{"type":"int8"},"payload":007}',
    ],
)
def test_an_envelope_is_read_as_before_when_its_schema_is_known(data: bytes) -> None:
    def outcome(converter: JsonConverter) -> object:
        try:
            return converter.to_connect_data("topic", data)
        except DataException as error:
            return str(error)

    used = JsonConverter()
    for known in (_FIELD + b'{"a":"y"}}', _FIELD.replace(b",", b", ", 1) + b"null}", data[:-2] + b"}", data):
        with contextlib.suppress(DataException):
            used.to_connect_data("topic", known)
    assert outcome(used) == outcome(JsonConverter())


def test_no_more_schemas_are_kept_than_the_setting_says() -> None:
    converter = _converter(schemas_cache_size="2")
    for number in range(5):
        schema = Schema(Type.STRING, name=f"s{number}")
        converter.to_connect_data("t", converter.from_connect_data("t", schema, "x"))
    assert len(converter._texts) == len(converter._schemas) == len(converter._envelopes) == 2
    assert converter.from_connect_data("t", None, None) is None
    assert converter.to_connect_data("t", None).value is None
    assert STRING_SCHEMA.name is None
