from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from kafkapy.common.prometheus_text import head, label, sample
from tests.exposition_grammar import check

TEXT = st.text(st.characters(codec="utf-8"))


def test_quotes_are_escaped_in_labels_and_nowhere_else() -> None:
    assert head("m", "gauge", 'A "b" \\ c\nd') == '# HELP m A "b" \\\\ c\\nd\n# TYPE m gauge\n'
    assert label("name", 'A "b" \\ c\nd') == 'name="A \\"b\\" \\\\ c\\nd"'


@given(TEXT, TEXT, st.floats())
def test_whatever_texts_hold_the_page_is_right(doc: str, value: str, number: float) -> None:
    page = head("m", "gauge", doc) + sample("m", [label("a", value)], number) + sample("m", [], number)
    check(page)


@given(TEXT)
def test_labels_are_read_as_they_were(value: str) -> None:
    (family,) = text_string_to_metric_families(head("m", "gauge", "") + sample("m", [label("a", value)], 1))
    assert family.samples[0].labels == {"a": value}


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1"), (0.5, "0.5"), (True, "1"), (False, "0"), (math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf")],
)
def test_numbers(number: float, text: str) -> None:
    assert sample("m", [], number) == f"m {text}\n"
