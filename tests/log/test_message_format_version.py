"""Logs in an older message format (message.format.version): what a leader makes of records, and what it keeps of epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_validator import LogValidator
from kafkapy.log.validation_result import RecordValidationError, ValidationResult
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import DefaultRecord, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.log.log_support import NOW, PARTITION, LogDirFixture, batch, log_config

NONE, GZIP, SNAPPY, LZ4, ZSTD = CompressionType
FORMATS = {0: "0.9.0", 1: "0.10.2", 2: "0.11.0"}


def records_of(magic: int, codec: CompressionType = NONE, count: int = 3, **options: Any) -> bytearray:
    """With timestamps 1000, 1002, 1001 (none in v0)."""
    builder = MemoryRecordsBuilder(magic=magic, compression_type=codec, **options)
    for i in range(count):
        builder.append(1000 + (0, 2, 1)[i] if magic else -1, None if i % 2 else b"k", b"v%d" % i)
    return bytearray(builder.build())


def validate(records: bytes | bytearray, to_magic: int, **configs: Any) -> ValidationResult:
    config = log_config(message_format_version=FORMATS[to_magic], **configs)
    return LogValidator(PARTITION, config).validate(records, 70, NOW, 3, request_version=2)


def error_of(records: bytes | bytearray, to_magic: int, **configs: Any) -> Errors:
    before = bytes(records)
    with pytest.raises(KafkaError) as caught:
        validate(records, to_magic, **configs)
    assert bytes(records) == before
    return caught.value.error


def messages(result: ValidationResult) -> list[LegacyRecordBatch]:
    assert [bytes(b.buffer) for b in result.batches] == [bytes(b.buffer) for b in batches(bytes(result.records))]
    found = []
    for message in result.batches:
        assert isinstance(message, LegacyRecordBatch)
        message.ensure_valid()
        found.append(message)
    return found


# -- what is stored


@pytest.mark.parametrize("to_magic", [0, 1])
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4])
def test_records_are_stored_in_the_format_of_the_topic(to_magic: int, magic: int, codec: CompressionType) -> None:
    result = validate(records_of(magic, codec), to_magic)
    stored = messages(result)
    assert {(m.magic, m.compression_type) for m in stored} == {(to_magic, codec)}
    assert len(stored) == (3 if codec is NONE else 1)
    has_time = magic > 0 and to_magic > 0
    assert [record for message in stored for record in message.records()] == [
        DefaultRecord(70 + i, 1000 + (0, 2, 1)[i] if has_time else -1, None if i % 2 else b"k", b"v%d" % i)
        for i in range(3)
    ]
    assert (result.first_offset, result.last_offset, result.record_count) == (70, 72, 3)
    assert result.max_timestamp == (1002 if has_time else -1)
    if has_time:
        assert result.shallow_offset_of_max_timestamp == (71 if codec is NONE else 72)


@pytest.mark.parametrize(
    ("magic", "codec", "to_magic", "in_place"),
    [(0, NONE, 0, True), (1, NONE, 1, True), (1, GZIP, 1, True), (0, GZIP, 0, False), (0, NONE, 1, False)],
)
def test_what_has_the_format_already_is_only_numbered(
    magic: int, codec: CompressionType, to_magic: int, in_place: bool
) -> None:
    records = records_of(magic, codec)
    result = validate(records, to_magic)
    assert (result.records is records) == in_place
    assert result.records_converted == (0 if in_place else 3)


def test_a_wrapper_whose_messages_are_not_numbered_from_0_is_written_anew() -> None:
    result = validate(records_of(1, GZIP, base_offset=5), 1)
    assert result.records_converted == 3
    assert [record.offset for message in messages(result) for record in message.records()] == [70, 71, 72]


@pytest.mark.parametrize(("stored", "codec"), [("uncompressed", NONE), ("lz4", LZ4)])
@pytest.mark.parametrize("magic", [1, 2])
def test_the_topics_codec_holds(stored: str, codec: CompressionType, magic: int) -> None:
    result = validate(records_of(magic, GZIP), 1, compression_type=stored)
    assert {message.compression_type for message in messages(result)} == {codec}
    assert [r.value for m in messages(result) for r in m.records()] == [b"v0", b"v1", b"v2"]


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize(("codec", "shallow"), [(NONE, 70), (GZIP, 72)])
def test_log_append_time(magic: int, codec: CompressionType, shallow: int) -> None:
    result = validate(records_of(magic, codec), 1, message_timestamp_type="LogAppendTime")
    for message in messages(result):
        assert (message.timestamp_type, message.timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)
        assert {record.timestamp for record in message.records()} == {NOW}
    assert (result.max_timestamp, result.log_append_time) == (NOW, NOW)
    assert result.shallow_offset_of_max_timestamp == shallow


# -- what is refused


def test_producers_with_an_id_need_format_v2() -> None:
    idempotent: dict[str, Any] = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    for options in (idempotent, {**idempotent, "is_transactional": True}):
        assert error_of(records_of(2, **options), 1) is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT
        assert error_of(records_of(2, GZIP, **options), 0) is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT


def test_headers_and_zstd_need_format_v2() -> None:
    builder = MemoryRecordsBuilder()
    builder.append(1000, None, b"v", [(b"name", b"content")])
    assert error_of(builder.build(), 1) is Errors.UNKNOWN_SERVER_ERROR
    assert error_of(records_of(2, ZSTD), 1) is Errors.UNKNOWN_SERVER_ERROR
    assert error_of(records_of(2), 1, compression_type="zstd") is Errors.UNKNOWN_SERVER_ERROR


def test_records_are_checked_as_in_format_v2() -> None:
    assert error_of(records_of(2), 1, cleanup_policy=["compact"]) is Errors.INVALID_RECORD
    assert error_of(records_of(1), 1, cleanup_policy=["compact"]) is Errors.INVALID_RECORD
    with pytest.raises(RecordValidationError) as caught:
        validate(records_of(2), 1, message_timestamp_before_max_ms=10)
    assert caught.value.error is Errors.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [0, 1, 2]
    assert error_of(records_of(2), 1, max_message_bytes=30) is Errors.MESSAGE_TOO_LARGE
    assert error_of(records_of(2, base_offset=3), 1) is not Errors.NONE
    assert error_of(records_of(1) + records_of(0), 1) is Errors.INVALID_RECORD
    assert error_of(records_of(2) + records_of(2), 1) is Errors.INVALID_RECORD


def test_converted_messages_have_to_fit_one_by_one() -> None:
    result = validate(records_of(2), 1, max_message_bytes=len(records_of(2)))
    assert len(result.records) > 100 > max(message.size_in_bytes for message in messages(result))


@pytest.mark.parametrize(
    ("compression_type", "codec", "refused"),
    [("producer", ZSTD, True), ("producer", GZIP, False), ("gzip", ZSTD, False), ("zstd", NONE, True)],
)
def test_zstd_needs_a_cluster_of_2_1(compression_type: str, codec: CompressionType, refused: bool) -> None:
    config = LogConfig({"compression.type": compression_type}, zstd_supported=False)
    validator = LogValidator(PARTITION, LogConfig.from_overrides(config, {"retention.ms": "1"}))
    if refused:
        with pytest.raises(KafkaError) as caught:
            validator.validate(records_of(2, codec), 70, NOW, 3)
        assert caught.value.error is Errors.UNSUPPORTED_COMPRESSION_TYPE
    else:
        assert validator.validate(records_of(2, codec), 70, NOW, 3).record_count == 3


# -- the log


@pytest.mark.parametrize("values", [(b"a", b"b", b"c"), (b"a",)])
def test_a_log_in_an_old_format_is_read_back_after_a_restart(tmp_path: Path, values: tuple[bytes, ...]) -> None:
    log_dir = LogDirFixture(tmp_path, message_format_version="0.10.2")
    log = log_dir.open()
    info = log.append_as_leader(batch(0, values), 5)
    assert (info.first_offset, info.last_offset) == (0, len(values) - 1)
    assert log.append_as_leader(batch(0, values), 5).first_offset == len(values)
    log.close()
    log = log_dir.open()
    found = [message for segment in log.log_segments for message in segment.batches()]
    assert [message.magic for message in found] == [1] * 2 * len(values)
    assert [r.value for m in found for r in m.records()] == [*values, *values]
    assert log.log_end_offset == 2 * len(values)


def test_a_log_in_an_old_format_keeps_no_epochs(tmp_path: Path) -> None:
    log_dir = LogDirFixture(tmp_path, message_format_version="0.10.2")
    log = log_dir.open()
    log.maybe_assign_epoch_start_offset(5, 0)
    log.append_as_leader(batch(), 5)
    assert log.latest_epoch is None
    assert log.end_offset_for_epoch(5) is None
    # A leader of a newer format may send batches with epochs.
    log.append_as_follower(batch(3, epoch=6))
    log.truncate_to(5)
    log.flush()
    assert log.latest_epoch is None
    log.truncate_fully_and_start_at(9)
    log_dir.scheduler.advance(60_000)
    assert "leader-epoch-checkpoint" not in log_dir.files()
    assert not log_dir.failures


def test_the_format_is_changed_while_the_log_is_open(tmp_path: Path) -> None:
    log_dir = LogDirFixture(tmp_path)
    log = log_dir.open()
    log.append_as_leader(batch(), 5)
    assert log.latest_epoch == 5
    log.update_config(log_config(message_format_version="0.10.2", retention_ms=5))
    assert log.latest_epoch is None
    assert "leader-epoch-checkpoint" not in log_dir.files()
    log.append_as_leader(batch(), 5)
    log.update_config(log_config(retention_ms=6))
    assert log.latest_epoch is None, "what is there may have been written by another leader"
    log.append_as_leader(batch(), 5)
    assert log.epochs.entries == [(5, 6)]
    assert log_dir.read("leader-epoch-checkpoint") == b"0\n1\n5 6\n"
    assert [message.magic for message in log.active_segment.batches()] == [2, 1, 1, 1, 2]


def test_epochs_are_dropped_when_a_log_is_opened_in_an_old_format(tmp_path: Path) -> None:
    log_dir = LogDirFixture(tmp_path)
    log = log_dir.open()
    log.append_as_leader(batch(), 5)
    log.close()
    log_dir.config = log_config(message_format_version="0.10.2")
    assert log_dir.open().latest_epoch is None
    assert "leader-epoch-checkpoint" not in log_dir.files()


def test_producers_are_not_looked_for_in_an_old_format(tmp_path: Path) -> None:
    log_dir = LogDirFixture(tmp_path)
    log = log_dir.open()
    log.append_as_leader(batch(producer=(7, 0, 0)), 5)
    log.close_handlers()
    log_dir.config = log_config(message_format_version="0.10.2")
    assert log_dir.open(had_clean_shutdown=True).active_producers() == []


@pytest.mark.parametrize("timestamp", [0, -3, -4, -5])
def test_format_v0_has_no_timestamps_to_search(tmp_path: Path, timestamp: int) -> None:
    log = LogDirFixture(tmp_path, message_format_version="0.9.0").open()
    log.append_as_leader(batch(), 5)
    with pytest.raises(KafkaError) as caught:
        log.fetch_offset_by_timestamp(timestamp)
    assert caught.value.error is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT
    found = [log.fetch_offset_by_timestamp(special) for special in (-1, -2)]
    assert [f is not None and f.offset for f in found] == [3, 0]


def test_format_v1_is_searched_by_timestamp(tmp_path: Path) -> None:
    log = LogDirFixture(tmp_path, message_format_version="0.10.2").open()
    for timestamp in (NOW, NOW + 5):
        log.append_as_leader(batch(timestamp=timestamp), 5)
    found = log.fetch_offset_by_timestamp(NOW + 1)
    assert found is not None
    assert (found.offset, found.timestamp, found.leader_epoch) == (3, NOW + 5, None)
