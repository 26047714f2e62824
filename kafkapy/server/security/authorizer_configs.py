"""Parses the configs of `kafka.security.authorizer.AclAuthorizer`."""

from __future__ import annotations

from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.security.principal import KafkaPrincipal, parse_principal

SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"


def parse_super_users(value: str) -> frozenset[KafkaPrincipal]:
    """Parse `super.users`: principals separated by semicolons, because names of certificates contain commas.

    Raises:
        ConfigException: One is not a principal.

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
    """Parse `allow.everyone.if.no.acl.found`: true or false, ignoring case.

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
