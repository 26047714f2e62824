"""Message formats v0 and v1: read, built, and converted both ways as Apache Kafka 3.9.1 did on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import conversion, legacy_format
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType, compress
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import DefaultRecord, RecordBatch, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder

# What a client sent (Produce v0 and v2), and what the broker stored.
V0 = bytes.fromhex(
    "000000000000000000000011165764b10000000000016b0000000276300000000000000001000000110f4c55f00000000000"
    "016b000000027730"
)
V1 = bytes.fromhex(
    "000000000000000000000019dac983810100000001a3185c5000000000016b00000002763100000000000000010000001958"
    "77feaf0100000001a3185c5001000000016b000000027731"
)
STORED = bytes.fromhex(
    "0000000000000000000000450000000002bcef66be000000000001ffffffffffffffffffffffffffffffffffffffffffffff"
    "ffffffffffffff0000000212000000026b0476300012000002026b04773000000000000000000200000045000000000285e8"
    "45a5000000000001000001a3185c5000000001a3185c5001ffffffffffffffffffffffffffff0000000212000000026b0476"
    "310012000202026b04773100"
)


def test_read() -> None:
    assert [r for b in batches(V0) for r in b.records()] == [
        DefaultRecord(0, -1, b"k", b"v0"),
        DefaultRecord(1, -1, b"k", b"w0"),
    ]
    v1 = list(batches(V1))
    assert all(isinstance(b, LegacyRecordBatch) and b.is_valid() for b in v1)
    assert [r for b in v1 for r in b.records()] == [
        DefaultRecord(0, 1800000000000, b"k", b"v1"),
        DefaultRecord(1, 1800000000001, b"k", b"w1"),
    ]
    assert [(b.base_offset, b.last_offset, b.next_offset, b.max_timestamp) for b in v1][1] == (1, 1, 2, 1800000000001)


def test_build() -> None:
    for magic, expected in ((0, V0), (1, V1)):
        builder = MemoryRecordsBuilder(magic=magic)
        for i, value in enumerate((b"v%d" % magic, b"w%d" % magic)):
            builder.append(1800000000000 + i if magic else -1, b"k", value)
        assert builder.build() == expected


def test_down_conversion_starts_at_the_first_offset() -> None:
    converted = conversion.down_convert(batches(STORED), 1, 3)
    assert [r.offset for b in batches(converted.data) for r in b.records()] == [3]
    assert converted.records_converted == 1


def batch(codec: CompressionType = CompressionType.NONE, **options: Any) -> bytes:
    builder = MemoryRecordsBuilder(compression_type=codec, base_offset=10, **options)
    builder.append(1000, b"k", b"v", ((b"h", b"x"),))
    builder.append(2000, None, None)
    return builder.build()


def test_down_conversion_of_compressed_batches_keeps_them_whole_and_drops_headers() -> None:
    converted = conversion.down_convert(batches(batch(CompressionType.LZ4)), 1, 11).data
    (wrapper,) = batches(converted)
    assert (wrapper.base_offset, wrapper.last_offset, wrapper.max_timestamp) == (10, 11, 2000)
    assert wrapper.compression_type is CompressionType.LZ4
    assert list(wrapper.records()) == [DefaultRecord(10, 1000, b"k", b"v"), DefaultRecord(11, 2000, None, None)]
    (wrapper,) = batches(conversion.down_convert(batches(batch(CompressionType.GZIP)), 0, 0).data)
    assert [r.offset for r in wrapper.records()] == [10, 11]


def test_down_conversion_of_log_append_time() -> None:
    data = batch(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=5000)
    converted = list(batches(conversion.down_convert(batches(data), 1, 0).data))
    assert [(b.timestamp_type, b.max_timestamp) for b in converted] == [(TimestampType.LOG_APPEND_TIME, 5000)] * 2


def test_what_cannot_be_converted() -> None:
    zstd = batch(CompressionType.ZSTD)
    assert conversion.down_convert(batches(batch(is_control=True)), 0, 0).data == b""
    with pytest.raises(KafkaError) as caught:
        conversion.down_convert(batches(STORED + zstd), 1, 0)
    assert caught.value.error is Errors.UNSUPPORTED_COMPRESSION_TYPE


def wrapper(magic: int, inner: bytes, offset: int, codec: CompressionType = CompressionType.GZIP) -> LegacyRecordBatch:
    attributes = legacy_format.attributes(magic, codec, TimestampType.CREATE_TIME)
    return LegacyRecordBatch(legacy_format.encode_entry(offset, magic, 5, None, compress(codec, inner), attributes))


def test_inner_offsets() -> None:
    assert [r.offset for r in wrapper(1, V1, 0).records()] == [0, 1]  # as producers send it
    assert [r.offset for r in wrapper(1, V1, 41).records()] == [40, 41]
    assert [r.offset for r in wrapper(0, V0, 41).records()] == [0, 1]


@pytest.mark.parametrize("wrong", ["nested", "no inner records", "zstd", "offset below", "null", "v2 inside", "cut"])
def test_wrong_wrappers(wrong: str) -> None:
    made = {
        "nested": lambda: wrapper(1, bytes(wrapper(1, V1, 1).buffer), 1),
        "no inner records": lambda: wrapper(1, b"", 1),
        "zstd": lambda: wrapper(1, V1, 1, CompressionType.ZSTD),
        "offset below": lambda: wrapper(1, V1 + V1[:8] + V1[8:].replace(b"\0" * 7 + b"\1", b"\0" * 7 + b"\x09"), 2),
        "null": lambda: LegacyRecordBatch(legacy_format.encode_entry(0, 1, 5, None, None, 1)),
        "v2 inside": lambda: wrapper(1, STORED, 1),
        "cut": lambda: wrapper(1, V1[:20], 1),
    }[wrong]()
    with pytest.raises(KafkaError) as caught:
        list(made.records())
    assert caught.value.error is Errors.INVALID_RECORD


def test_timestamp_is_set_in_place() -> None:
    data = bytearray(V1)
    first = LegacyRecordBatch(data)
    first.set_last_offset(77)
    first.set_max_timestamp(TimestampType.LOG_APPEND_TIME, 123)
    again = LegacyRecordBatch(data)
    assert again.is_valid()
    assert (again.offset, again.timestamp, again.timestamp_type) == (77, 123, TimestampType.LOG_APPEND_TIME)


def test_lengths_that_lead_out_of_the_message() -> None:
    data = bytearray(V0)
    data[18:22] = b"\0\0\1\0"
    with pytest.raises(KafkaError) as caught:
        LegacyRecordBatch(data).key_and_value()
    assert caught.value.error is Errors.INVALID_RECORD


def test_stored_batches_are_whole() -> None:
    assert [b.size_in_bytes for b in batches(STORED)] == [81, 81]
    assert all(isinstance(b, RecordBatch) and b.is_valid() for b in batches(STORED))
