"""Records as columns: the kernel against the plain reader, on good bytes and on bad ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import columns, decoding
from kafkapy.record.batches import batches
from kafkapy.record.columns import MAX_OFFSET
from kafkapy.record.compression import CompressionType
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import RECORD_BATCH_OVERHEAD, RecordBatch, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder, encode_batch
from kafkapy.record.varint import encode_varint

content = st.none() | st.binary(max_size=40) | st.binary(min_size=60, max_size=140)
records = st.lists(
    st.tuples(
        st.integers(1, 300),
        st.integers(0, 2**45),
        content,
        content,
        st.lists(st.tuples(st.text(max_size=6).map(str.encode), content), max_size=3),
    ),
    min_size=1,
    max_size=30,
)


def build(rows: list[Any], **config: Any) -> bytes:
    builder = MemoryRecordsBuilder(base_offset=1000, **config)
    offset = 999
    for gap, timestamp, key, value, headers in rows:
        offset += gap
        builder.append_with_offset(offset, timestamp, key, value, headers)
    return builder.build()


def as_tuples(found: columns.RecordColumns) -> list[Any]:
    last = len(found)
    return list(
        zip(
            found.offsets.tolist(),
            found.timestamps.tolist(),
            found.keys(0, last),
            found.values(0, last),
            [[(key.encode(), value) for key, value in headers] for headers in found.headers(0, last)],
            strict=True,
        )
    )


def expected(batch: RecordBatch) -> list[Any]:
    return [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch.records()]


def around(body: bytes, count: int, base_offset: int = 5, base_timestamp: int = 2**62) -> RecordBatch:
    """A batch that says it has `count` records, around these bytes."""
    return RecordBatch(
        encode_batch(
            body,
            base_offset=base_offset,
            last_offset_delta=max(count - 1, 0),
            record_count=count,
            attributes=0,
            base_timestamp=base_timestamp,
            max_timestamp=base_timestamp,
        )
    )


def check_against_plain_reader(batch: RecordBatch) -> None:
    found = decoding.decode_batches([batch], -MAX_OFFSET - 1)
    try:
        plain = expected(batch)
    except KafkaError:
        assert found.error is not None
        assert found.error.error is Errors.INVALID_RECORD
        assert len(found) == 0
    else:
        assert found.error is None
        timestamps = [as_long(row[1]) for row in plain]
        assert found.timestamps.tolist() == timestamps
        last = len(found)
        assert found.offsets.tolist() == [row[0] for row in plain]
        assert found.keys(0, last) == [row[2] for row in plain]
        assert found.values(0, last) == [row[3] for row in plain]
        assert [[value for _, value in row] for row in found.headers(0, last)] == [
            [value for _, value in row[4]] for row in plain
        ]
    check_shortest_way(batch, found)


def check_shortest_way(batch: RecordBatch, found: columns.RecordColumns) -> None:
    """What `decode_plain` takes is what `decode_batches` has found; what that complains of is left to it."""
    data = bytes(batch.buffer)
    plain, size = decoding.decode_plain(data, -MAX_OFFSET - 1, check_crcs=False)
    if found.error is not None or batch.is_compressed:
        assert (plain, size) == (None, 0)
    else:
        assert plain is not None
        assert (as_tuples(plain), plain.next_offset, size) == (as_tuples(found), found.next_offset, len(data))
        assert [s for s in plain.segments if s.end] == [s for s in found.segments if s.end]


def as_long(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


class TestDecoding:
    @settings(max_examples=60, deadline=None)
    @given(rows=records, codec=st.sampled_from(CompressionType), append_time=st.booleans())
    def test_columns_are_what_the_plain_reader_reads(
        self, rows: list[Any], codec: CompressionType, append_time: bool
    ) -> None:
        config: dict[str, Any] = {"compression_type": codec, "partition_leader_epoch": 3}
        if append_time:
            config |= {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 77}
        batch = RecordBatch(build(rows, **config))
        found = decoding.decode_batches([batch])
        assert as_tuples(found) == expected(batch)
        assert found.error is None
        assert found.next_offset == batch.next_offset
        assert found.per_record(1) == 3
        assert found.per_record(2) == int(append_time)

    def test_many_records_of_one_size_and_of_many_sizes(self) -> None:
        equal = build([(1, 5, b"k%05d" % i, b"v" * 90, []) for i in range(9000)])
        mixed = build([(1, i * 100, None if i % 3 else b"", b"v" * (i % 200), []) for i in range(9000)])
        for data in (equal, mixed):
            batch = RecordBatch(data)
            assert as_tuples(decoding.decode_batches([batch])) == expected(batch)

    def test_records_outside_the_wanted_range_are_left_out(self) -> None:
        batch = RecordBatch(build([(1, 0, None, b"%d" % i, []) for i in range(10)]))
        found = decoding.decode_batches([batch], 1003, 1007)
        assert found.offsets.tolist() == [1003, 1004, 1005, 1006]
        assert found.values(1, 3) == [b"4", b"5"]
        assert found.next_offset == 1010

    def test_batches_of_several_epochs(self) -> None:
        rows: list[Any] = [(1, 0, None, b"x", [])] * 2
        data = build(rows, partition_leader_epoch=1) + build(rows, partition_leader_epoch=2)
        found = decoding.decode_batches([b for b in batches(data) if isinstance(b, RecordBatch)])
        assert found.per_record(1) == [1, 1, 2, 2]
        assert found.per_record(2) == 0

    def test_a_batch_that_was_emptied_by_the_cleaner(self) -> None:
        header = bytearray(build([(1, 0, None, b"x", [])])[:RECORD_BATCH_OVERHEAD])
        header[8:12] = (RECORD_BATCH_OVERHEAD - 12).to_bytes(4, "big")
        header[57:61] = bytes(4)
        found = decoding.decode_batches([RecordBatch(header)])
        assert (len(found), found.error, found.next_offset) == (0, None, 1001)


class TestDamage:
    @settings(max_examples=150, deadline=None)
    @given(rows=records, data=st.data())
    def test_agrees_with_the_plain_reader_on_damaged_bytes(self, rows: list[Any], data: Any) -> None:
        body = bytearray(build(rows)[RECORD_BATCH_OVERHEAD:])
        for _ in range(data.draw(st.integers(0, 3))):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
        body = body[: data.draw(st.integers(0, len(body)) | st.just(len(body)))]
        body += data.draw(st.just(b"") | st.binary(max_size=3))
        check_against_plain_reader(around(bytes(body), len(rows)))

    @settings(max_examples=150, deadline=None)
    @given(body=st.binary(max_size=60), count=st.integers(1, 6))
    def test_agrees_with_the_plain_reader_on_noise(self, body: bytes, count: int) -> None:
        check_against_plain_reader(around(body, count))

    @pytest.mark.parametrize(
        ("body", "sentence"),
        [
            (b"", "Found invalid record structure"),
            (b"\x80\x80\x80\x80\x80\x01", "Varint is too long"),
            (encode_varint(50) + b"\0" * 6, "the buffer has fewer bytes"),
            (encode_varint(-2) + b"\0" * 6, "expected to read -2 bytes"),
            (encode_varint(7) + b"\0\0\0\1\1\0\0", "expected to read 7 bytes"),
            (encode_varint(6) + b"\0\0\0\1\1" + encode_varint(-3), "number of record headers"),
            (encode_varint(8) + b"\0\0\0\1\1" + encode_varint(1) + b"\1\1", "Invalid negative header key size"),
            (encode_varint(6) + b"\0\0\0\1\1\0" + b"more", "records still remaining"),
        ],
    )
    def test_the_error_says_what_is_wrong_and_where(self, body: bytes, sentence: str) -> None:
        header = bytearray(build([(1, 0, None, b"x", [])])[:RECORD_BATCH_OVERHEAD])
        padded = body.ljust(7, b"\0") if body != b"" else b""
        header[8:12] = (RECORD_BATCH_OVERHEAD - 12 + len(padded)).to_bytes(4, "big")
        found = decoding.decode_batches([RecordBatch(bytes(header) + padded)])
        assert len(found) == 0
        assert found.error is not None
        assert found.error.error is Errors.INVALID_RECORD
        if body:
            assert sentence in str(found.error)
            assert "batch at offset 1000" in str(found.error)

    def test_records_before_the_damage_are_kept(self) -> None:
        good = build([(1, 0, None, b"good", [])])
        bad = bytearray(build([(1, 0, None, b"bad", [])]))
        bad[RECORD_BATCH_OVERHEAD] = 0x70
        bad[0:8] = (1001).to_bytes(8, "big")
        found = decoding.decode_batches([b for b in batches(good + bad) if isinstance(b, RecordBatch)])
        assert found.values(0, 1) == [b"good"]
        assert found.next_offset == 1001
        assert found.error is not None

    def test_a_count_that_the_bytes_cannot_hold_allocates_nothing(self) -> None:
        data = bytearray(build([(1, 0, None, b"x", [])]))
        data[57:61] = (0x7FFFFFFF).to_bytes(4, "big")
        found = decoding.decode_batches([RecordBatch(data)])
        assert found.error is not None
        assert "invalid record count 2147483647" in str(found.error)

    def test_what_decompresses_to_more_than_the_limit(self) -> None:
        data = build([(1, 0, None, b"x" * 5000, [])], compression_type=CompressionType.ZSTD)
        found = decoding.decode_batches([RecordBatch(data)], limit=1000)
        assert found.error is not None
        assert found.error.error is Errors.MESSAGE_TOO_LARGE


class TestOldFormats:
    @pytest.mark.parametrize("magic", [0, 1])
    @pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4])
    def test_messages(self, magic: int, codec: CompressionType) -> None:
        builder = MemoryRecordsBuilder(magic=magic, compression_type=codec, base_offset=10)
        builder.append(1 if magic else -1, b"k", b"v")
        builder.append(2 if magic else -1, None, b"")
        builder.append(3 if magic else -1, b"", None)
        messages = [batch for batch in batches(builder.build()) if isinstance(batch, LegacyRecordBatch)]
        found = decoding.decode_legacy_batches(messages, 11)
        assert found.offsets.tolist() == [11, 12]
        assert found.keys(0, 2) == [None, b""]
        assert found.values(0, 2) == [b"", None]
        assert found.timestamps.tolist() == ([2, 3] if magic else [-1, -1])
        assert found.per_record(2) == (0 if magic else -1)
        assert found.headers(0, 2) == [[], []]
        assert found.next_offset == 13


@pytest.mark.parametrize("size", [-1, 0, 5, 5000])
def test_pieces_of_one_size(size: int) -> None:
    values = [None if size < 0 else bytes([index]) * size for index in range(40)]
    batch = RecordBatch(build([(1, 0, b"%d" % index, value, []) for index, value in enumerate(values)]))
    assert decoding.decode_batches([batch]).values(0, 40) == values


class TestHeaders:
    @settings(max_examples=40, deadline=None)
    @given(rows=records)
    def test_header_columns(self, rows: list[Any]) -> None:
        batch = RecordBatch(build(rows))
        found = decoding.decode_batches([batch])
        rows_of_headers = [column.tolist() for column in found.header_columns(0, len(found))]
        flat = [header for row in expected(batch) for header in row[4]]
        data = bytes(found.data)
        assert [data[s : s + n] for s, n in zip(*rows_of_headers[:2], strict=True)] == [key for key, _ in flat]
        assert [data[s : s + n] if n >= 0 else None for s, n in zip(*rows_of_headers[2:], strict=True)] == [
            value for _, value in flat
        ]


def test_names_of_headers_that_come_again_and_change() -> None:
    names = [
        ["a", "header-0"],
        ["a", "header-0"],
        ["header-0", "a", "longer-than-a-word"],
        [],
        ["a", "header-1"],
        ["b"],
    ]
    rows = [(1, 0, None, b"v", [(name.encode(), b"x") for name in own]) for own in names]
    found = decoding.decode_batches([RecordBatch(build(rows))])
    headers, sizes = found.headers_and_sizes(0, len(names))
    assert [[name for name, _ in own] for own in headers] == names
    assert sizes == [sum(len(name) + 1 for name in own) if own else -1 for own in names]
