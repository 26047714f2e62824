"""Principals as options and znodes have them."""

from __future__ import annotations

import pytest

from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal, parse_principal


@pytest.mark.parametrize("text", ["User:alice", "Group:a:b", "User:CN=x,OU=y"])
def test_a_principal_reads_as_it_is_written(text: str) -> None:
    assert str(parse_principal(text)) == text


@pytest.mark.parametrize("text", ["", "alice", ":alice", "User:"])
def test_what_is_no_principal(text: str) -> None:
    with pytest.raises(ValueError, match="principalType:principalName"):
        parse_principal(text)


def test_a_connection_without_authentication() -> None:
    assert KafkaPrincipal("User", "ANONYMOUS") == ANONYMOUS
