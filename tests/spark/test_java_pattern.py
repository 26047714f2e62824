"""Java's regular expressions in Python."""

from __future__ import annotations

import pytest

from kafkapy.spark.java_pattern import python_pattern


@pytest.mark.parametrize(
    ("java", "found", "missed"),
    [
        ("ev.*s", "my-events", "even"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        (r"\Qa.b", "a.b.c", "axb"),
        (r"(?<part>a|b)-\k<part>\z", "a-a", "a-b"),
        (r"(?i)EVENTS", "events", "event"),
        (r"a++b", "aab", "aa"),
        (r"\\Q", r"\Q", "Q"),
        (r"\w+-\d{2}$", "t-12", "t-1"),
        (r"(?<!old-)events", "new-events", "old-events"),
    ],
)
def test_what_java_finds(java: str, found: str, missed: str) -> None:
    assert python_pattern(java).search(found)
    assert not python_pattern(java).search(missed)


@pytest.mark.parametrize("java", ["[a-z&&[^b]]", "[a[bc]]", r"\p{Alpha}", "(", "a(?i)b", r"\h"])
def test_what_is_refused(java: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        python_pattern(java)
