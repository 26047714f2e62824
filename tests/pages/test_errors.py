from __future__ import annotations

from pathlib import Path

from kafkapy.protocol.errors import Errors
from tests.pages.generators.error_advice import BY_CLIENT, BY_CODE
from tests.pages.generators.errors import client_errors, reference

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"


def test_the_page_is_current() -> None:
    """If not: `python -m tests.pages.generators.errors > docs/errors.md`."""
    assert PAGE.read_text() == reference()


def test_every_error_is_told_of() -> None:
    assert set(BY_CODE) == set(Errors) - {Errors.NONE}
    assert set(BY_CLIENT) == set(client_errors())
