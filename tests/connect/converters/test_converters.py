from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.converters.byte_array_converter import ByteArrayConverter
from kafkapy.connect.converters.number_converters import BooleanConverter, FloatConverter, IntegerConverter
from kafkapy.connect.converters.simple_header_converter import SimpleHeaderConverter
from kafkapy.connect.converters.string_converter import StringConverter
from kafkapy.connect.data.scalars import Int32, Int64
from kafkapy.connect.data.schema import INT32_SCHEMA, STRING_SCHEMA
from kafkapy.connect.errors import DataException, SerializationException
from kafkapy.connect.java_classes import CONVERTERS, HEADER_CONVERTERS, PREDICATES, TRANSFORMS, class_of


@pytest.mark.parametrize("name", [*CONVERTERS, *HEADER_CONVERTERS, *TRANSFORMS, *PREDICATES])
def test_each_of_kafkas_names_has_a_class(name: str) -> None:
    assert class_of(name).java_class == name
    assert class_of(name)().config() is not None


def test_strings_in_javas_character_sets() -> None:
    converter = StringConverter()
    converter.configure({"converter.encoding": "UTF-16"}, is_key=True)
    assert converter.from_connect_data("t", None, "é") == b"\xfe\xff\x00\xe9"
    with pytest.raises(SerializationException, match="Unsupported encoding no-such"):
        converter.configure({"converter.encoding": "no-such"})
    converter.configure({})
    assert converter.to_connect_data("t", b"\xed\xa0\x80\xff").value == "\ufffd\ufffd"
    assert converter.from_connect_data("t", None, {"a": [1, None]}) == b"{a=[1, null]}"


def test_numbers_of_the_wrong_type_or_size_are_refused() -> None:
    converter = IntegerConverter()
    assert converter.from_connect_data("t", STRING_SCHEMA, Int32(5)) == b"\0\0\0\x05"
    with pytest.raises(DataException, match=r"Failed to serialize to integer \(was class java.lang.Long\): "):
        converter.from_connect_data("t", None, Int64(5))
    with pytest.raises(DataException, match="Failed to deserialize float: "):
        FloatConverter().to_connect_data("t", b"123")
    with pytest.raises(DataException, match="Failed to deserialize boolean: "):
        BooleanConverter().to_connect_data("t", b"\2")
    with pytest.raises(ConfigException):
        converter.configure({"converter.type": "x"})


def test_bytes_take_nothing_else() -> None:
    with pytest.raises(DataException, match="Invalid schema type for ByteArrayConverter: INT32"):
        ByteArrayConverter().from_connect_data("t", INT32_SCHEMA, b"")


def test_headers_that_cannot_be_read_stay_bytes() -> None:
    deep = b"[" * 100_000
    assert SimpleHeaderConverter().to_connect_header("t", "h", deep).value == deep
    assert SimpleHeaderConverter().from_connect_header("t", "h", None, [1, "a"]) == b'[1,"a"]'
