"""The map of keys to offsets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.log.cleaning.offset_map import OffsetMap


def test_last_offset_counts() -> None:
    offsets = OffsetMap(24 * 10)
    offsets.clear(0, 10)
    assert offsets.slots == 10
    offsets.put(b"a", 1)
    offsets.put(b"b", 2)
    offsets.put(b"a", 3)
    assert (offsets.get(b"a"), offsets.get(b"b"), offsets.get(b"c")) == (3, 2, -1)
    assert (offsets.size, offsets.latest_offset, offsets.utilization) == (2, 3, 0.2)
    offsets.update_latest_offset(9)
    assert offsets.latest_offset == 9
    offsets.clear(0, 10)
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
    st.lists(st.tuples(st.binary(max_size=2), st.integers(1, 2**40)), max_size=300), st.sampled_from([0, 1, 50, 2**60])
)
def test_as_a_dict(puts: list[tuple[bytes, int]], start: int) -> None:
    offsets = OffsetMap(24 * 300)
    offset = start
    offsets.clear(start, start + 2**50)
    plain: dict[bytes, int] = {}
    put = []
    for key, step in puts:
        offset += step if step % 3 == 0 else 1
        put.append(offset)
        offsets.put(key, offset)
        plain[key] = offset
    assert offsets.size == len(plain)
    assert all(offsets.get(key) == last for key, last in plain.items())
    assert offsets.get(b"never") == -1
    known = [offset for offset in put if offsets.knows_offset(offset)]
    assert all(offsets.is_last(offset) == (offset in plain.values()) for offset in known)
    assert all(offsets.knows_offset(offset) == (start <= offset < start + 8 * 300) for offset in put)


@pytest.mark.parametrize("size", [0, 1, 100, 2047, 2048, 100_000])
def test_keys_of_any_size(size: int) -> None:
    offsets = OffsetMap(2400)
    offsets.clear(0, 10)
    offsets.put(bytes(size), 3)
    offsets.put(b"x" + bytes(size), 4)
    assert (offsets.get(bytes(size)), offsets.get(b"x" + bytes(size)), offsets.get(b"y")) == (3, 4, -1)


def test_memory_stays_near_what_was_promised() -> None:
    memory = 1 << 20
    offsets = OffsetMap(memory)
    offsets.clear(0, 10**9)
    for i in range(int(offsets.slots * 0.9)):
        offsets.put(i.to_bytes(8, "big"), i)
    assert bytes_of(offsets) < memory * 1.1


def test_few_keys_take_little_memory() -> None:
    offsets = OffsetMap(128 << 20)
    offsets.clear(0, 1_000_000)
    for i in range(100):
        offsets.put(b"%d" % i, i)
    assert bytes_of(offsets) < 256 << 10


def bytes_of(offsets: OffsetMap) -> int:
    return sum(8 * len(table) for table in offsets._tables) + 8 * len(offsets._counts) + len(offsets._last)
