from __future__ import annotations

from pathlib import Path

from kafkapy.tools.metrics_reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_current() -> None:
    """If not: `python -m kafkapy.tools.metrics_reference > docs/metrics.md`."""
    assert PAGE.read_text() == reference()
