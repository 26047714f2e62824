from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.pages.generators.tools import FAMILIES, commands, reference

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"


def test_every_command_has_a_family() -> None:
    assert sorted(name for members in FAMILIES.values() for name, _ in members) == sorted(commands())


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="argparse writes help differently in each version of Python"
)
def test_the_page_is_current() -> None:
    """If not: `python -m tests.pages.generators.tools > docs/tools.md`."""
    assert PAGE.read_text() == reference()
