"""Values of the configs that `kafka.security.authorizer.AclAuthorizer` reads."""

from __future__ import annotations

from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.security.principal import KafkaPrincipal, parse_principal

SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"


def parse_super_users(value: str) -> frozenset[KafkaPrincipal]:
    """Read `super.users`: principals with semicolons in between, as names of certificates have commas.

    Raises:
        ConfigException: One is no principal.

    Example:
        >>> sorted(principal.name for principal in parse_super_users("User:CN=broker,O=x; User:admin"))
        ['CN=broker,O=x', 'admin']
    """
    texts = [text.strip() for text in value.split(";")] if value.strip() else []
    while texts and not texts[-1]:
        texts.pop()
    try:
        return frozenset(map(parse_principal, texts))
    except ValueError as error:
        raise ConfigException(f"Invalid value {value} for configuration {SUPER_USERS}: {error}") from error


def parse_allow_everyone(value: str) -> bool:
    """Read `allow.everyone.if.no.acl.found`: true or false, in any case.

    Raises:
        ConfigException: It is neither.
    """
    match value.strip().lower():
        case "true":
            return True
        case "" | "false":
            return False
    raise ConfigException(
        f"Invalid value {value} for configuration {ALLOW_EVERYONE}: Expected value to be either true or false"
    )
