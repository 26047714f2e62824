from __future__ import annotations

from pathlib import Path

from tests.pages.generators.configuration import reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_is_current() -> None:
    """If not: `python -m tests.pages.generators.configuration > docs/configuration.md`."""
    assert PAGE.read_text() == reference()
