"""The form of pages: lines of prose that fit a screen, a README of bounded length, decisions that all have the same parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages.references import ROOT, pages
from tests.pages.wrap import wrapped
from tests.words import LONGEST_LINE

DECISIONS = sorted(path for path in (ROOT / "docs" / "decisions").glob("*.md") if path.stem != "index")


def long_lines(text: str) -> list[int]:
    """The numbers of lines that are too long, but for tables, programs and links of their own."""
    found, is_code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and not line.startswith(("|", "    ")) and len(line) > LONGEST_LINE:
            found.append(number)
    return found


def test_lines_of_prose_fit_a_screen() -> None:
    """If not: `python -m tests.pages.wrap PAGE`."""
    found = {path.name: lines for path in pages() if (lines := long_lines(path.read_text()))}
    assert not found


def test_what_a_long_line_is() -> None:
    long = "word " * 30
    assert long_lines(f"{long}\n| {long} |\n```\n{long}\n```\n- {long}\n") == [1, 6]


def test_pages_are_wrapped() -> None:
    long, program = "word " * 30, f"```sh\n{'x ' * 80}\n\n```\n"
    page = f"# {long}\n\n{long}\nend\n\n1. {long}\n{program}2. short\n- {long}\n\n| {long} |\n"
    new = wrapped(page)
    assert long_lines(new) == [1]
    assert new.split() == page.split()
    assert program in new and "\n   word" in new and "\n  word" in new
    assert wrapped(new) == new


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 200


@pytest.mark.parametrize("page", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_all_parts(page: Path) -> None:
    text = page.read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Costs", "Tests"]
    assert len(text.splitlines()) <= 40


def test_the_list_of_decisions_has_each_with_its_sentence() -> None:
    rows = (ROOT / "docs" / "decisions" / "index.md").read_text()
    for page in DECISIONS:
        title, sentence = page.read_text().split("\n\n")[:2]
        assert f"| [{title.removeprefix('# ')}]({page.name}) | {' '.join(sentence.split())} |" in rows
