"""Operators without state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.stateless import (
    KStreamBranch,
    KStreamFilter,
    KStreamFlatMap,
    KStreamFlatMapValues,
    KStreamMap,
    KStreamMapValues,
    KStreamPeek,
    KStreamSelectKey,
    PassThrough,
)
from kafkapy.streams.records import Record


class Forwards:
    """A context that keeps what is forwarded."""

    def __init__(self) -> None:
        self.records: list[tuple[Any, Any, str | None]] = []

    def forward(self, record: Record[Any, Any], child_name: str | None = None) -> None:
        assert (record.timestamp, record.headers) == (5, [("h", b"1")])
        self.records.append((record.key, record.value, child_name))


def results(supplier: Callable[[], Processor], *records: tuple[Any, Any]) -> list[tuple[Any, Any, str | None]]:
    processor, context = supplier(), Forwards()
    processor.init(context)  # type: ignore[arg-type]
    for key, value in records:
        processor.process(Record(key, value, 5, [("h", b"1")]))
    return context.records


def test_filter() -> None:
    def is_even(key: str, value: int) -> bool:
        return value % 2 == 0

    assert results(KStreamFilter(is_even, False), ("a", 1), ("b", 2)) == [("b", 2, None)]
    assert results(KStreamFilter(is_even, True), ("a", 1), ("b", 2)) == [("a", 1, None)]


def test_new_keys_and_values() -> None:
    assert results(KStreamMap(lambda key, value: (value, key)), ("a", 1)) == [(1, "a", None)]
    assert results(KStreamSelectKey(lambda key, value: value), ("a", 1)) == [(1, 1, None)]
    assert results(KStreamMapValues(lambda value: value + 1, False), ("a", 1)) == [("a", 2, None)]
    assert results(KStreamMapValues(lambda key, value: key * value, True), ("a", 2)) == [("a", "aa", None)]


def test_any_number() -> None:
    assert (
        results(KStreamFlatMap(lambda key, value: [(value, key)] * value), ("a", 2), ("b", 0)) == [(2, "a", None)] * 2
    )
    assert results(KStreamFlatMapValues(range, False), ("a", 2)) == [("a", 0, None), ("a", 1, None)]
    assert results(KStreamFlatMapValues(lambda key, value: [key], True), ("a", 2)) == [("a", "a", None)]


@pytest.mark.parametrize("supplier", [KStreamMap(lambda *_: None), KStreamFlatMap(lambda *_: None)])
def test_nothing_where_records_are_expected(supplier: Callable[[], Processor]) -> None:
    with pytest.raises(TypeError):
        results(supplier, ("a", 1))


def test_peek_and_foreach() -> None:
    seen: list[Any] = []
    assert results(KStreamPeek(lambda *record: seen.append(record), True), ("a", 1)) == [("a", 1, None)]
    assert results(KStreamPeek(lambda *record: seen.append(record), False), ("b", 2)) == []
    assert seen == [("a", 1), ("b", 2)]


def test_branches() -> None:
    branch = KStreamBranch()
    branch.predicates += [lambda key, value: value > 10, lambda key, value: value > 5]
    branch.children += ["large", "middle"]
    assert results(branch, ("a", 11), ("b", 6), ("c", 1)) == [("a", 11, "large"), ("b", 6, "middle")]
    branch.children.append("default")
    assert results(branch, ("c", 1)) == [("c", 1, "default")]


def test_pass_through() -> None:
    assert results(PassThrough(), ("a", 1)) == [("a", 1, None)]
