"""The public face is documented: docstrings name the parameters, and classes have examples (which a test runs)."""

from __future__ import annotations

import pytest

from tests.documented import PACKAGES, count


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_name_their_parameters(package: str) -> None:
    assert not count(package).undocumented


@pytest.mark.parametrize("package", PACKAGES)
def test_public_classes_have_an_example(package: str) -> None:
    assert not count(package).without_example
