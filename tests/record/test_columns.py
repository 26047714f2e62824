"""Records as columns: both kernels against the plain reader, on good bytes and on bad ones."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import columns, columns_python
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import RECORD_BATCH_OVERHEAD, RecordBatch, TimestampType, batches
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.record.varint import encode_varint

columns_numba = pytest.importorskip("kafkapy.record.columns_numba")

KERNELS = [columns_python, columns_numba]


@pytest.fixture(params=KERNELS, ids=["python", "numba"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(columns, "_kernels", request.param)
    yield request.param


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


def run(kernels: ModuleType, data: bytes, count: int) -> tuple[int, Any]:
    array = np.frombuffer(data, np.uint8)
    rows = np.full((columns_python.ROW_COUNT, count), -7, np.int64)
    verdict = kernels.decode_records(array, 0, len(data), count, 5, 2**62, False, -(2**63), 2**63 - 1, rows, 0)
    return int(verdict), rows


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
        for module in KERNELS:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(columns, "_kernels", module)
                found = columns.decode_batches([batch])
                assert as_tuples(found) == expected(batch)
            assert found.error is None
            assert found.next_offset == batch.next_offset
            assert found.per_record(1) == 3
            assert found.per_record(2) == int(append_time)

    def test_many_records_of_one_size_and_of_many_sizes(self, kernels: ModuleType) -> None:
        equal = build([(1, 5, b"k%05d" % i, b"v" * 90, []) for i in range(9000)])
        mixed = build([(1, i * 100, None if i % 3 else b"", b"v" * (i % 200), []) for i in range(9000)])
        for data in (equal, mixed):
            batch = RecordBatch(data)
            assert as_tuples(columns.decode_batches([batch])) == expected(batch)

    def test_records_outside_the_wanted_range_are_left_out(self, kernels: ModuleType) -> None:
        batch = RecordBatch(build([(1, 0, None, b"%d" % i, []) for i in range(10)]))
        found = columns.decode_batches([batch], 1003, 1007)
        assert found.offsets.tolist() == [1003, 1004, 1005, 1006]
        assert found.values(1, 3) == [b"4", b"5"]
        assert found.next_offset == 1010

    def test_batches_of_several_epochs(self, kernels: ModuleType) -> None:
        rows = [(1, 0, None, b"x", [])] * 2
        data = build(rows, partition_leader_epoch=1) + build(rows, partition_leader_epoch=2)
        found = columns.decode_batches([b for b in batches(data) if isinstance(b, RecordBatch)])
        assert found.per_record(1).tolist() == [1, 1, 2, 2]
        assert found.per_record(2) == 0

    def test_a_batch_that_was_emptied_by_the_cleaner(self, kernels: ModuleType) -> None:
        header = bytearray(build([(1, 0, None, b"x", [])])[:RECORD_BATCH_OVERHEAD])
        header[8:12] = (RECORD_BATCH_OVERHEAD - 12).to_bytes(4, "big")
        header[57:61] = bytes(4)
        found = columns.decode_batches([RecordBatch(header)])
        assert (len(found), found.error, found.next_offset) == (0, None, 1001)


class TestDamage:
    @settings(max_examples=150, deadline=None)
    @given(rows=records, data=st.data())
    def test_both_kernels_and_the_plain_reader_agree_on_damaged_bytes(self, rows: list[Any], data: Any) -> None:
        whole = build(rows)
        body = bytearray(whole[RECORD_BATCH_OVERHEAD:])
        for _ in range(data.draw(st.integers(0, 3))):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
        body = body[: data.draw(st.integers(0, len(body)) | st.just(len(body)))]
        body += data.draw(st.just(b"") | st.binary(max_size=3))
        verdict, table = run(columns_python, bytes(body), len(rows))
        compiled, compiled_table = run(columns_numba, bytes(body), len(rows))
        assert verdict == compiled
        header = bytearray(whole[:RECORD_BATCH_OVERHEAD])
        header[8:12] = (RECORD_BATCH_OVERHEAD - 12 + len(body)).to_bytes(4, "big")
        try:
            plain = list(RecordBatch(header + body).records())
        except KafkaError:
            assert verdict < 0
        else:
            assert verdict == len(plain)
            assert (table == compiled_table).all()

    @settings(max_examples=150, deadline=None)
    @given(body=st.binary(max_size=60), count=st.integers(0, 6))
    def test_both_kernels_agree_on_noise(self, body: bytes, count: int) -> None:
        assert run(columns_python, body, count)[0] == run(columns_numba, body, count)[0]

    @pytest.mark.parametrize(
        ("body", "sentence"),
        [
            (b"", "Found invalid record structure"),
            (b"\x80\x80\x80\x80\x80\x01", "Varint is too long"),
            (encode_varint(50) + b"\0" * 6, "the buffer has fewer bytes"),
            (encode_varint(-2) + b"\0" * 6, "the buffer has fewer bytes"),
            (encode_varint(7) + b"\0\0\0\1\1\0\0", "take another number of bytes"),
            (encode_varint(6) + b"\0\0\0\1\1" + encode_varint(-3), "number of record headers"),
            (encode_varint(8) + b"\0\0\0\1\1" + encode_varint(1) + b"\1\1", "Invalid negative header key size"),
            (encode_varint(6) + b"\0\0\0\1\1\0" + b"more", "records still remaining"),
        ],
    )
    def test_the_error_says_what_is_wrong_and_where(self, kernels: ModuleType, body: bytes, sentence: str) -> None:
        header = bytearray(build([(1, 0, None, b"x", [])])[:RECORD_BATCH_OVERHEAD])
        padded = body.ljust(7, b"\0") if body != b"" else b""
        header[8:12] = (RECORD_BATCH_OVERHEAD - 12 + len(padded)).to_bytes(4, "big")
        found = columns.decode_batches([RecordBatch(bytes(header) + padded)])
        assert len(found) == 0
        assert found.error is not None
        assert found.error.error is Errors.INVALID_RECORD
        if body:
            assert sentence in str(found.error)
            assert "batch at offset 1000" in str(found.error)

    def test_records_before_the_damage_are_kept(self, kernels: ModuleType) -> None:
        good = build([(1, 0, None, b"good", [])])
        bad = bytearray(build([(1, 0, None, b"bad", [])]))
        bad[RECORD_BATCH_OVERHEAD] = 0x70
        bad[0:8] = (1001).to_bytes(8, "big")
        found = columns.decode_batches([b for b in batches(good + bad) if isinstance(b, RecordBatch)])
        assert found.values(0, 1) == [b"good"]
        assert found.next_offset == 1001
        assert found.error is not None

    def test_a_count_that_the_bytes_cannot_hold_allocates_nothing(self, kernels: ModuleType) -> None:
        data = bytearray(build([(1, 0, None, b"x", [])]))
        data[57:61] = (0x7FFFFFFF).to_bytes(4, "big")
        found = columns.decode_batches([RecordBatch(data)])
        assert found.error is not None
        assert "invalid record count 2147483647" in str(found.error)

    def test_what_decompresses_to_more_than_the_limit(self, kernels: ModuleType) -> None:
        data = build([(1, 0, None, b"x" * 5000, [])], compression_type=CompressionType.ZSTD)
        found = columns.decode_batches([RecordBatch(data)], limit=1000)
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
        found = columns.decode_legacy_batches(list(batches(builder.build())), 11)  # type: ignore[arg-type]
        assert found.offsets.tolist() == [11, 12]
        assert found.keys(0, 2) == [None, b""]
        assert found.values(0, 2) == [b"", None]
        assert found.timestamps.tolist() == ([2, 3] if magic else [-1, -1])
        assert found.per_record(2) == (0 if magic else -1)
        assert found.headers(0, 2) == [[], []]
        assert found.next_offset == 13


class TestHeadersAndGathering:
    @settings(max_examples=40, deadline=None)
    @given(rows=records)
    def test_header_columns(self, rows: list[Any]) -> None:
        batch = RecordBatch(build(rows))
        tables = []
        for module in KERNELS:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(columns, "_kernels", module)
                found = columns.decode_batches([batch])
                tables.append(found.header_columns(0, len(found)).tolist())
        assert tables[0] == tables[1]
        flat = [header for row in expected(batch) for header in row[4]]
        data = bytes(found.data)
        assert [data[s : s + n] for s, n in zip(*tables[0][:2], strict=True)] == [key for key, _ in flat]
        assert [data[s : s + n] if n >= 0 else None for s, n in zip(*tables[0][2:], strict=True)] == [
            value for _, value in flat
        ]

    @settings(max_examples=40, deadline=None)
    @given(lengths=st.lists(st.integers(-1, 30), max_size=20))
    def test_gather(self, lengths: list[int]) -> None:
        data = bytes(range(100))
        starts = np.array([(7 * i) % 60 for i in range(len(lengths))], np.int64)
        pieces = [data[s : s + n] if n >= 0 else b"" for s, n in zip(starts.tolist(), lengths, strict=True)]
        for module in KERNELS:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(columns, "_kernels", module)
                offsets, out, nulls = columns.gather(data, starts, np.array(lengths, np.int64))
            assert bytes(out) == b"".join(pieces)
            assert np.diff(offsets).tolist() == [len(piece) for piece in pieces]
            assert nulls == sum(n < 0 for n in lengths)


def test_kernels_are_loaded_once_and_stay() -> None:
    assert columns.load_kernels()
    assert columns.kernels_settled()
