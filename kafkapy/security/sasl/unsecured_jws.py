"""Tokens without a signature, for tests and development only (Kafka's `OAuthBearerUnsecuredValidatorCallbackHandler`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.time import Time
from kafkapy.security.sasl.oauth_token import (
    MAX_TOKEN_CHARACTERS,
    OAuthBearerToken,
    OAuthTokenError,
    claim_time_ms,
    json_object,
    number_claim,
    refuse_if,
    string_claim,
)

OAUTH_LOGIN_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

_SCOPE_ITEM = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


def asks_for_unsecured_tokens(options: Mapping[str, str]) -> bool:
    """Return whether a JAAS module has an option of unsecured tokens.

    Any client can create such a token for any user. So a listener should accept them only if its configuration says so,
    by such an option or by naming the handler; Kafka 3.9.1 accepts them wherever no handler is named.
    """
    return any(option.startswith(("unsecuredValidator", "unsecuredLogin")) for option in options)


class UnsecuredValidator:
    """Accepts tokens of the algorithm `none` without a signature.

    Args:
        options: Options of the JAAS module: `unsecuredValidatorPrincipalClaimName` (default: sub),
            `unsecuredValidatorScopeClaimName` (scope), `unsecuredValidatorRequiredScope` (none; separated by spaces),
            `unsecuredValidatorAllowableClockSkewMs` (0).
        time: The broker's clock.

    Raises:
        ValueError: An option has an invalid value.
    """

    def __init__(self, options: Mapping[str, str], time: Time) -> None:
        def option(name: str) -> str:
            return options.get(f"unsecuredValidator{name}", "").strip()

        self._principal_claim = option("PrincipalClaimName") or "sub"
        self._scope_claim = option("ScopeClaimName") or "scope"
        self._required_scope = option("RequiredScope").split()
        for item in self._required_scope:
            if not _SCOPE_ITEM.fullmatch(item):
                raise ValueError(f"unsecuredValidatorRequiredScope: Invalid scope value: {item}")
        skew = option("AllowableClockSkewMs") or "0"
        if not re.fullmatch(r"-?[0-9]{1,10}", skew):
            raise ValueError(f"unsecuredValidatorAllowableClockSkewMs: {skew!r} is no number")
        if int(skew) < 0:
            raise ValueError(
                f"unsecuredValidatorAllowableClockSkewMs: Allowable clock skew millis must not be negative: {skew}"
            )
        self._skew_ms = int(skew)
        self._time = time

    def validate(self, token: str) -> OAuthBearerToken:
        """See `TokenValidator.validate`."""
        claims = _claims(token)
        expiry = number_claim(claims, "exp")
        if expiry is None:
            raise OAuthTokenError("No expiration time in JWT")
        principal = string_claim(claims, self._principal_claim)
        if principal is None or not principal.strip():
            raise OAuthTokenError(f"No principal name in JWT claim: {self._principal_claim}")
        issued = number_claim(claims, "iat")
        self._check_times(claim_time_ms(expiry), None if issued is None else claim_time_ms(issued))
        scope = _scope(claims, self._scope_claim)
        for item in self._required_scope:
            if item not in scope:
                needed = f"[{', '.join(self._required_scope)}]"
                reason = (
                    f"The provided scope was missing a required scope ({item}). All required scope elements: {needed}"
                )
                raise OAuthTokenError(reason, "insufficient_scope", needed)
        return OAuthBearerToken(
            principal, scope, claim_time_ms(expiry), None if issued is None else claim_time_ms(issued), claims
        )

    def _check_times(self, expiry_ms: int, issued_ms: int | None) -> None:
        now, skew = self._time.milliseconds(), self._skew_ms
        if issued_ms is not None:
            refuse_if(
                issued_ms > now + skew, lambda: "The Issued At value was after the indicated time plus clock skew"
            )
            refuse_if(expiry_ms <= issued_ms, lambda: "The Expiration Time time was not after the Issued At time")
        refuse_if(
            now - skew >= expiry_ms,
            lambda: "The indicated time minus allowable clock skew was on or after the Expiration Time value",
        )


def _claims(token: str) -> dict[str, Any]:
    refuse_if(len(token) > MAX_TOKEN_CHARACTERS, lambda: "The token is too long")
    # Kafka decodes the standard alphabet of base64.
    parts = token.replace("+", "-").replace("/", "_").split(".")
    refuse_if(
        len(parts) != 3 or not parts[0] or not parts[1],
        lambda: "Unsecured JWS compact serializations must have 3 dot-separated Base64URL-encoded values",
    )
    algorithm = json_object(parts[0]).get("alg")
    refuse_if(algorithm != "none", lambda: "Unsecured JWS must have 'none' for an algorithm")
    refuse_if(bool(parts[2]), lambda: "Unsecured JWS must not contain a digital signature")
    return json_object(parts[1])


def _scope(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """A string is one scope, as in Kafka; a list has one in each item."""
    value = claims.get(name)
    items = value if isinstance(value, list) else [value] if value is not None else []
    refuse_if(not all(isinstance(item, str) for item in items), lambda: f"The '{name}' claim was not of type List")
    return frozenset(item.strip() for item in items if item.strip())
