"""Bytes that are no message raise SchemaError and nothing else, and never take more memory than they have reason to."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import RequestHeader
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from kafkapy.protocol.wire import SchemaError, rest_of_varint, unsigned_varint, varint
from tests.protocol.protocol_samples import every_version, populated

EVERY_VERSION = every_version()
NEWEST = [(cls, version) for cls, version in EVERY_VERSION if version == cls.VERSIONS.highest]


def decode(cls: type[Message], version: int, data: bytes) -> Message | None:
    try:
        return cls.decode(data, version)
    except SchemaError:
        return None


def test_cut_off_anywhere() -> None:
    for cls, version in NEWEST:
        encoded = populated(cls, version).encode(version)
        for length in range(len(encoded)):
            assert decode(cls, version, encoded[:length]) is None, (cls, length)


@pytest.mark.parametrize("api", [ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.JOIN_GROUP, ApiKey.SASL_AUTHENTICATE])
def test_huge_counts_and_lengths_anywhere_take_no_memory(api: ApiKey) -> None:
    """The largest int32 and varint are put over every place in turn, so over every count and length as well."""
    for version in (0, api.max_version):
        encoded = populated(api.request, version).encode(version)
        decode(api.request, version, encoded)
        tracemalloc.start()
        for data in with_huge_numbers(encoded):
            decode(api.request, version, data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100_000


def test_huge_counts_and_lengths_in_every_message() -> None:
    for cls, version in NEWEST:
        for data in with_huge_numbers(populated(cls, version).encode(version)):
            decode(cls, version, data)


def with_huge_numbers(encoded: bytes) -> Iterator[bytes]:
    for huge in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f"):
        for place in range(len(encoded)):
            yield encoded[:place] + huge + encoded[place + len(huge) :]


@pytest.mark.parametrize(
    ("cls", "version", "data", "explanation"),
    [
        (MetadataRequest, 0, b"\x7f\xff\xff\xff", r"MetadataRequest.topics has 2147483647 elements, but only 0 bytes"),
        (MetadataRequest, 0, b"\xff\xff\xff\xff", r"MetadataRequest.topics is null"),
        (FetchRequest, 12, bytes(26), r"FetchRequest.topics is null"),
        (HeartbeatRequest, 0, b"\xff\xff", r"HeartbeatRequest.group_id is null"),
        (HeartbeatRequest, 0, b"\x00\x05abc", r"HeartbeatRequest.group_id has 5 bytes, but only 3 remain"),
        (HeartbeatRequest, 4, b"\x80\x80\x80\x80\x80\x01", r"varint of more than 5 bytes"),
        (HeartbeatRequest, 0, b"\x00\x00\x00", r"HeartbeatRequest version 0 ends too early"),
        (ApiVersionsRequest, 3, b"\x01\x01\x05\x00\x00", r"5 tagged fields in 2 bytes"),
        (ApiVersionsRequest, 3, b"\x01\x01\x01\x00\x05\x00", r"a tagged field of 5 bytes"),
        (FetchRequest, 12, FetchRequest().encode(12)[:-1] + b"\x01\x09\x05\x00", r"a tagged field has 5 bytes"),
    ],
)
def test_what_is_wrong(cls: type[Message], version: int, data: bytes, explanation: str) -> None:
    with pytest.raises(SchemaError, match=explanation):
        cls.decode(data, version)


def test_any_negative_length_is_null_where_null_is_allowed() -> None:
    assert MetadataRequest.decode(b"\xff\xff\xff\x00", 1) == MetadataRequest(topics=None)
    prefix = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData("t", [ProduceRequest.PartitionProduceData()])])
    encoded = prefix.encode(3)
    assert encoded.endswith(b"\xff\xff\xff\xff")
    assert ProduceRequest.decode(encoded[:-1] + b"\xf0", 3) == prefix


@given(st.sampled_from(EVERY_VERSION), st.binary(max_size=200))
@settings(max_examples=400, deadline=None)
def test_random_bytes(which: tuple[type[Message], int], data: bytes) -> None:
    decode(*which, data)


@given(st.sampled_from(EVERY_VERSION), st.data())
@settings(max_examples=400, deadline=None)
def test_mutations(which: tuple[type[Message], int], data: st.DataObject) -> None:
    """What can still be read can be written again."""
    cls, version = which
    encoded = bytearray(populated(cls, version).encode(version))
    for _ in range(data.draw(st.integers(1, 4))):
        if encoded:
            encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    found = decode(cls, version, bytes(encoded))
    if found is not None:
        assert cls.decode(found.encode(version), version) == found or has_nan(found)


def has_nan(value: Any) -> bool:
    return "nan" in repr(value)


@given(st.binary(max_size=40))
@example(b"\0\x07\0\0\0\0\0\x05")
def test_random_request_headers(data: bytes) -> None:
    try:
        header, position = RequestHeader.decode(data)
    except SchemaError:
        return
    assert isinstance(header.api_key, ApiKey)
    assert 8 <= position <= len(data)


@given(st.integers(0, 0xFFFFFFFF))
def test_varints(value: int) -> None:
    encoded = varint(value)
    assert unsigned_varint(encoded + b"x", 0) == (value, len(encoded))
    if len(encoded) > 1:
        assert rest_of_varint(encoded, 1, encoded[0]) == (value, len(encoded))


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_numbers_that_are_no_varints(value: int) -> None:
    with pytest.raises(SchemaError):
        varint(value)


def test_a_view_does_not_outlive_its_bounds() -> None:
    """A records length beyond the end is refused, not cut."""
    encoded = SyncGroupRequest(assignments=[SyncGroupRequest.SyncGroupRequestAssignment("m", b"12345")]).encode(0)
    with pytest.raises(SchemaError, match="assignment has 5 bytes, but only 4 remain"):
        SyncGroupRequest.decode(encoded[:-1], 0)
    longer = encoded[:-9] + struct.pack(">i", 6) + b"12345"
    with pytest.raises(SchemaError, match="assignment has 6 bytes, but only 5 remain"):
        SyncGroupRequest.decode(longer, 0)
