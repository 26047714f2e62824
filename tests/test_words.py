"""Code and pages speak of programs as things."""

from __future__ import annotations

from tests.words import ROOT, WORDS_OF_PEOPLE, hits, per_thousand, prose

AT_MOST_IN_1000 = 0.3


def test_programs_are_things() -> None:
    texts = list(prose([ROOT / "kafkapy", ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]))
    found = [hit for hit in hits(texts) if WORDS_OF_PEOPLE.fullmatch(hit.word)]
    assert per_thousand(len(found), texts) <= AT_MOST_IN_1000, "\n".join(map(str, found))
