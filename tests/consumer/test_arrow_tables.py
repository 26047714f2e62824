"""Arrow batches from columns."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

from kafkapy.consumer.arrow import ArrowBuilder, record_schema
from kafkapy.record.batches import batches
from kafkapy.record.columns import RecordColumns
from kafkapy.record.decoding import decode_batches
from kafkapy.record.record_batch import RecordBatch, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder

ROWS: list[tuple[bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]] = [
    (b"k", b"v", []),
    (None, b"", [(b"a", b"1"), (b"\xc3\xa9", None)]),
    (b"", None, []),
    (b"kk", b"w" * 300, [(b"a", b"")]),
]


def decode(**config: Any) -> RecordColumns:
    builder = MemoryRecordsBuilder(base_offset=10, **config)
    for i, (key, value, headers) in enumerate(ROWS):
        builder.append(1000 + i, key, value, headers)
    return decode_batches([RecordBatch(builder.build())])


def test_a_batch() -> None:
    found = ArrowBuilder("t", 3).build(decode())
    found.validate(full=True)
    assert found.schema == record_schema()
    assert found["key"].to_pylist() == [key for key, _, _ in ROWS]
    assert found["value"].to_pylist() == [value for _, value, _ in ROWS]
    assert found["topic"].to_pylist() == ["t"] * 4
    assert found["partition"].to_pylist() == [3] * 4
    assert found["offset"].to_pylist() == [10, 11, 12, 13]
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [1000, 1001, 1002, 1003]
    assert found["timestampType"].to_pylist() == [0] * 4
    assert found["headers"].to_pylist() == [
        None,
        [{"key": "a", "value": b"1"}, {"key": "é", "value": None}],
        None,
        [{"key": "a", "value": b""}],
    ]


def test_a_part_of_a_batch_and_what_is_all_null() -> None:
    builder = ArrowBuilder("t", 0, include_headers=False, timestamp_unit="us")
    found = builder.build(decode(), 2, 3)
    found.validate(full=True)
    assert found.num_rows == 1
    assert found["value"].to_pylist() == [None]
    assert found["offset"].to_pylist() == [12]
    assert found["timestamp"][0].as_py() == datetime.datetime(1970, 1, 1, 0, 0, 1, 2000, datetime.UTC)
    assert "headers" not in found.schema.names


def test_timestamp_types_of_several_batches() -> None:
    first = MemoryRecordsBuilder(base_offset=0)
    first.append(1, None, b"a")
    second = MemoryRecordsBuilder(base_offset=1, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=9)
    second.append(1, None, b"b")
    columns = decode_batches([b for b in batches(first.build() + second.build()) if isinstance(b, RecordBatch)])
    found = ArrowBuilder("t", 0).build(columns)
    assert found["timestampType"].to_pylist() == [0, 1]
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [1, 9]
    assert ArrowBuilder("t", 0).build(columns, 1)["timestampType"].to_pylist() == [1]


def test_header_names_that_are_not_utf_8() -> None:
    builder = MemoryRecordsBuilder(base_offset=0)
    builder.append(1, None, b"a", [(b"\xff", b"x")])
    found = ArrowBuilder("t", 0).build(decode_batches([RecordBatch(builder.build())]))
    found.validate(full=True)
    assert found["headers"].to_pylist() == [[{"key": "\ufffd", "value": b"x"}]]


def test_the_batch_owns_its_memory() -> None:
    builder = MemoryRecordsBuilder(base_offset=0)
    builder.append(1, b"key", b"value")
    data = bytearray(builder.build())
    found = ArrowBuilder("t", 0).build(decode_batches([RecordBatch(data)]))
    data[:] = bytes(len(data))
    assert found["value"].to_pylist() == [b"value"]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_the_schema(unit: str) -> None:
    assert record_schema(False, unit).field("timestamp").type == pa.timestamp(unit, tz="UTC")
    assert record_schema(True, unit).names[-1] == "headers"
