"""Patterns of Java and ECMA-262; what they match was taken from Java 25 and from Node."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.patterns import PatternError, PatternTimeoutError, ecma, java, java_whole, python_or_java
from kafkapy.common.patterns.match_budget import MatchBudget

JAVA = [
    ("ev.*s", "my-events", "even"),
    (r"^\Qa.b\E$", "a.b", "axb"),
    (r"\Qa.b", "a.b.c", "axb"),
    (r"[\Q]-\E]", "]", "a"),
    (r"(?<part>a|b)-\k<part>\z", "a-a", "a-b"),
    (r"(?i)EVENTS", "events", "event"),
    (r"a(?i)b", "aB", "AB"),
    (r"(?i)\p{Lower}", "A", "1"),
    ("(?i)é", "é", "É"),
    ("(?iu)é", "É", "e"),
    (r"a(?x) b # c", "ab", "a b"),
    (r"a++b", "aab", "aa"),
    (r"a{1,2}+ab", "aaab", "ab"),
    (r"(?>a+)b", "aab", "aa"),
    (r"\\Q", r"\Q", "Q"),
    (r"\w+-\d{2}$", "t-12", "t-1"),
    (r"^\d$", "1\n", "٣"),
    (r"^\d\z", "1", "1\n"),
    (r"a$", "a\r\n", "a\n\n"),
    (r"(?d)a$", "a\n", "a\r"),
    (r"(?m)^b$", "a\nb\nc", "a b c"),
    (r"a\Z", "a\u2028", "ab"),
    ("a.b", "axb", "a\u0085b"),
    ("(?s)a.b", "a\nb", "ab"),
    (r"(?<!old-)events", "new-events", "old-events"),
    ("[a-z&&[^b]]", "c", "b"),
    ("[a-z&&[def]&&[^d]]", "e", "d"),
    ("^[^a-c&&[^b]]$", "b", "c"),
    ("[a[bc]]", "c", "d"),
    ("[]a]", "]", "b"),
    (r"\p{Alpha}", "a", "é"),
    (r"(?U)\p{Alpha}", "é", "1"),
    (r"\p{L}", "é", "1"),
    (r"\pL", "é", "1"),
    (r"\p{Lu}", "É", "é"),
    (r"\P{Lu}", "é", "É"),
    (r"\p{IsAlphabetic}", "é", "1"),
    (r"\p{IsLatin}", "é", "λ"),
    (r"\p{InGreek}", "λ", "é"),
    (r"\p{script=Greek}", "λ", "é"),
    (r"\p{block=Greek}", "λ", "é"),
    (r"\p{general_category=Nd}", "٣", "a"),
    (r"\p{javaLowerCase}", "é", "É"),
    (r"\p{javaWhitespace}", "\u2028", "\u00a0"),
    (r"\p{Punct}", "$", "§"),
    (r"\h", "\u00a0", "\n"),
    (r"\v", "\u2028", " "),
    (r"^\R$", "\r\n", "ab"),
    (r"^\X$", "e\u0301", "ab"),
    (r"\w", "_", "é"),
    (r"(?U)\w", "é", "-"),
    (r"\s", "\x0b", "\u00a0"),
    (r"a\b", "aé", "ab"),
    (r"\x{1F600}", "😀", "x"),
    (r"\ud83d\ude00", "😀", "x"),
    (r"\u0041\x42", "AB", "ab"),
    (r"\cA", "\x01", "A"),
    (r"\0101", "A", "0101"),
    (r"\e\a", "\x1b\x07", "ea"),
    (r"\N{LATIN SMALL LETTER A}", "a", "b"),
    (r"(a)(b)?\2", "abb", "a"),
    (r"(a)\10", "aa0", "a10"),
    ("]}", "]}", "]"),
]
ECMA = [
    (r"^\p{L}[\p{L} .'-]*$", "Zoë", "1"),
    (r"^\p{Lu}\p{Uppercase_Letter}\p{gc=Lu}$", "ÉÉÉ", "ÉÉé"),
    (r"\p{Script=Greek}", "λ", "a"),
    (r"\p{scx=Grek}", "λ", "a"),
    (r"\p{Alphabetic}", "é", "1"),
    (r"\p{Emoji_Presentation}", "😀", "a"),
    (r"^(?<year>\d{4})-\k<year>$", "2026-2026", "2026-2025"),
    (r"\k<later>(?<later>x)", "x", "y"),
    (r"(?:(a)|b)\1c", "bc", "ac"),
    (r"^\d$", "1", "٣"),
    (r"^a$", "a", "a\n"),
    (r"^a.b$", "a\u0085b", "a\u2028b"),
    (r"\s", "\ufeff", "\u0085"),
    (r"\w\b", "aé", "é"),
    (r"\v", "\x0b", "\n"),
    (r"^\/\u{1F600}\ud83d\ude00\u0041\x42$", "/😀😀AB", "😀"),
    (r"\cJ", "\n", "J"),
    ("[^]", "\n", ""),
    ("a|[]", "a", "b"),
    ("[[]", "[", "a"),
    (r"[\b]", "\b", "b"),
    (r"(?<=a+)b", "aab", "cb"),
    (r"(?<!\$)\d", "a1", "$1"),
    # what the flag u forbids
    (r"^[\w\-\.]+\-\_\@$", "a.b-_@", "a\n"),
    (r"^\w+\-$", "a-", "a-\n"),
    (r"[\w-.]", "-", "+"),
    ("^{.*}$", "{a}", "a"),
    ("a{,2}", "a{,2}", "aa"),
    ("a]", "a]", "a"),
    (r"^(?i)abc$", "ABC", "ab"),
    ("^[a-z&&[^b]]$", "c", "b"),
    (r"^\p{IsLatin}++\z", "é", "λ"),
    (r"^\Qa.b\E$", "a.b", "axb"),
    (r"\A\p{Alpha}\h\Z", "a ", "1 "),
]


@pytest.mark.parametrize(("pattern", "found", "missed"), JAVA)
def test_what_java_finds(pattern: str, found: str, missed: str) -> None:
    assert java(pattern).search(found)
    assert not java(pattern).search(missed)


@pytest.mark.parametrize(("pattern", "found", "missed"), ECMA)
def test_what_ecma_finds(pattern: str, found: str, missed: str) -> None:
    assert ecma(pattern).search(found)
    assert not ecma(pattern).search(missed)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "closing parenthesis is missing"),
        ("a)", "without an opening one"),
        ("[a", "ends too early"),
        ("*a", "nothing to repeat"),
        ("a**", "nothing to repeat"),
        ("(?i)*", "nothing to repeat"),
        ("a{", "braces are no quantifier"),
        ("a{,2}", "braces are no quantifier"),
        ("a{2,1}", "from 2 to 1"),
        ("a{99999999999}", "counts up to"),
        ("[z-a]", "a range goes from 'z' to 'a'"),
        (r"\y", r"\\y is no escape"),
        (r"\p{Nothing}", "no property 'Nothing'"),
        (r"\p{IsNothing}", "unknown property"),
        (r"\k<n>", "no group before is called 'n'"),
        ("(?<n>a)(?<n>b)", "two groups are called n"),
        ("(?P<n>a)", "is no flag"),
        (r"\x{110000}", "beyond the last character"),
        ("(?:(?:a{1000}){1000})", "more than 100,000 times"),
        ("(" * 1_000 + ")" * 1_000, "nested deeper"),
        ("a" * 100_000, "65536 at most"),
    ],
)
def test_what_java_refuses(pattern: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        java(pattern)


@pytest.mark.parametrize(
    "pattern", ["(", "a**", "[z-a]", r"\p{Nothing}", r"\p{Script=Nothing}", "(?<n>a)(?<n>b)", "a{2,1}"]
)
def test_what_no_dialect_takes(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"near character|unknown property"):
        ecma(pattern)


@given(st.text(alphabet="ab()[]{}|*+?^$\\.-&,:<>=!1kpduxQEiLI ", max_size=12))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    for dialect in (java, ecma, python_or_java):
        try:
            dialect(text)
        except PatternError as error:
            assert str(error)


@given(st.text(max_size=20))
def test_quoted_texts_match_themselves(text: str) -> None:
    if "\\E" not in text:
        assert java(rf"\Q{text}\E").fullmatch(text)


def test_whole_texts_beginnings_and_pieces() -> None:
    assert java("a|ab").fullmatch("ab")
    assert java_whole("a|ab").match("ab")
    assert not java_whole("a").match("ab")
    assert java_whole("(?x) a # all").match("a")
    assert java("a").match("ab")
    assert not java("b").match("ab")
    with pytest.raises(PatternError):
        java_whole("a)|(b")
    assert java(r"\s*(,)\s*").split("a , b,c") == ["a", "b", "c"]
    assert java("").split("abc") == ["a", "b", "c"]


def test_pythons_patterns_come_first() -> None:
    assert python_or_java("(?P<n>a)").match("a")
    assert python_or_java(r"\p{Alpha}+").match("ab")
    with pytest.raises(PatternError, match=r"none of Java"):
        python_or_java("(")


def test_a_match_ends_in_time() -> None:
    slow = java("(?:a|a)*(?:a|a)*(?:a|a)*b(?!b)")
    with pytest.raises(PatternTimeoutError, match=r"took longer than 0\.01 s"):
        slow.search("a" * 2_000 + "bb", 0.01)


def test_a_budget_is_for_all_matches() -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.4
        return now

    budget = MatchBudget(1.0, clock)
    assert [budget.search(java("a"), "a") for _ in range(3)] == [True, True, True]
    with pytest.raises(PatternTimeoutError, match="longer than 1 s"):
        budget.search(java("a"), "a")


def test_patterns_can_be_sent_to_other_processes() -> None:
    again = pickle.loads(pickle.dumps(java(r"\p{L}")))
    assert again.pattern == r"\p{L}"
    assert again.search("é")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(", "Unclosed group near index 1\n("),
        ("(?:a", "Unclosed group near index 4\n(?:a"),
        (")", "Unmatched closing ')'\n)"),
        ("a)", "Unmatched closing ')' near index 0\na)\n^"),
        ("[a", "Unclosed character class near index 1\n[a\n ^"),
        ("[a&&", "Unclosed character class near index 3\n[a&&\n   ^"),
        ("+a", "Dangling meta character '+' near index 0\n+a\n^"),
        ("a**", "Dangling meta character '*' near index 2\na**\n  ^"),
        ("\\", "Unexpected internal error near index 1\n\\"),
        ("a{", "Illegal repetition near index 2\na{"),
        ("a{x}", "Illegal repetition near index 2\na{x}\n  ^"),
        ("{a", "Illegal repetition near index 1\n{a\n ^"),
        ("a{2", "Unclosed counted closure near index 3\na{2"),
        ("a{2,1}", "Illegal repetition range near index 5\na{2,1}\n     ^"),
        ("x{99999999999}", "Illegal repetition range near index 11\nx{99999999999}\n           ^"),
        ("(?z)", "Unknown inline modifier near index 2\n(?z)\n  ^"),
        ("[z-a]", "Illegal character range near index 3\n[z-a]\n   ^"),
        (r"\p{Foo}", "Unknown character property name {Foo} near index 6\n\\p{Foo}\n      ^"),
        (r"\k<x>", "named capturing group <x> does not exist near index 4\n\\k<x>\n    ^"),
        ("(?<1a>x)", "capturing group name does not start with a Latin letter near index 3\n(?<1a>x)\n   ^"),
        ("(?<a>x)(?<a>y)", f"Named capturing group <a> is already defined near index 11\n(?<a>x)(?<a>y)\n{' ' * 11}^"),
        (r"[\y]", "Illegal/unsupported escape sequence near index 2\n[\\y]\n  ^"),
        (r"\xg", "Illegal hexadecimal escape sequence near index 2\n\\xg\n  ^"),
    ],
)
def test_javas_text_about_an_invalid_pattern(pattern: str, text: str) -> None:
    with pytest.raises(PatternError) as caught:
        java(pattern)
    assert caught.value.java_text == text
