"""The columnar encoder gives the bytes of MemoryRecordsBuilder, which are those of the Java client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.record.batch_encoder import (
    NO_PRODUCER,
    BatchProducer,
    Columns,
    Headers,
    encode_columns,
    finish_batch,
    time_runs,
)
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder

fields = st.none() | st.binary(max_size=80) | st.integers(60, 66).map(bytes)
header_lists = st.none() | st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)
times = st.integers(0, 1 << 41)


Fields = Sequence[bytes | None]
HeaderLists = Sequence[Headers | None]


def built(
    values: Fields,
    keys: Fields | None,
    headers: HeaderLists | None,
    timestamps: Sequence[int],
    codec: CompressionType = CompressionType.NONE,
    state: BatchProducer = NO_PRODUCER,
) -> bytes:
    builder = MemoryRecordsBuilder(
        compression_type=codec,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        base_sequence=state.base_sequence,
        is_transactional=state.is_transactional,
    )
    for i, value in enumerate(values):
        own = [(name.encode(), content) for name, content in (headers[i] or ())] if headers else ()
        builder.append(timestamps[i], keys[i] if keys else None, value, own)
    return builder.build()


def encoded(
    values: Fields,
    keys: Fields | None,
    headers: HeaderLists | None,
    timestamps: Sequence[int],
    codec: CompressionType = CompressionType.NONE,
    state: BatchProducer = NO_PRODUCER,
) -> bytes:
    columns = Columns(values, keys, headers, time_runs(timestamps))
    return finish_batch(encode_columns(columns, codec), state)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_same_bytes_as_the_builder(data: st.DataObject) -> None:
    values = data.draw(st.lists(fields, min_size=1, max_size=150))
    count = len(values)
    keys = data.draw(st.none() | st.lists(fields, min_size=count, max_size=count))
    headers = data.draw(st.none() | st.lists(header_lists, min_size=count, max_size=count))
    steps = data.draw(st.lists(st.sampled_from([0, 0, 0, 0, 1, 100, -5]), min_size=count, max_size=count))
    now = data.draw(times) + 1000
    timestamps = []
    for step in steps:
        now += step
        timestamps.append(now)
    assert encoded(values, keys, headers, timestamps) == built(values, keys, headers, timestamps)


@settings(max_examples=20, deadline=None)
@given(st.lists(times, min_size=1, max_size=100))
def test_a_timestamp_for_each_record(timestamps: list[int]) -> None:
    values: Fields = [b"v"] * len(timestamps)
    assert encoded(values, None, None, timestamps) == built(values, None, None, timestamps)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 20000])
@pytest.mark.parametrize("keyed", [False, True])
def test_offsets_of_every_size(count: int, keyed: bool) -> None:
    values = [b"%d" % i for i in range(count)]
    keys = values if keyed else None
    timestamps = [5] * (count // 2) + [7] * (count - count // 2)
    assert encoded(values, keys, None, timestamps) == built(values, keys, None, timestamps)


@pytest.mark.parametrize("codec", list(CompressionType))
def test_codecs_and_producer_state(codec: CompressionType) -> None:
    values = [b"ab" * (i % 50) for i in range(500)]
    state = BatchProducer(4711, 3, 99, True)
    batch = encoded(values, None, None, [1_700_000_000_000] * 500, codec, state)
    assert batch == built(values, None, None, [1_700_000_000_000] * 500, codec, state)
    view = RecordBatch(batch)
    view.ensure_valid()
    assert [record.value for record in view.records()] == values


def test_large_fields() -> None:
    values = [bytes(n) for n in (8191, 8192, 70_000, 1 << 20)]
    assert encoded(values, values, None, [1] * 4) == built(values, values, None, [1] * 4)


def test_bytearrays_and_views() -> None:
    values: list[Any] = [bytearray(b"abc"), memoryview(b"def"), b"g"]
    assert encoded(values, values, None, [1] * 3) == built(
        [b"abc", b"def", b"g"], [b"abc", b"def", b"g"], None, [1] * 3
    )
