"""Bearer tokens: the content of valid ones, errors of invalid ones, and their compact form (RFC 7515)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from kafkapy.common import strict_json

MAX_TOKEN_CHARACTERS: Final = 128 * 1024
"""Limit of a token, which is decoded before its signature can be checked."""

_MAX_INT64 = 2**63 - 1
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*={0,2}")


class OAuthBearerToken(NamedTuple):
    """A valid token (Kafka's interface of that name), without its encoded form."""

    principal_name: str
    scope: frozenset[str]
    lifetime_ms: int
    """The time of expiry, ms since the epoch."""
    start_time_ms: int | None
    claims: Mapping[str, Any]


class OAuthTokenError(Exception):
    """A token is refused. The message is for the log and contains no part of the token's signature.

    Args:
        reason: For the log.
        status: For the client (RFC 7628): `invalid_token` or `insufficient_scope`.
        scope: The required scope, for the client.
        openid_configuration: The URL of the identity provider's configuration, for the client.
    """

    def __init__(
        self,
        reason: str,
        status: str = "invalid_token",
        scope: str | None = None,
        openid_configuration: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope
        self.openid_configuration = openid_configuration


class TokenValidator(Protocol):
    """Validates tokens. `sasl.server.callback.handler.class` may name a user's own class.

    It may also have `validate_extensions(token: OAuthBearerToken, extensions: Mapping[str, str]) -> Mapping[str, str]`,
    which returns extension -> why it is refused (KIP-342); without it, all extensions are accepted.
    """

    def validate(self, token: str) -> OAuthBearerToken:
        """Return the validated token. Called on the reactor thread; must not block.

        Args:
            token: The token in its compact form.

        Raises:
            OAuthTokenError: The token is refused.
        """
        ...


def base64url(text: str) -> bytes:
    """Decode base64url. Raises OAuthTokenError."""
    if not _BASE64URL.fullmatch(text):
        raise OAuthTokenError("malformed Base64 URL encoded value")
    bare = text.rstrip("=")
    try:
        return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        raise OAuthTokenError("malformed Base64 URL encoded value") from None


def json_object(text: str) -> dict[str, Any]:
    """Decode a part of a token to a JSON object. Raises OAuthTokenError."""
    try:
        value = strict_json.loads(base64url(text).decode())
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise OAuthTokenError("malformed JSON") from None
    if not isinstance(value, dict):
        raise OAuthTokenError("malformed JSON: not an object")
    return value


def number_claim(claims: Mapping[str, Any], name: str) -> float | int | None:
    """Return a claim that is a number; None: it is missing. Raises OAuthTokenError."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OAuthTokenError(f"The '{name}' claim was not of type Number: {type(value).__name__}")
    return value


def string_claim(claims: Mapping[str, Any], name: str) -> str | None:
    """Return a claim that is a string; None: it is missing. Raises OAuthTokenError."""
    value = claims.get(name)
    if value is not None and not isinstance(value, str):
        raise OAuthTokenError(f"The '{name}' claim was not of type String: {type(value).__name__}")
    return value


def claim_time_ms(seconds: float) -> int:
    """Return seconds as milliseconds, limited to an int64."""
    milliseconds = seconds * 1000 if isinstance(seconds, int) else round(min(max(seconds, -9e15), 9e15) * 1000)
    return min(max(milliseconds, -_MAX_INT64), _MAX_INT64)


def refuse_if(condition: bool, reason: Callable[[], str]) -> None:
    """Raise OAuthTokenError if the condition holds."""
    if condition:
        raise OAuthTokenError(reason())
