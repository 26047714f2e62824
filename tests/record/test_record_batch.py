"""Batches of format v2: bytes written by Apache Kafka 3.9.1 and the Java client, read and built."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType
from kafkapy.record.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
    end_transaction_marker,
)
from kafkapy.record.record_batch import (
    DefaultRecord,
    RecordBatch,
    TimestampType,
    decrement_sequence,
    increment_sequence,
)
from kafkapy.record.records_builder import MemoryRecordsBuilder

# k0/value-0 with header h=hv, null key, k2; CreateTime 1700000000000 to ...002.
GOLDEN = {
    CompressionType.NONE: (
        "000000000000000000000064000000000200e8bd1c0000000000020000018bcfe568000000018bcfe56802ffffffffffffff"
        "ffffffffffffff0000000328000000046b300e76616c75652d300202680468761a000202010e76616c75652d31001e000404"
        "046b320e76616c75652d3200"
    ),
    CompressionType.GZIP: (
        "00000000000000000000006d0000000002bb3e58c60001000000020000018bcfe568000000018bcfe56802ffffffffffffff"
        "ffffffffffffff000000031f8b08000000000000ffd360606060c936e02b4bcc294dd5356062ca60c9289362606262840a19"
        "32c831b0b0b0641b41f9460c00ccd73f3333000000"
    ),
    CompressionType.SNAPPY: (
        "0000000000000000000000760000000002d46846de0002000000020000018bcfe568000000018bcfe56802ffffffffffffff"
        "ffffffffffffff0000000382534e4150505900000000010000000100000031336428000000046b300e76616c75652d300202"
        "680468761a000202010d134431001e000404046b320e76616c75652d3200"
    ),
    CompressionType.LZ4: (
        "00000000000000000000007200000000029f6741310003000000020000018bcfe568000000018bcfe56802ffffffffffffff"
        "ffffffffffffff0000000304224d1860408232000000f30b28000000046b300e76616c75652d300202680468761a00020201"
        "1300f00331001e000404046b320e76616c75652d320000000000"
    ),
    CompressionType.ZSTD: (
        "00000000000000000000006c0000000002b7384d570004000000020000018bcfe568000000018bcfe56802ffffffffffffff"
        "ffffffffffffff0000000328b52ffd00587c0100540228000000046b300e76616c75652d300202680468761a000202013100"
        "1e000404046b323200020033f3d1b23906010000"
    ),
}
RECORDS = [
    DefaultRecord(0, 1700000000000, b"k0", b"value-0", ((b"h", b"hv"),)),
    DefaultRecord(1, 1700000000001, None, b"value-1"),
    DefaultRecord(2, 1700000000002, b"k2", b"value-2"),
]


@pytest.mark.parametrize("codec", GOLDEN)
def test_golden_batches_are_read(codec: CompressionType) -> None:
    batch = RecordBatch(bytes.fromhex(GOLDEN[codec]))
    batch.ensure_valid()
    assert batch.compression_type is codec
    assert list(batch.records()) == RECORDS
    assert (batch.base_offset, batch.last_offset, batch.next_offset, batch.record_count) == (0, 2, 3, 3)
    assert (batch.base_timestamp, batch.max_timestamp) == (1700000000000, 1700000000002)
    assert (batch.producer_id, batch.producer_epoch, batch.last_sequence) == (-1, -1, -1)
    assert not batch.has_producer_id


@pytest.mark.parametrize("codec", GOLDEN)
def test_golden_batches_are_built(codec: CompressionType) -> None:
    builder = MemoryRecordsBuilder(compression_type=codec, partition_leader_epoch=0)
    for record in RECORDS:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    assert builder.build().hex() == GOLDEN[codec]
    assert (builder.max_timestamp, builder.offset_of_max_timestamp) == (1700000000002, 2)


def test_log_append_time_is_set_in_place() -> None:
    data = bytearray.fromhex(GOLDEN[CompressionType.NONE])
    RecordBatch(data).set_max_timestamp(TimestampType.LOG_APPEND_TIME, 0x1A1FC2AE254)
    header = (
        "00000000000000000000006400000000023c6af3950008000000020000018bcfe56800000001a1fc2ae254ffffffffffffff"
        "ffffffffffffff00000003"
    )
    assert data[:61].hex() == header
    batch = RecordBatch(data)
    batch.ensure_valid()
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [r.timestamp for r in batch.records()] == [0x1A1FC2AE254] * 3


def test_offset_and_epoch_are_set_in_place_outside_the_crc() -> None:
    data = bytearray(b"before") + bytearray.fromhex(GOLDEN[CompressionType.LZ4]) + b"after"
    batch = RecordBatch(data, 6)
    batch.set_offset_and_epoch(1 << 40, 7)
    again = RecordBatch(data, 6)
    again.ensure_valid()
    assert (
        (again.base_offset, again.partition_leader_epoch)
        == (1 << 40, 7)
        == (batch.base_offset, batch.partition_leader_epoch)
    )
    assert [r.offset for r in again.records()] == [(1 << 40) + i for i in range(3)]
    assert bytes(again.buffer) == data[6:-5]


def test_transaction_markers() -> None:
    data = bytes.fromhex(
        "0000000000000001000000420000000002a65a30e3003000000000000001a1fc2ae58f000001a1fc2ae58f00000000000003"
        "ec0000ffffffff000000012000000008000000010c00000000000600"
    )
    marker = EndTransactionMarker(ControlRecordType.COMMIT, 6)
    batch = RecordBatch(data)
    batch.ensure_valid()
    assert batch.is_control
    assert batch.is_transactional
    assert end_transaction_marker(batch) == marker
    assert data == build_end_transaction_marker(
        timestamp=0x1A1FC2AE58F,
        producer_id=1004,
        producer_epoch=0,
        marker=marker,
        base_offset=1,
        partition_leader_epoch=0,
    )


def test_unknown_control_record_is_no_marker() -> None:
    builder = MemoryRecordsBuilder(is_control=True)
    builder.append(0, b"\0\0\0\2", b"leader change")
    assert end_transaction_marker(RecordBatch(builder.build())) is None


def test_batches_of_a_buffer_stop_at_a_cut_tail() -> None:
    one = bytes.fromhex(GOLDEN[CompressionType.NONE])
    two = bytes.fromhex(GOLDEN[CompressionType.GZIP])
    for cut in (0, 1, 12, 17, 60, len(one) - 1):
        assert [b.position for b in batches(one + two + one[:cut])] == [0, len(one)]
    assert [b.position for b in batches(b"xx" + one + two, 2, 2 + len(one))] == [2]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({8: b"\0\0\0\x0d"}, Errors.CORRUPT_MESSAGE),
        ({8: b"\xff\xff\xff\xff"}, Errors.CORRUPT_MESSAGE),
        ({8: b"\0\0\0\x20"}, Errors.CORRUPT_MESSAGE),
        ({16: b"\3"}, Errors.CORRUPT_MESSAGE),
        ({16: b"\xff"}, Errors.CORRUPT_MESSAGE),
        ({8: b"\x7f\xff\xff\xff"}, Errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_impossible_beginnings_of_a_batch(change: dict[int, bytes], error: Errors) -> None:
    data = bytearray.fromhex(GOLDEN[CompressionType.NONE])
    for at, value in change.items():
        data[at : at + len(value)] = value
    with pytest.raises(KafkaError) as caught:
        list(batches(data))
    assert caught.value.error is error


def test_wrong_crc() -> None:
    data = bytearray.fromhex(GOLDEN[CompressionType.NONE])
    data[-1] ^= 1
    assert not RecordBatch(data).is_valid()
    with pytest.raises(KafkaError) as caught:
        RecordBatch(data).ensure_valid()
    assert caught.value.error is Errors.CORRUPT_MESSAGE


def test_sequences_wrap() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(2**31 - 3, 5) == 2
    assert decrement_sequence(0, 1) == 2**31 - 1
    builder = MemoryRecordsBuilder(producer_id=5, producer_epoch=0, base_sequence=2**31 - 2)
    for _ in range(4):
        builder.append(0, None, b"")
    batch = RecordBatch(builder.build())
    assert batch.last_sequence == 1
    assert [r.sequence for r in batch.records()] == [2**31 - 2, 2**31 - 1, 0, 1]


def test_cleaned_batch_keeps_its_range_and_has_a_delete_horizon() -> None:
    builder = MemoryRecordsBuilder(base_offset=10, delete_horizon_ms=5000)
    builder.append_with_offset(12, 7000, b"k", None)
    builder.override_last_offset(19)
    batch = RecordBatch(builder.build())
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (10, 19, 1)
    assert batch.delete_horizon_ms == 5000
    assert list(batch.records()) == [DefaultRecord(12, 7000, b"k", None)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"is_transactional": True},
        {"producer_id": 1, "base_sequence": 0},
        {"producer_id": 1, "producer_epoch": 0},
    ],
)
def test_builder_refuses_unfit_producer_fields(wrong: dict[str, Any]) -> None:
    builder = MemoryRecordsBuilder(**wrong)
    builder.append(0, None, None)
    with pytest.raises(ValueError, match=r"producer|sequence"):
        builder.build()


def test_builder_refuses_offsets_out_of_order_and_negative_timestamps() -> None:
    builder = MemoryRecordsBuilder(base_offset=5)
    builder.append_with_offset(7, 1, None, None)
    with pytest.raises(ValueError, match="Illegal offset"):
        builder.append_with_offset(7, 1, None, None)
    with pytest.raises(ValueError, match="timestamp"):
        builder.append(-2, None, None)
    assert MemoryRecordsBuilder().build() == b""


@pytest.mark.parametrize("delta", [0, 500])
@pytest.mark.parametrize("kind", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_markers_are_what_they_were_made_of(kind: ControlRecordType, delta: int) -> None:
    """`delta`: of a cleaned one the base timestamp is that of its horizon, and its record another."""
    marker = EndTransactionMarker(kind, 0x01020304)
    data = build_end_transaction_marker(timestamp=1500, producer_id=7, producer_epoch=3, marker=marker)
    builder = MemoryRecordsBuilder(
        producer_id=7,
        producer_epoch=3,
        is_transactional=True,
        is_control=True,
        delete_horizon_ms=1500 - delta if delta else -1,
    )
    builder.append(1500, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, marker.coordinator_epoch))
    if delta:
        data = builder.build()
    assert data == builder.build()
    (batch,) = batches(memoryview(data))
    assert isinstance(batch, RecordBatch)
    assert end_transaction_marker(batch) == marker


def test_other_control_records_are_no_markers() -> None:
    builder = MemoryRecordsBuilder(producer_id=7, producer_epoch=3, is_transactional=True, is_control=True)
    builder.append(1500, struct.pack(">hh", 0, 2), struct.pack(">hi", 0, 1))
    (batch,) = batches(memoryview(builder.build()))
    assert isinstance(batch, RecordBatch)
    assert end_transaction_marker(batch) is None
    with pytest.raises(ValueError, match="producer"):
        build_end_transaction_marker(
            timestamp=1, producer_id=7, producer_epoch=-1, marker=EndTransactionMarker(ControlRecordType.ABORT, 0)
        )
