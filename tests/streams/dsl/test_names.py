"""Generated names, and names that applications give."""

from __future__ import annotations

import pytest

from kafkapy.streams.dsl.names import NameCounter, OperatorName, is_generated
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.options.named import Named


def test_nodes_and_stores_are_numbered_together() -> None:
    names = NameCounter()
    assert names.processor_name("KSTREAM-MAP-") == "KSTREAM-MAP-0000000000"
    assert names.store_name("KSTREAM-AGGREGATE-") == "KSTREAM-AGGREGATE-STATE-STORE-0000000001"
    assert names.processor_name("KSTREAM-MAP-") == "KSTREAM-MAP-0000000002"


def test_a_given_name_takes_a_number() -> None:
    names = NameCounter()
    given, generated = OperatorName.of(Named("words")), OperatorName.of(None)
    assert given.or_generated(names, "KSTREAM-MAP-") == "words"
    assert given.with_suffix("-source", names, "KSTREAM-SOURCE-") == "words-source"
    assert given.with_suffix_or("-left", "other") == "words-left"
    assert generated.with_suffix_or("-left", "other") == "other"
    assert generated.or_generated(names, "KSTREAM-MAP-") == "KSTREAM-MAP-0000000002"


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "a/b", "a\n", "x" * 250])
def test_illegal_names(name: str) -> None:
    with pytest.raises(TopologyException):
        Named.as_(name)
    with pytest.raises(TopologyException):
        OperatorName(name)


def test_too_long_with_a_suffix() -> None:
    with pytest.raises(TopologyException, match="longer than 249"):
        OperatorName("x" * 249).with_suffix("-source", NameCounter(), "KSTREAM-SOURCE-")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("KSTREAM-AGGREGATE-STATE-STORE-0000000001", True),
        ("KSTREAM-KEY-SELECT-0000000012", True),
        ("KSTREAM-KEY-SELECT-0000000012-repartition", False),
        ("KTABLE-SOURCE-0000000012", False),
        ("counts", False),
    ],
)
def test_which_names_look_generated(name: str, expected: bool) -> None:
    assert is_generated(name) is expected
