"""docs/mirrormaker_configs.md is what the definitions say."""

from __future__ import annotations

from pathlib import Path

from tests.pages.generators.mirrormaker_configs import reference

PAGE = Path(__file__).parents[2] / "docs" / "mirrormaker_configs.md"


def test_the_page_is_up_to_date() -> None:
    """If not: `python -m tests.pages.generators.mirrormaker_configs > docs/mirrormaker_configs.md`."""
    assert PAGE.read_text() == reference()
