"""The examples in docstrings say what is true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [
    "jaas",
    "scram",
    "import_path",
    "kerberos",
    "java_substitution",
    "sasl.scram_server",
    "sasl.plain_server",
    "sasl.oauth_messages",
    "sasl.jwks",
]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    result = doctest.testmod(import_module(f"kafkapy.security.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
