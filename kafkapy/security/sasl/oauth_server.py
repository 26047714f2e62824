"""The server side of OAUTHBEARER (RFC 7628, KIP-255; Kafka's `OAuthBearerSaslServer`)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Final

from kafkapy.common.time import Time
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError, remaining_ms
from kafkapy.security.sasl.oauth_messages import OAuthMessageError, parse_client_initial_response
from kafkapy.security.sasl.oauth_token import OAuthBearerToken, OAuthTokenError, TokenValidator

log = logging.getLogger("kafkapy.security.sasl.OAuthBearerServer")

OAUTHBEARER: Final = "OAUTHBEARER"

_CONTROL_A: Final = b"\x01"


class OAuthBearerServer:
    """One authentication by OAUTHBEARER.

    If a token is refused, the reason is sent as JSON; the client's `^A` then ends the authentication (RFC 7628, 3.2.2),
    unless the client sends another token, as Kafka allows.

    Args:
        validator: Checks the token.
        time: The broker's clock, for the session's lifetime.
    """

    __slots__ = ("_refusal", "_time", "_validator", "extensions", "session_lifetime_ms", "token")

    name = OAUTHBEARER
    is_delegation_token = False

    def __init__(self, validator: TokenValidator, time: Time) -> None:
        self._validator = validator
        self._time = time
        self._refusal: str | None = None
        self.token: OAuthBearerToken | None = None
        """Set once complete, for users' own authorizers (Kafka's negotiated property OAUTHBEARER.token)."""
        self.extensions: Mapping[str, str] = {}
        """The accepted extensions."""
        self.session_lifetime_ms: int | None = None

    @property
    def complete(self) -> bool:
        return self.token is not None

    @property
    def authorization_id(self) -> str:
        assert self.token is not None
        return self.token.principal_name

    def evaluate(self, response: bytes) -> bytes:
        """See `SaslMechanism.evaluate`."""
        if self.complete:
            raise SaslExchangeError("Authentication exchange has completed")
        if self._refusal is not None and response == _CONTROL_A:
            raise SaslAuthenticationError(self._refusal)
        self._refusal = None
        try:
            initial = parse_client_initial_response(response)
        except OAuthMessageError as error:
            raise SaslExchangeError(str(error)) from None
        try:
            token = self._validator.validate(initial.token)
        except OAuthTokenError as error:
            log.info("A token is refused (%s): %s", error.status, error)
            self._refusal = _refusal(error)
            return self._refusal.encode()
        except Exception as error:
            # Its message may contain the token.
            raise SaslExchangeError(
                "Authentication could not be performed due to an internal error on the server: "
                f"the validator raised {type(error).__name__}"
            ) from None
        if initial.authorization_id not in ("", token.principal_name):
            raise SaslAuthenticationError(
                f"Authentication failed: Client requested an authorization id ({initial.authorization_id}) that is different "
                f"from the token's principal name ({token.principal_name})"
            )
        self._check_extensions(token, initial.extensions)
        self.extensions = initial.extensions
        self.session_lifetime_ms = remaining_ms(token.lifetime_ms, self._time.milliseconds())
        self.token = token
        return b""

    def _check_extensions(self, token: OAuthBearerToken, extensions: Mapping[str, str]) -> None:
        check = getattr(self._validator, "validate_extensions", None)
        if check is None or not extensions:
            return
        invalid = check(token, extensions)
        if invalid:
            listed = "; ".join(f"{name}: {reason}" for name, reason in invalid.items())
            raise SaslAuthenticationError(
                f"Authentication failed: {len(invalid)} extensions are invalid! They are: {listed}"
            )


def _refusal(error: OAuthTokenError) -> str:
    """Return the error in Kafka's format: `{"status":"insufficient_scope", "scope":"[kafka]"}`."""
    values = {"status": error.status, "scope": error.scope, "openid-configuration": error.openid_configuration}
    return "{" + ", ".join(f'"{name}":{json.dumps(value)}' for name, value in values.items() if value is not None) + "}"
