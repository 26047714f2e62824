"""Confluent's wire format, byte for byte."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.schemas import SchemaDeserializationError
from kafkapy.schemas.wire_format import Written, prefix, read, read_indexes, write_indexes

GUID = "89791762-2336-4186-9674-299b90a802e2"


def test_the_prefix() -> None:
    assert prefix(1) == b"\x00\x00\x00\x00\x01"
    assert prefix(0x01020304) == b"\x00\x01\x02\x03\x04"
    written = read(b"\x00\x01\x02\x03\x04payload")
    assert written.schema == 0x01020304
    assert bytes(written.payload) == b"payload"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "These 0 bytes are not in the registry's wire format"),
        (b"\x00\x00\x00\x01", "These 4 bytes"),
        (b'{"a": 1}', "begin with 0x7b"),
        (b"\xff\x00\x00\x00\x01", "begin with 0xff"),
    ],
)
def test_foreign_bytes(data: bytes, sentence: str) -> None:
    with pytest.raises(SchemaDeserializationError, match=sentence):
        read(data)


def test_a_guid_in_a_header() -> None:
    content = b"\x01" + UUID(GUID).bytes
    headers = [("x", b""), ("__value_schema_id", content)]
    assert read(b"payload", headers) == Written(GUID, memoryview(b"payload"))
    with pytest.raises(SchemaDeserializationError, match="wire format"):
        read(b"", [("__key_schema_id", content)])
    assert read(b"", [("__key_schema_id", content)], is_key=True) == Written(GUID, memoryview(b""))
    with pytest.raises(SchemaDeserializationError, match="__value_schema_id"):
        read(b"payload", [("__value_schema_id", b"\x01short")])


@pytest.mark.parametrize(
    ("indexes", "encoded"),
    [([0], b"\x00"), ([1], b"\x02\x02"), ([1, 0], b"\x04\x02\x00"), ([0, 0], b"\x04\x00\x00"), ([64], b"\x02\x80\x01")],
)
def test_message_indexes(indexes: list[int], encoded: bytes) -> None:
    assert write_indexes(indexes) == encoded
    assert read_indexes(memoryview(encoded + b"rest")) == (indexes, memoryview(b"rest"))


def test_the_long_form_of_the_first_message() -> None:
    assert read_indexes(memoryview(b"\x02\x00rest")) == ([0], memoryview(b"rest"))


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5))
def test_indexes_come_back(indexes: list[int]) -> None:
    assert read_indexes(memoryview(write_indexes(indexes))) == (indexes, memoryview(b""))


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x80", b"\x01", b"\x02\x01", b"\xff" * 12])
def test_broken_indexes(data: bytes) -> None:
    with pytest.raises(SchemaDeserializationError):
        read_indexes(memoryview(data))
