"""Principals (Kafka's `KafkaPrincipal`)."""

from __future__ import annotations

from typing import Final, NamedTuple

USER_TYPE: Final = "User"


class KafkaPrincipal(NamedTuple):
    """The authenticated identity of a connection.

    Attributes:
        principal_type: "User" for all that Kafka authenticates itself.
        name: Name of the principal.

    Example:
        >>> str(KafkaPrincipal("User", "alice"))
        'User:alice'
    """

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"

    @property
    def token_authenticated(self) -> bool:
        """Whether the connection has authenticated with a delegation token, and so may not request tokens (KIP-48)."""
        return False


class TokenPrincipal(KafkaPrincipal):
    """The principal of a connection that has authenticated with a delegation token: equal to one without, as in Kafka.

    Example:
        >>> TokenPrincipal("User", "alice") == KafkaPrincipal("User", "alice")
        True
    """

    __slots__ = ()

    @property
    def token_authenticated(self) -> bool:
        return True


ANONYMOUS: Final = KafkaPrincipal(USER_TYPE, "ANONYMOUS")
"""The principal of a connection without authentication."""


def parse_principal(text: str) -> KafkaPrincipal:
    """Parse `Type:name`, as in options and znodes.

    Raises:
        ValueError: There is no colon, or nothing before or after it.

    Example:
        >>> parse_principal("User:CN=broker,O=x:y").name
        'CN=broker,O=x:y'
    """
    principal_type, colon, name = text.partition(":")
    if not (colon and principal_type and name):
        raise ValueError(f"expected a string in format principalType:principalName but got {text!r}")
    return KafkaPrincipal(principal_type, name)
