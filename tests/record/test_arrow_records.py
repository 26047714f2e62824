from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.record.arrow_records import ArrowRecords
from kafkapy.record.batch_encoder import Columns, encode_records, time_runs
from tests.record.test_batch_encoder import Fields, fields

BINARY = (pa.binary(), pa.large_binary())


def expected(values: Fields, keys: Fields | None, timestamps: list[int] | None, counts: list[int]) -> list[bytes]:
    edges = [0, *np.cumsum(counts).tolist()]
    return [
        encode_records(
            Columns(
                values[a:b],
                None if keys is None else keys[a:b],
                None,
                time_runs(timestamps[a:b] if timestamps else [0]),
            )
        )
        for a, b in pairwise(edges)
    ]


def encoded(records: ArrowRecords, counts: list[int]) -> list[bytes]:
    return list(map(bytes, records.encode(counts)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_same_bytes_as_from_objects(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 80), min_size=1, max_size=4))
    count = sum(counts)
    values = data.draw(st.lists(fields, min_size=count, max_size=count))
    keys = data.draw(st.none() | st.lists(fields, min_size=count, max_size=count))
    step = st.sampled_from([0, 0, 1, -1, 100, -5, 1 << 40])
    timestamps = data.draw(
        st.none() | st.lists(step, min_size=count, max_size=count).map(lambda s: np.cumsum(s).tolist())
    )
    records = ArrowRecords(
        pa.array([b"before", *values], data.draw(st.sampled_from(BINARY))).slice(1),
        None if keys is None else pa.array([None, *keys], data.draw(st.sampled_from(BINARY))).slice(1),
        None if timestamps is None else np.array(timestamps),
    )
    assert encoded(records, counts) == expected(values, keys, timestamps, counts)


@pytest.mark.parametrize("sizes", [[0] * 3, [63, 64, 8191, 8192, 1 << 20], [70_000], range(20_000), [5] * 20_000])
def test_sizes_and_offsets_of_every_length(sizes: list[int]) -> None:
    values: Fields = [bytes(size) for size in sizes]
    if sum(sizes) < 1 << 22:
        assert encoded(ArrowRecords(pa.array(values), pa.array(values)), [len(values)]) == expected(
            values, values, None, [len(values)]
        )
    records = ArrowRecords(pa.array(values))
    assert encoded(records, [len(values)]) == expected(values, None, None, [len(values)])
    assert records.sizes().tolist() == list(sizes)


def test_parts_and_lengths() -> None:
    records = ArrowRecords(pa.array([b"a", None, b"ccc"]), pa.array([None, b"kk", b"k"]), np.array([5, 6, 7]))
    middle = records.slice(1, 3)
    assert [list(lengths or []) for lengths in middle.lengths()] == [[-1, 3], [2, 1]]
    turned = records.take(np.array([2, 0]))
    assert encoded(turned, [2]) == expected([b"ccc", b"a"], [b"k", None], [7, 5], [2])
    data, starts, lengths = middle.key_bytes()
    assert [data[a : a + n].tobytes() for a, n in zip(starts, lengths, strict=True)] == [b"kk", b"k"]
