"""Records of one or more lines."""

from __future__ import annotations

import re

import pytest

from kafkapy.connect.connectors.rotated.records_of_lines import LineJoiner, RecordParser
from kafkapy.connect.errors import ConnectException, DataException


def test_lines_have_the_positions_after_them() -> None:
    joiner = LineJoiner(10, None, False, 100)
    assert list(joiner.feed(b"a\r\nk\xc3")) == [("a", 13)]
    assert list(joiner.feed(b"\xa4se\n\nrest")) == [("käse", 19), ("", 20)]
    assert (joiner.finish(), joiner.finish(with_rest=True)) == ([], [("rest", 24)])


def test_a_pattern_begins_records() -> None:
    joiner = LineJoiner(0, re.compile(r"^\d"), False, 100)
    assert list(joiner.feed(b"1 a\n  b\n2 c\n")) == [("1 a\n  b", 8)]
    assert joiner.waits
    assert list(joiner.feed(b"3 d")) == []
    assert joiner.finish(with_rest=True) == [("2 c", 12), ("3 d", 15)]


def test_quotes_may_have_several_lines() -> None:
    joiner = LineJoiner(0, None, True, 100)
    assert list(joiner.feed(b'a,"b\nc"\nd,e\n')) == [('a,"b\nc"', 8), ("d,e", 12)]


@pytest.mark.parametrize("data", [b"x" * 11, b"x" * 6 + b"\n" + b"y" * 6])
def test_a_record_over_the_limit_is_refused(data: bytes) -> None:
    with pytest.raises(ConnectException, match="longer than"):
        list(LineJoiner(0, re.compile("^x"), False, 10).feed(data))


def test_json_and_csv_become_values() -> None:
    assert [RecordParser("json", None, ",").value(text) for text in ('{"a": [1]}', " ")] == [{"a": [1]}, None]
    parser = RecordParser("csv", ["a", "b"], ";")
    assert parser.value('1;"x;y"') == {"a": "1", "b": "x;y"}
    for wrong in ("1", '"open'):
        with pytest.raises(DataException):
            parser.value(wrong)
    with pytest.raises(DataException, match="no JSON"):
        RecordParser("json", None, ",").value("{")
