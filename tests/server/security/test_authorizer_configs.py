from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.security.authorizer_configs import parse_allow_everyone, parse_super_users


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", []),
        (" ", []),
        ("User:admin", ["admin"]),
        ("User:CN=a,O=b ; User:c:d;", ["CN=a,O=b", "c:d"]),
    ],
)
def test_super_users(value: str, names: list[str]) -> None:
    assert parse_super_users(value) == {KafkaPrincipal("User", name) for name in names}


@pytest.mark.parametrize("value", ["admin", "User:a;;User:b", "User:a,b;c"])
def test_super_users_that_are_no_principals(value: str) -> None:
    with pytest.raises(ConfigException, match=r"super\.users: expected a string in format principalType:principalName"):
        parse_super_users(value)


@pytest.mark.parametrize(("value", "expected"), [("true", True), (" TRUE ", True), ("false", False), ("", False)])
def test_allow_everyone(value: str, expected: bool) -> None:
    assert parse_allow_everyone(value) is expected


def test_allow_everyone_is_true_or_false() -> None:
    with pytest.raises(ConfigException, match=r"allow\.everyone\.if\.no\.acl\.found"):
        parse_allow_everyone("yes")
