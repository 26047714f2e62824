"""Keys in order beside a plain dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.state import sorted_bytes
from kafkapy.streams.state.sorted_bytes import SortedBytes

_KEYS = st.binary(max_size=2)
_STEPS = st.lists(
    st.one_of(st.tuples(st.just("put"), _KEYS), st.tuples(st.just("pop"), _KEYS), st.tuples(st.just("keys"), _KEYS)),
    max_size=60,
)


@given(_STEPS, _KEYS, _KEYS, st.booleans())
def test_is_a_sorted_dict(steps: list[tuple[str, bytes]], first: bytes, last: bytes, include_to: bool) -> None:
    values: SortedBytes[int] = SortedBytes()
    model: dict[bytes, int] = {}
    for number, (what, key) in enumerate(steps):
        if what == "put":
            values.put(key, number)
            model[key] = number
        elif what == "pop":
            assert values.pop(key) == model.pop(key, None)
        else:
            assert values.keys() == sorted(model)
    wanted = sorted(key for key in model if first <= key and (key <= last if include_to else key < last))
    assert values.keys(first, last, include_to=include_to) == wanted
    assert values.keys(first, last, False, include_to) == wanted[::-1]
    assert values.first() == min(model, default=None)


def test_large_ones_are_kept_in_blocks() -> None:
    values: SortedBytes[int] = SortedBytes()
    total = 5 * sorted_bytes._BLOCK
    for number in range(0, total, 2):
        values.put(number.to_bytes(4, "big"), number)
    assert len(values.keys()) == total // 2
    for number in range(1, total, 97):
        values.put(number.to_bytes(4, "big"), number)
        values.pop((number + 1).to_bytes(4, "big"))
        values.keys(b"", b"\1")
    every = values.keys()
    assert every == sorted(every)
    model = [int.from_bytes(key, "big") for key in every]
    assert [values.get(number.to_bytes(4, "big")) for number in model] == model
    low, high = (100).to_bytes(4, "big"), (4000).to_bytes(4, "big")
    assert values.keys(low, high) == [key for key in every if low <= key <= high]


@given(st.dictionaries(_KEYS, st.integers()), _STEPS)
def test_iterators_are_of_when_they_were_made(before: dict[bytes, int], steps: list[tuple[str, bytes]]) -> None:
    values: SortedBytes[int] = SortedBytes()
    for key, value in before.items():
        values.put(key, value)
    entries = values.items()
    started = [next(entries)] if before else []
    for what, key in steps:
        if what == "put":
            values.put(key, -1)
        else:
            values.pop(key)
    assert started + list(entries) == sorted(before.items())
