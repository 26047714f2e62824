from __future__ import annotations

from pathlib import Path

from tests.pages.generators.metrics import reference

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_current() -> None:
    """If not: `python -m tests.pages.generators.metrics > docs/metrics.md`."""
    assert PAGE.read_text() == reference()
