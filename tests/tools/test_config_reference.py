from __future__ import annotations

from pathlib import Path

from kafkapy.tools.config_reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_is_current() -> None:
    """If not: `python -m kafkapy.tools.config_reference > docs/configuration.md`."""
    assert PAGE.read_text() == reference()
