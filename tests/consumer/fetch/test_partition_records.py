"""Which records of a response a consumer sees: isolation levels, gaps, damage, old formats."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.consumer.fetch.partition_records import AbortedTransactions, PartitionRecords, offset_after
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.record.batches import batches
from kafkapy.record.columns import MAX_OFFSET, RecordColumns
from kafkapy.record.compression import CompressionType
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from kafkapy.record.record_batch import RecordBatch, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder


def batch(base_offset: int, *values: bytes, **config: Any) -> bytes:
    builder = MemoryRecordsBuilder(base_offset=base_offset, **config)
    for value in values:
        builder.append(1, None, value)
    return builder.build()


def transactional(base_offset: int, producer_id: int, *values: bytes) -> bytes:
    return batch(
        base_offset, *values, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )


def marker(offset: int, producer_id: int, kind: ControlRecordType) -> bytes:
    return build_end_transaction_marker(
        timestamp=1,
        producer_id=producer_id,
        producer_epoch=0,
        marker=EndTransactionMarker(kind, 0),
        base_offset=offset,
        partition_leader_epoch=4,
    )


def aborted(*transactions: tuple[int, int]) -> AbortedTransactions:
    entry = FetchResponse.AbortedTransaction
    return AbortedTransactions(entry(producer_id=pid, first_offset=first) for pid, first in transactions)


def read(data: bytes, fetch_offset: int = 0, **options: Any) -> tuple[list[bytes | None], int, KafkaError | None]:
    """(values, next offset, error)"""
    source = PartitionRecords(data, fetch_offset, **options)
    values: list[bytes | None] = []
    try:
        for found in source:
            values += found.values(0, len(found))
            assert found.next_offset == source.next_offset
    except KafkaError as error:
        return values, source.next_offset, error
    return values, source.next_offset, None


ABORTED_LOG = b"".join(
    (
        transactional(0, 7, b"a", b"b"),
        transactional(2, 8, b"c"),
        marker(3, 7, ControlRecordType.ABORT),
        transactional(4, 7, b"d"),
        batch(5, b"plain"),
        marker(6, 8, ControlRecordType.COMMIT),
        marker(7, 7, ControlRecordType.COMMIT),
    )
)


def test_read_uncommitted_sees_all_but_markers() -> None:
    assert read(ABORTED_LOG) == ([b"a", b"b", b"c", b"d", b"plain"], 8, None)


def test_read_committed_leaves_out_what_was_aborted() -> None:
    assert read(ABORTED_LOG, aborted=aborted((7, 0))) == ([b"c", b"d", b"plain"], 8, None)


def test_a_producer_that_aborts_twice() -> None:
    log = b"".join(
        (
            transactional(0, 7, b"a"),
            marker(1, 7, ControlRecordType.ABORT),
            transactional(2, 7, b"b"),
            marker(3, 7, ControlRecordType.ABORT),
            transactional(4, 7, b"c"),
            marker(5, 7, ControlRecordType.COMMIT),
        )
    )
    assert read(log, aborted=aborted((7, 0), (7, 2))) == ([b"c"], 6, None)


def test_nothing_but_hidden_batches_is_progress_too() -> None:
    log = transactional(0, 7, b"a") + marker(1, 7, ControlRecordType.ABORT)
    found = list(PartitionRecords(log, 0, aborted=aborted((7, 0))))
    assert [(len(part), part.next_offset, part.segments[0].leader_epoch) for part in found] == [(0, 2, 4)]


def test_a_marker_of_a_later_epoch_advances_by_itself() -> None:
    """A position that ends with it has its epoch: with that of the records the log would seem to be truncated."""
    log = transactional(0, 7, b"a") + marker(1, 7, ControlRecordType.COMMIT)
    found = list(PartitionRecords(log, 0, aborted=aborted()))
    assert [(part.next_offset, part.segments[-1].leader_epoch) for part in found] == [(1, -1), (2, 4)]
    same = batch(
        0, b"a", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True, partition_leader_epoch=4
    )
    found = list(PartitionRecords(same + marker(1, 7, ControlRecordType.COMMIT), 0, aborted=aborted()))
    assert [(len(part), part.next_offset) for part in found] == [(1, 2)]


@pytest.mark.parametrize("codec", list(CompressionType))
def test_reading_begins_and_ends_within_batches(codec: CompressionType) -> None:
    log = batch(0, b"0", b"1", b"2", compression_type=codec) + batch(3, b"3", b"4", compression_type=codec)
    assert read(log, 1) == ([b"1", b"2", b"3", b"4"], 5, None)
    assert read(log, 1, end_offset=4)[0] == [b"1", b"2", b"3"]
    assert read(log, 1, end_offset=3)[0] == [b"1", b"2"]


def test_gaps_of_compaction() -> None:
    builder = MemoryRecordsBuilder(base_offset=0)
    builder.append_with_offset(2, 1, b"k", b"2")
    builder.append_with_offset(9, 1, b"k", b"9")
    builder.override_last_offset(14)
    log = builder.build() + batch(20, b"20")
    assert read(log) == ([b"2", b"9", b"20"], 21, None)
    assert offset_after(builder.build(), 0) == 15


def test_compressed_and_plain_batches_and_old_messages_in_one_response() -> None:
    log = (
        batch(0, b"v0", magic=0)
        + batch(1, b"v1", magic=1)
        + batch(2, b"z", compression_type=CompressionType.ZSTD)
        + batch(3, b"p")
        + batch(4, b"l", compression_type=CompressionType.LZ4)
    )
    assert read(log) == ([b"v0", b"v1", b"z", b"p", b"l"], 5, None)
    assert offset_after(log, 0) == 5


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    first, second = batch(0, b"a"), batch(1, b"b")
    for cut in (1, 20, len(second) - 1):
        assert read(first + second[:cut]) == ([b"a"], 1, None)
        assert offset_after(first + second[:cut], 0) == 1
    assert offset_after(second[:30], 1) == 1


def test_a_wrong_crc_comes_after_the_records_before_it() -> None:
    damaged = bytearray(batch(1, b"bad"))
    damaged[-2] ^= 1
    values, next_offset, error = read(batch(0, b"good") + bytes(damaged) + batch(2, b"later"))
    assert (values, next_offset) == ([b"good"], 1)
    assert error is not None
    assert error.error is Errors.CORRUPT_MESSAGE
    unchecked = read(batch(0, b"good") + bytes(damaged), check_crcs=False)
    assert unchecked[0] == [b"good", b"bae"]


def test_damaged_compressed_data() -> None:
    damaged = bytearray(batch(1, b"x" * 100, compression_type=CompressionType.GZIP))
    damaged[75] ^= 0xFF
    values, next_offset, error = read(batch(0, b"good") + bytes(damaged), check_crcs=False)
    assert (values, next_offset) == ([b"good"], 1)
    assert error is not None


def test_an_impossible_size() -> None:
    log = batch(0, b"a") + bytes(8) + (3).to_bytes(4, "big") + bytes(20)
    values, _, error = read(log)
    assert values == [b"a"]
    assert error is not None
    assert error.error is Errors.CORRUPT_MESSAGE
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        offset_after(log, 0)


def one_by_one(data: bytes, fetch_offset: int, end_offset: int) -> tuple[list[Any], KafkaError | None]:
    """The records of batches that are read each for itself by the plain reader."""
    rows: list[Any] = []
    try:
        for own in batches(data):
            if own.next_offset <= fetch_offset:
                continue
            if own.base_offset >= end_offset:
                break
            own.ensure_valid()
            assert isinstance(own, RecordBatch)
            if not own.is_control:
                rows += [
                    (r.offset, r.timestamp, r.key, r.value, own.partition_leader_epoch, int(own.timestamp_type))
                    for r in own.records()
                    if fetch_offset <= r.offset < end_offset
                ]
    except KafkaError as error:
        return rows, error
    return rows, None


def rows_of(columns: RecordColumns) -> list[Any]:
    last = len(columns)
    fields = [columns.offsets, columns.timestamps, columns.keys(0, last), columns.values(0, last)]
    each = [found if isinstance(found := columns.per_record(i), list) else [found] * last for i in (1, 2)]
    return list(zip(*fields, *each, strict=True))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_batches_of_every_kind_and_damaged_ones(draw: st.DataObject) -> None:
    log, offset = bytearray(), 0
    for _ in range(draw.draw(st.integers(1, 6))):
        if draw.draw(st.integers(0, 9)) == 0:
            log += marker(offset, 7, ControlRecordType.COMMIT)
            offset += 1
            continue
        values = draw.draw(st.lists(st.binary(max_size=20), min_size=1, max_size=4))
        config: dict[str, Any] = {
            "compression_type": draw.draw(st.sampled_from([CompressionType.NONE] * 3 + [CompressionType.LZ4])),
            "timestamp_type": draw.draw(st.sampled_from(TimestampType)),
            "partition_leader_epoch": draw.draw(st.integers(0, 1)),
        }
        if config["timestamp_type"] is TimestampType.LOG_APPEND_TIME:
            config["log_append_time"] = 77
        log += batch(offset, *values, **config)
        offset += len(values) + draw.draw(st.integers(0, 2))
    if draw.draw(st.booleans()):
        log[draw.draw(st.integers(12, len(log) - 1))] ^= 1 << draw.draw(st.integers(0, 7))
    first, last = draw.draw(st.integers(0, offset)), draw.draw(st.integers(0, offset + 1) | st.just(MAX_OFFSET))
    rows, error = one_by_one(bytes(log), first, last)
    found: list[Any] = []
    try:
        for part in PartitionRecords(bytes(log), first, end_offset=last):
            found += rows_of(part)
    except KafkaError as failure:
        assert error is not None
        # A batch whose magic byte is damaged is wrong in several ways, of which each way of reading tells one.
        of_damage = {Errors.CORRUPT_MESSAGE, Errors.INVALID_RECORD}
        assert failure.error is error.error or {failure.error, error.error} == of_damage
    else:
        assert error is None
    assert found == rows


def test_what_unfolds_to_much_comes_in_portions() -> None:
    """32 MiB are about as much as one has."""
    log = b"".join(batch(i, b"x" * (15 << 20), compression_type=CompressionType.SNAPPY) for i in range(5))
    sizes = [len(part) for part in PartitionRecords(log, 0)]
    assert sum(sizes) == 5
    assert sizes == [3, 2]
    assert read(log)[1:] == (5, None)
