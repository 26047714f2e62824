"""The map of keys to offsets."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.log.cleaning.offset_map import OffsetMap


def test_last_offset_counts() -> None:
    offsets = OffsetMap(24 * 10)
    assert offsets.slots == 10
    offsets.put(b"a", 1)
    offsets.put(b"b", 2)
    offsets.put(b"a", 3)
    assert (offsets.get(b"a"), offsets.get(b"b"), offsets.get(b"c")) == (3, 2, -1)
    assert (offsets.size, offsets.latest_offset, offsets.utilization) == (2, 3, 0.2)
    offsets.update_latest_offset(9)
    assert offsets.latest_offset == 9
    offsets.clear()
    assert (offsets.get(b"a"), offsets.size, offsets.latest_offset) == (-1, 0, -1)


def test_a_full_map_takes_known_keys_only() -> None:
    offsets = OffsetMap(24 * 3)
    for i in range(3):
        offsets.put(b"%d" % i, i)
    offsets.put(b"1", 5)
    with pytest.raises(ValueError, match="full"):
        offsets.put(b"new", 6)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 2**62)), max_size=300), st.sampled_from([None, 1, 50, 300])
)
def test_as_a_dict(puts: list[tuple[bytes, int]], expected: int | None) -> None:
    offsets = OffsetMap(24 * 300)
    offsets.clear(expected)
    plain: dict[bytes, int] = {}
    for key, offset in puts:
        offsets.put(key, offset)
        plain[key] = offset
    assert offsets.size == len(plain)
    assert all(offsets.get(key) == offset for key, offset in plain.items())
    assert offsets.get(b"never") == -1


def test_memory_stays_near_what_was_promised() -> None:
    memory = 1 << 20
    offsets = OffsetMap(memory)
    for i in range(int(offsets.slots * 0.9)):
        offsets.put(i.to_bytes(8, "big"), i)
    buckets = offsets._buckets
    used = sys.getsizeof(buckets) + sum(sys.getsizeof(bucket) for bucket in buckets if bucket is not None)
    assert used < memory * 1.1


def test_few_keys_take_little_memory() -> None:
    offsets = OffsetMap(128 << 20)
    offsets.clear(1_000_000)
    for i in range(100):
        offsets.put(b"%d" % i, i)
    buckets = offsets._buckets
    used = sys.getsizeof(buckets) + sum(sys.getsizeof(bucket) for bucket in buckets if bucket is not None)
    assert used < 256 << 10
