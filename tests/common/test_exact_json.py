"""JSON with exact numbers."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common import exact_json
from kafkapy.common.deep_calls import run_deep
from kafkapy.common.exact_json import ExactNumber, identity_of, is_multiple
from kafkapy.common.strict_json import JsonError

NUMBERS = [
    "0.10",
    "1e400",
    "1.0",
    "-0.0",
    "1E+2",
    "9999999999999999.99",
    "123456789012345678901234567890",
    "1e-999999999",
]


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_stay_as_they_are_written(text: str) -> None:
    assert exact_json.dumps(exact_json.loads(f'{{"a": [{text}]}}')) == f'{{"a":[{text}]}}'


@pytest.mark.parametrize(
    ("one", "other"), [("0.1", "0.10"), ("1e2", "100.0"), ("0.0", "-0.0"), ('{"a":1,"b":2}', '{"b":2,"a":1}')]
)
def test_what_is_equal(one: str, other: str) -> None:
    assert identity_of(exact_json.loads(one)) == identity_of(exact_json.loads(other))


@pytest.mark.parametrize(
    ("one", "other"), [("1", "1.0"), ("1", "true"), ("0.1", "0.10000000000000001"), ("1e400", "1e401"), ("1", '"1"')]
)
def test_what_differs(one: str, other: str) -> None:
    assert identity_of(exact_json.loads(one)) != identity_of(exact_json.loads(other))


@pytest.mark.parametrize(
    "text", ["NaN", "-Infinity", "1e99999999999999999999", '"\\ud83d"', "[" * 1_001 + "]" * 1_001, "/* */ 1"]
)
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(JsonError):
        run_deep(lambda: exact_json.loads(text))


def test_comments() -> None:
    text = '/* licence " */ {"url": "http://x/*y*/", // the "url"\r\n "a": 1 /**/}'
    assert exact_json.loads(text, comments=True) == {"url": "http://x/*y*/", "a": 1}
    with pytest.raises(JsonError, match="line 2 column 1"):
        exact_json.loads("/* a */ // b\n}", comments=True)
    with pytest.raises(JsonError):
        exact_json.loads("1 /* never ends", comments=True)


def test_what_is_stored_is_read_leniently() -> None:
    assert exact_json.loads_leniently('{"maximum": Infinity, "a": [NaN, "\\ud83d"]}') == {
        "maximum": "Infinity",
        "a": ["NaN", "\ud83d"],
    }


def test_depth_is_no_matter_of_the_callers_stack() -> None:
    text = "[" * 1_000 + "]" * 1_000
    assert run_deep(lambda: exact_json.dumps(exact_json.loads(text))) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_it_reads_and_writes_as_json_does(value: object) -> None:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert exact_json.dumps(exact_json.loads(text)) == text


@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
def test_multiples(one: Decimal, other: Decimal) -> None:
    if other and abs(one.adjusted()) < 400 and abs(other.adjusted()) < 400:
        from fractions import Fraction

        assert is_multiple(one, other) == ((Fraction(one) / Fraction(other)).denominator == 1)


def test_multiples_of_numbers_without_end() -> None:
    assert is_multiple(ExactNumber("1e999999999"), ExactNumber("2e-999999999"))
    assert not is_multiple(ExactNumber("1e-999999999"), 7)
    assert not is_multiple(1, 0)
