"""What a leader refuses, changes and keeps; the outcomes were compared with those of Apache Kafka 3.9.1."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from crc32c import crc32c

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import AppendOrigin, WouldBlock
from kafkapy.log.log_validator import LogValidator
from kafkapy.log.validation_result import RecordValidationError, ValidationResult
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import legacy_format
from kafkapy.record.compression import CompressionType, compress
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from kafkapy.record.record_batch import DefaultRecord, RecordBatch, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder, encode_record

NOW = 1_800_000_000_000
CODECS = list(CompressionType)

HEADER_FIELDS = (
    *("base_offset", "batch_length", "partition_leader_epoch", "magic", "crc", "attributes", "last_offset_delta"),
    *("base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "record_count"),
)


def validator(**configs: object) -> LogValidator:
    return LogValidator(TopicPartition("t", 0), LogConfig({k.replace("_", "."): v for k, v in configs.items()}))


def batch(
    codec: CompressionType = CompressionType.NONE,
    records: int = 3,
    timestamp: int = 1000,
    key: bytes | None = b"k",
    **options: Any,
) -> bytearray:
    builder = MemoryRecordsBuilder(compression_type=codec, **options)
    for i in range(records):
        builder.append(timestamp + i, key, b"value %d" % i)
    return bytearray(builder.build())


def spoiled(
    body: bytes = encode_record(0, 0, None, b"a"),
    *,
    attributes: int = 0,
    count: int = 1,
    last: int | None = None,
    timestamp: int = 1000,
    max_timestamp: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    magic: int = 2,
    base: int = 0,
    length: int | None = None,
    crc: int | None = None,
) -> bytearray:
    """A batch that may be wrong in chosen ways."""
    tail = struct.pack(
        ">hiqqqhii",
        attributes,
        count - 1 if last is None else last,
        timestamp,
        timestamp if max_timestamp is None else max_timestamp,
        *producer,
        count,
    )
    tail += body
    rest = struct.pack(">ibI", -1, magic, crc32c(tail) if crc is None else crc) + tail
    return bytearray(struct.pack(">qi", base, len(rest) if length is None else length) + rest)


def error_of(records: bytes | bytearray, version: int = 9, **configs: object) -> Errors:
    before = bytes(records)
    with pytest.raises(KafkaError) as caught:
        validator(**configs).validate(records, 7, NOW, 3, request_version=version)
    assert bytes(records) == before
    return caught.value.error


def only(result: ValidationResult) -> RecordBatch:
    (found,) = result.batches
    assert isinstance(found, RecordBatch)
    assert found.is_valid()
    assert bytes(found.buffer) == bytes(result.records)
    again = RecordBatch(result.records)
    assert all(getattr(again, field) == getattr(found, field) for field in HEADER_FIELDS)
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_the_usual_batch_is_numbered_where_it_lies(codec: CompressionType) -> None:
    data = batch(codec)
    sent = bytes(data)
    result = validator().validate(memoryview(data), 70, NOW, 3)
    assert isinstance(result.records, memoryview)
    assert result.records.obj is data
    assert data == (70).to_bytes(8, "big") + sent[8:12] + (3).to_bytes(4, "big") + sent[16:]
    assert (result.first_offset, result.last_offset, result.record_count) == (70, 72, 3)
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp, result.log_append_time) == (1002, 72, -1)
    assert result.records_converted == 0
    assert [r.offset for r in only(result).records()] == [70, 71, 72]


def test_bytes_are_copied_before_they_are_changed() -> None:
    sent = bytes(batch())
    for records in (sent, memoryview(sent)):
        result = validator().validate(records, 70, NOW, 3)
        assert only(result).base_offset == 70
    assert RecordBatch(sent).base_offset == 0


@pytest.mark.parametrize(
    ("name", "records", "error"),
    [
        ("wrong crc", spoiled(crc=12345), Errors.CORRUPT_MESSAGE),
        ("magic 3", spoiled(magic=3), Errors.CORRUPT_MESSAGE),
        ("magic -1", spoiled(magic=-1), Errors.CORRUPT_MESSAGE),
        ("nothing", bytearray(), Errors.INVALID_RECORD),
        ("count -1", spoiled(count=-1), Errors.INVALID_RECORD),
        ("count 0", spoiled(count=0), Errors.INVALID_RECORD),
        ("count 2", spoiled(count=2), Errors.INVALID_RECORD),
        ("count 2^31-1", spoiled(count=2**31 - 1), Errors.INVALID_RECORD),
        ("last delta 5", spoiled(last=5), Errors.INVALID_RECORD),
        ("last delta -1", spoiled(last=-1), Errors.INVALID_RECORD),
        ("base offset", spoiled(base=5), Errors.INVALID_RECORD),
        ("length -1", spoiled(length=-1), Errors.CORRUPT_MESSAGE),
        ("length 10", spoiled(length=10), Errors.CORRUPT_MESSAGE),
        ("length 48", spoiled(length=48), Errors.CORRUPT_MESSAGE),
        ("length 1000", spoiled(length=1000), Errors.INVALID_RECORD),
        ("length 2^31-1", spoiled(length=2**31 - 1), Errors.UNKNOWN_SERVER_ERROR),
        ("codec 5", spoiled(attributes=5), Errors.UNKNOWN_SERVER_ERROR),
        ("codec 7", spoiled(attributes=7), Errors.UNKNOWN_SERVER_ERROR),
        ("garbage gzip", spoiled(b"\0garbage", attributes=1), Errors.UNKNOWN_SERVER_ERROR),
        ("garbage snappy", spoiled(b"\0garbage", attributes=2), Errors.UNKNOWN_SERVER_ERROR),
        ("garbage lz4", spoiled(b"\0garbage", attributes=3), Errors.UNKNOWN_SERVER_ERROR),
        ("garbage zstd", spoiled(b"\0garbage", attributes=4), Errors.UNKNOWN_SERVER_ERROR),
        ("cut gzip", spoiled(compress(1, bytes(batch()))[:-9], attributes=1), Errors.UNKNOWN_SERVER_ERROR),
        (
            "count bomb",
            spoiled(compress(1, b"\x0e\0\0\0\1\2x\0"), attributes=1, count=2**31 - 1),
            Errors.INVALID_RECORD,
        ),
        ("record cut", spoiled(encode_record(0, 0, None, b"abc")[:-2]), Errors.INVALID_RECORD),
        ("bytes behind", spoiled(encode_record(0, 0, None, b"abc") + b"\0\0\0"), Errors.INVALID_RECORD),
        ("key length", spoiled(b"\x20\0\0\0\xfe\xff\xff\xff\x0fxxxxxxxx"), Errors.INVALID_RECORD),
        ("record length", spoiled(b"\xfe\xff\xff\xff\x0f" + bytes(20)), Errors.INVALID_RECORD),
        ("header count", spoiled(b"\x10\0\0\0\1\1\xfe\xff\xff\xff\x0f" + bytes(5)), Errors.INVALID_RECORD),
        ("negative header count", spoiled(b"\x0c\0\0\0\1\1\3"), Errors.INVALID_RECORD),
        ("control batch", spoiled(attributes=0x20), Errors.INVALID_RECORD),
        ("no sequence", spoiled(producer=(5, 0, -1)), Errors.INVALID_RECORD),
        ("two batches", batch() + batch(), Errors.INVALID_RECORD),
        (
            "offsets in gzip",
            spoiled(compress(1, encode_record(4, 0, b"", b"")), attributes=1),
            Errors.UNKNOWN_SERVER_ERROR,
        ),
        ("old format", bytearray(legacy_format.encode_entry(0, 1, 5, None, b"v", 0)), Errors.INVALID_RECORD),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refused(name: str, records: bytearray, error: Errors) -> None:
    assert error_of(records) is error


def test_offset_deltas_of_an_uncompressed_batch_are_not_looked_at() -> None:
    result = validator().validate(spoiled(encode_record(4, 0, b"", b"")), 7, NOW, 0)
    assert (result.first_offset, result.last_offset) == (7, 7)


def test_cut_batch_behind_a_whole_one_is_dropped() -> None:
    one = batch()
    result = validator().validate(one + one[:30], 0, NOW, 0)
    assert len(result.records) == len(one)


def test_zstd_needs_version_7() -> None:
    assert error_of(batch(CompressionType.ZSTD), version=6) is Errors.UNSUPPORTED_COMPRESSION_TYPE
    assert validator().validate(batch(CompressionType.ZSTD), 0, NOW, 0, request_version=7).record_count == 3


def test_size_limit() -> None:
    data = batch()
    assert error_of(data, max_message_bytes=len(data) - 1) is Errors.MESSAGE_TOO_LARGE
    assert validator(max_message_bytes=len(data)).validate(data, 0, NOW, 0).record_count == 3


def test_size_limit_after_recompression() -> None:
    data = batch(CompressionType.GZIP, records=200)
    assert error_of(data, max_message_bytes=2000, compression_type="uncompressed") is Errors.MESSAGE_TOO_LARGE
    bomb = spoiled(compress(1, encode_record(0, 0, None, bytes(50_000_000)), 9), attributes=1)
    assert error_of(bomb, compression_type="uncompressed") is Errors.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS)
def test_compacted_topics_need_keys(codec: CompressionType) -> None:
    compacted = validator(cleanup_policy=["compact"])
    assert compacted.validate(batch(codec), 0, NOW, 0).record_count == 3
    builder = MemoryRecordsBuilder(compression_type=codec)
    for key in (b"a", None, b"", None):
        builder.append(0, key, b"")
    with pytest.raises(RecordValidationError) as caught:
        compacted.validate(builder.build(), 0, NOW, 0)
    why = "Compacted topic cannot accept message without key in topic partition t-0"
    assert caught.value.error is Errors.INVALID_RECORD
    assert caught.value.record_errors == [(1, why), (3, why)]
    assert caught.value.message == (
        "One or more records have been rejected due to 2 record errors in total, and only showing the first three "
        f"errors at most: [RecordError(batchIndex=1, message='{why}'), RecordError(batchIndex=3, message='{why}')]"
    )


@pytest.mark.parametrize("codec", CODECS)
def test_timestamps_out_of_range(codec: CompressionType) -> None:
    bounded = validator(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=500)
    assert bounded.validate(batch(codec, timestamp=NOW), 0, NOW, 0).max_timestamp == NOW + 2
    builder = MemoryRecordsBuilder(compression_type=codec)
    for timestamp in (NOW - 1001, NOW, NOW + 501, -1, NOW - 1000, NOW + 500):
        builder.append(timestamp, None, b"")
    with pytest.raises(RecordValidationError) as caught:
        bounded.validate(builder.build(), 0, NOW, 0)
    assert caught.value.error is Errors.INVALID_TIMESTAMP
    assert caught.value.message == "One or more records have been rejected due to invalid timestamp"
    assert [index for index, _ in caught.value.record_errors] == [0, 2]
    assert caught.value.record_errors[1][1] == (
        f"Timestamp {NOW + 501} of message with offset 2 is out of range. "
        f"The timestamp should be within [{NOW - 1000}, {NOW + 500}]"
    )


def test_the_deprecated_timestamp_bound_holds_where_the_others_are_not_set() -> None:
    old = batch(timestamp=NOW - 2000)
    assert error_of(old, message_timestamp_difference_max_ms=1000) is Errors.INVALID_TIMESTAMP
    both = {"message_timestamp_difference_max_ms": 1000, "message_timestamp_before_max_ms": 5000}
    assert validator(**both).validate(old, 0, NOW, 0).record_count == 3


@pytest.mark.parametrize("codec", CODECS)
def test_log_append_time(codec: CompressionType) -> None:
    result = validator(message_timestamp_type="LogAppendTime").validate(batch(codec), 5, NOW, 0)
    found = only(result)
    assert (result.max_timestamp, result.log_append_time, result.shallow_offset_of_max_timestamp) == (NOW, NOW, 7)
    assert (found.timestamp_type, found.max_timestamp, found.base_timestamp) == (
        TimestampType.LOG_APPEND_TIME,
        NOW,
        1000,
    )
    assert {r.timestamp for r in found.records()} == {NOW}


def test_clients_may_not_claim_log_append_time() -> None:
    claims = batch(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=123)
    assert error_of(claims, message_timestamp_type="LogAppendTime") is Errors.INVALID_TIMESTAMP
    # ... but where it is not asked for, it becomes their own time.
    found = only(validator().validate(claims, 0, NOW, 0))
    assert (found.timestamp_type, found.max_timestamp) == (TimestampType.CREATE_TIME, 123)


@pytest.mark.parametrize("codec", CODECS)
def test_wrong_max_timestamp_is_put_right(codec: CompressionType) -> None:
    body = encode_record(0, 500, None, b"") + encode_record(1, -700, None, b"")
    data = spoiled(compress(codec, body), count=2, attributes=codec, timestamp=1000, max_timestamp=99999)
    found = only(validator().validate(data, 0, NOW, 0))
    assert found.max_timestamp == 1500


def test_no_timestamps() -> None:
    result = validator().validate(spoiled(timestamp=-1), 0, NOW, 0)
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp) == (-1, -1)


def test_timestamps_that_overflow() -> None:
    data = spoiled(encode_record(0, 10, None, b""), timestamp=2**63 - 5)
    assert error_of(data) is Errors.INVALID_TIMESTAMP


@pytest.mark.parametrize("source", CODECS)
@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd", "producer"])
def test_codec_of_the_topic(source: CompressionType, target: str) -> None:
    data = batch(source, records=50, producer_id=5, producer_epoch=1, base_sequence=9, is_transactional=True)
    expected = [r._replace(offset=r.offset + 70) for r in RecordBatch(bytes(data)).records()]
    result = validator(compression_type=target).validate(data, 70, NOW, 3)
    found = only(result)
    wanted = (
        {"producer": source, "uncompressed": CompressionType.NONE}.get(target)
        if target
        in (
            "producer",
            "uncompressed",
        )
        else CompressionType.for_name(target)
    )
    assert found.compression_type is wanted
    assert list(found.records()) == expected
    assert (found.producer_id, found.producer_epoch, found.base_sequence, found.is_transactional) == (5, 1, 9, True)
    assert (found.base_offset, found.last_offset, found.partition_leader_epoch, found.max_timestamp) == (
        70,
        119,
        3,
        1049,
    )
    assert (result.first_offset, result.last_offset, result.record_count) == (70, 119, 50)
    assert result.records_converted == (0 if wanted is source else 50)


def test_recompression_numbers_records_anew() -> None:
    data = spoiled(encode_record(4, 0, b"a", b"") + encode_record(9, 1, b"b", b""), count=2)
    found = only(validator(compression_type="lz4").validate(data, 7, NOW, 0))
    assert [(r.offset, r.key) for r in found.records()] == [(7, b"a"), (8, b"b")]


def test_recompression_with_log_append_time_and_level() -> None:
    configs = {"compression_type": "gzip", "compression_gzip_level": 1, "message_timestamp_type": "LogAppendTime"}
    found = only(validator(**configs).validate(batch(records=100), 0, NOW, 0))
    assert (found.timestamp_type, found.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)


@pytest.mark.parametrize("producer", [(5, -1, 0), (-5, 0, -1)])
def test_recompression_of_unfit_producer_fields_fails(producer: tuple[int, int, int]) -> None:
    assert error_of(spoiled(producer=producer), compression_type="lz4") is Errors.UNKNOWN_SERVER_ERROR


def test_coordinators_may_write_control_batches_which_are_not_compressed() -> None:
    data = build_end_transaction_marker(
        timestamp=NOW,
        producer_id=5,
        producer_epoch=0,
        marker=EndTransactionMarker(ControlRecordType.COMMIT, 1),
    )
    result = validator(compression_type="lz4").validate(data, 7, NOW, 3, AppendOrigin.COORDINATOR)
    found = only(result)
    assert found.is_control
    assert (found.base_offset, found.compression_type) == (7, CompressionType.NONE)


def old_set(magic: int, codec: CompressionType, records: int = 3, **changes: int) -> bytes:
    timestamp_type = TimestampType(changes.get("timestamp_type", 0))
    builder = MemoryRecordsBuilder(
        magic=magic, compression_type=codec, timestamp_type=timestamp_type, log_append_time=9
    )
    for i in range(records):
        builder.append(1000 + i if magic else -1, None if i % 2 else b"k", b"v%d" % i)
    return builder.build()


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(
    "codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]
)
def test_old_formats_become_one_batch(magic: int, codec: CompressionType) -> None:
    result = validator().validate(old_set(magic, codec), 70, NOW, 3, request_version=2)
    found = only(result)
    assert (found.magic, found.compression_type, found.partition_leader_epoch) == (2, codec, 3)
    assert list(found.records()) == [
        DefaultRecord(70 + i, 1000 + i if magic else -1, None if i % 2 else b"k", b"v%d" % i) for i in range(3)
    ]
    assert (result.first_offset, result.last_offset, result.records_converted) == (70, 72, 3)
    assert result.max_timestamp == (1002 if magic else -1)


def test_old_format_with_log_append_time() -> None:
    configs = {"message_timestamp_type": "LogAppendTime"}
    found = only(validator(**configs).validate(old_set(0, CompressionType.NONE), 0, NOW, 0, request_version=0))
    assert (found.timestamp_type, found.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)
    claims = old_set(1, CompressionType.GZIP, timestamp_type=1)
    assert error_of(claims, version=2, **configs) is Errors.INVALID_TIMESTAMP


def test_old_formats_refused() -> None:
    gzip = old_set(1, CompressionType.GZIP)
    assert error_of(gzip + gzip, version=2) is Errors.INVALID_RECORD
    assert (
        error_of(old_set(0, CompressionType.NONE) + old_set(1, CompressionType.NONE), version=2)
        is Errors.INVALID_RECORD
    )
    assert error_of(bytes(batch()) + old_set(1, CompressionType.NONE), version=2) is Errors.INVALID_RECORD
    assert error_of(old_set(1, CompressionType.NONE), version=2, cleanup_policy=["compact"]) is Errors.INVALID_RECORD
    inner = bytearray(old_set(1, CompressionType.NONE))
    inner[-1] ^= 1
    wrapped = legacy_format.encode_entry(2, 1, 1002, None, compress(1, inner), 1)
    assert error_of(wrapped, version=2) is Errors.CORRUPT_MESSAGE
    mixed = legacy_format.encode_entry(2, 1, 1002, None, compress(1, old_set(0, CompressionType.NONE)), 1)
    assert error_of(mixed, version=2) is Errors.INVALID_RECORD


def test_nothing_in_an_old_request_is_nothing_to_append() -> None:
    result = validator().validate(b"", 70, NOW, 0, request_version=2)
    assert (result.batches, bytes(result.records), result.record_count) == ((), b"", 0)


# -- what takes long


FORMATS = [(magic, version) for magic in (0, 1, 2) for version in ("0.9.0", "0.10.0", "3.0")]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("target", ["producer", "uncompressed", "gzip", "lz4"])
@pytest.mark.parametrize(("magic", "version"), FORMATS)
@pytest.mark.parametrize("append_time", [False, True])
def test_what_was_validated_before_its_place_was_known_is_the_same_in_the_end(
    codec: CompressionType, target: str, magic: int, version: str, append_time: bool
) -> None:
    if codec is CompressionType.ZSTD and (magic < 2 or version != "3.0"):
        return
    rules = validator(
        compression_type=target,
        message_format_version=version,
        inter_broker_protocol_version="2.8",
        message_timestamp_type="LogAppendTime" if append_time else "CreateTime",
    )
    records = batch(codec, magic=magic)
    there = rules.validate(bytes(records), 700, NOW, 4, AppendOrigin.CLIENT, 2)
    first = rules.validate(bytes(records), 0, NOW, 0, AppendOrigin.CLIENT, 2)
    later = rules.renumber(first, 700, NOW, 4)
    assert bytes(later.records) == bytes(there.records)
    for field in (
        "first_offset",
        "last_offset",
        "log_append_time",
        "max_timestamp",
        "record_count",
        "shallow_offset_of_max_timestamp",
    ):
        assert getattr(later, field) == getattr(there, field), field
    assert [(b.base_offset, b.last_offset) for b in later.batches] == [
        (b.base_offset, b.last_offset) for b in there.batches
    ]


def of_size(size: int, codec: CompressionType = CompressionType.NONE, **options: Any) -> bytearray:
    builder = MemoryRecordsBuilder(compression_type=codec, **options)
    for _ in range(size // 1000):
        builder.append(NOW, b"k", bytes(984))
    return bytearray(builder.build())


LARGE: dict[str, tuple[bytearray, dict[str, object]]] = {
    "many bytes": (of_size(3_000_000), {"max_message_bytes": 1 << 30}),
    "a bomb": (of_size(3_000_000, CompressionType.GZIP), {}),
    "a bomb of zstd": (of_size(6_000_000, CompressionType.ZSTD), {}),
    "a bomb of lz4": (of_size(3_000_000, CompressionType.LZ4), {}),
    "a bomb of snappy": (of_size(3_000_000, CompressionType.SNAPPY), {}),
    "another codec": (of_size(100_000), {"compression_type": "gzip"}),
    "other times": (batch(records=501), {"message_timestamp_before_max_ms": 5}),
    "an old format": (of_size(20_000, magic=1), {}),
    "an old wrapper": (batch(CompressionType.GZIP, magic=1), {}),
    "for an old format": (
        of_size(20_000),
        {"message_format_version": "0.10.0", "inter_broker_protocol_version": "2.8"},
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_takes_long_is_not_done_at_once(name: str) -> None:
    records, configs = LARGE[name]
    before = bytes(records)
    with pytest.raises(WouldBlock):
        validator(**configs).validate(records, 5, NOW, 4, AppendOrigin.CLIENT, 2, non_blocking=True)
    assert bytes(records) == before


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_small_is_done_at_once(codec: CompressionType) -> None:
    for target in ("producer", "gzip"):
        result = validator(compression_type=target).validate(batch(codec), 5, NOW, 4, non_blocking=True)
        assert result.first_offset == 5


@pytest.mark.parametrize("codec", CODECS)
def test_large_batches_are_walked_and_made_anew_in_pieces(codec: CompressionType) -> None:
    records = of_size(3_000_000, codec)
    result = validator(compression_type="zstd", max_message_bytes=1 << 22).validate(records, 5, NOW, 4)
    (found,) = result.batches
    assert isinstance(found, RecordBatch)
    assert (found.compression_type, found.record_count) == (CompressionType.ZSTD, 3000)
    assert {record.value for record in found.records()} == {bytes(984)}
    spoilt = bytearray(records)
    spoilt[57:61] = (3001).to_bytes(4, "big")
    spoilt[23:27] = (3000).to_bytes(4, "big")
    spoilt[17:21] = crc32c(bytes(spoilt[21:])).to_bytes(4, "big")
    assert error_of(spoilt, max_message_bytes=1 << 22) is Errors.INVALID_RECORD


def test_no_more_comes_out_than_a_batch_may_have() -> None:
    assert error_of(of_size(140_000_000, CompressionType.ZSTD)) is Errors.MESSAGE_TOO_LARGE
    assert (
        error_of(of_size(3_000_000, CompressionType.GZIP), compression_type="uncompressed") is Errors.MESSAGE_TOO_LARGE
    )
