from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.strict_json import JsonDepthError, JsonError, JsonSurrogateError, dumps, load_first, loads

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_reads_what_json_writes(value: object) -> None:
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ('{"a": 1e400}', "1e400 is beyond the range of a number"),
        (r'"\ud83d"', "half a surrogate pair"),
        (r'{"\uDE00": 1}', "half a surrogate pair"),
        (b'"\xff"', "not utf-8"),
        ("{'a': 1}", "double quotes"),
        ("", "Expecting value"),
        ("[" * 200_000, "nested too deeply"),
        ("1" * 5000, "integer string conversion"),
    ],
)
def test_refuses_what_is_no_json(text: str | bytes, reason: str) -> None:
    with pytest.raises(JsonError, match=reason):
        loads(text)


def test_whole_surrogate_pairs_and_byte_order_marks_are_json() -> None:
    assert loads(r'"\ud83d\ude00"') == "\U0001f600"
    assert loads(b'\xef\xbb\xbf"a"') == "a"
    assert loads('"ä"'.encode("utf-16")) == "ä"


def test_numbers_can_be_kept_exactly() -> None:
    assert loads("[0.10, 1e400]", parse_float=Decimal) == [Decimal("0.10"), Decimal("1e400")]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_writes_no_text_for_what_json_has_none(value: object) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps(value)


def test_reads_values_one_after_the_other() -> None:
    text = r'{"a": 1} "\ud83d\ude00"[NaN]'
    assert load_first(text) == ({"a": 1}, 8)
    assert load_first(text, 9) == ("\U0001f600", 23)
    for start, reason in ((8, "Expecting value"), (23, "NaN is not a JSON number"), (len(text), "Expecting value")):
        with pytest.raises(JsonError, match=reason):
            load_first(text, start)
    with pytest.raises(JsonError, match="half a surrogate pair"):
        load_first(r'1 "\ud83d"', 2)
    assert load_first(r'1 "\ud83d"') == (1, 1), "what follows is not looked at"


def test_a_text_holds_no_half_pair() -> None:
    with pytest.raises(JsonSurrogateError):
        loads('"\ud83d"')
    with pytest.raises(JsonDepthError):
        loads("[" * 200_000)


def test_comments_are_taken_where_they_are_asked_for() -> None:
    text = '/* a */ {"a": // one\n "/* no */", "b//": 1}'
    assert loads(text, comments=True) == {"a": "/* no */", "b//": 1}
    with pytest.raises(JsonError, match="Expecting value"):
        loads(text)
