"""The public face is documented: docstrings name the parameters, and classes have examples (which a test runs)."""

from __future__ import annotations

import pytest

from tests.documented import PACKAGES, count

LEFT_OUT = {"kafkapy.streams": 184, "kafkapy.streams.testing": 9}
"""Functions whose docstring may leave out a parameter."""

WITHOUT_EXAMPLE = {"kafkapy.streams": 55, "kafkapy.streams.testing": 6}
"""Classes that may lack an example."""


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_name_their_parameters(package: str) -> None:
    left_out = count(package).undocumented
    assert len(left_out) <= LEFT_OUT.get(package, 0), left_out


@pytest.mark.parametrize("package", PACKAGES)
def test_public_classes_have_an_example(package: str) -> None:
    without = count(package).without_example
    assert len(without) <= WITHOUT_EXAMPLE.get(package, 0), without
