"""Validates tokens signed by an identity provider (Kafka's `OAuthBearerValidatorCallbackHandler`; KIP-768).

A token is refused unless it has an algorithm with public keys, a fitting key, `exp`, `iat` and a subject.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from kafkapy.common.time import Time
from kafkapy.security.sasl.jwks import MAX_KEY_ID_CHARACTERS, VerificationKey
from kafkapy.security.sasl.oauth_token import (
    MAX_TOKEN_CHARACTERS,
    OAuthBearerToken,
    OAuthTokenError,
    base64url,
    claim_time_ms,
    json_object,
    number_claim,
    refuse_if,
    string_claim,
)


class JwtValidator:
    """Accepts JWTs with valid signature, times, audience and issuer.

    Args:
        select: `RefreshingJwks.select`: returns the keys that may have signed a token with this `kid` and algorithm.
        time: The broker's clock.
        expected_audience: `sasl.oauthbearer.expected.audience`: one of these must be in `aud`. Empty: a token must have
            no `aud`, as in Kafka.
        expected_issuer: `sasl.oauthbearer.expected.issuer`. None: any.
        scope_claim_name: `sasl.oauthbearer.scope.claim.name`.
        sub_claim_name: `sasl.oauthbearer.sub.claim.name`: the claim with the principal's name.
        clock_skew_seconds: `sasl.oauthbearer.clock.skew.seconds`.

    Raises:
        ValueError: A claim's name is blank, or the skew negative.
    """

    def __init__(
        self,
        select: Callable[[str | None, str], Sequence[VerificationKey]],
        time: Time,
        *,
        expected_audience: Collection[str] = (),
        expected_issuer: str | None = None,
        scope_claim_name: str = "scope",
        sub_claim_name: str = "sub",
        clock_skew_seconds: int = 30,
    ) -> None:
        self._select = select
        self._time = time
        self._audience = frozenset(expected_audience)
        self._issuer = expected_issuer
        self._scope_claim = scope_claim_name.strip()
        self._sub_claim = sub_claim_name.strip()
        self._skew_ms = clock_skew_seconds * 1000
        if not self._scope_claim or not self._sub_claim or clock_skew_seconds < 0:
            raise ValueError("names of claims must not be blank, and the clock skew not negative")

    def validate(self, token: str) -> OAuthBearerToken:
        """See `TokenValidator.validate`."""
        claims = self._signed_claims(token)
        issued_ms, expiry_ms = self._check_times(claims)
        self._check_audience(claims)
        if self._issuer is not None:
            refuse_if(claims.get("iss") != self._issuer, lambda: "Issuer (iss) claim value is not the expected one")
        for name in ("sub", "jti"):
            string_claim(claims, name)
        principal = (string_claim(claims, self._sub_claim) or "").strip()
        refuse_if(not principal, lambda: f"{self._sub_claim} value must be non-null, non-empty, and non-whitespace")
        return OAuthBearerToken(principal, _scopes(claims, self._scope_claim), expiry_ms, issued_ms, claims)

    def _signed_claims(self, token: str) -> dict[str, Any]:
        """Return the token's claims after verifying its signature."""
        refuse_if(len(token) > MAX_TOKEN_CHARACTERS, lambda: "The token is too long")
        signed, _, signature = token.rpartition(".")
        header_part, dot, claims_part = signed.partition(".")
        refuse_if(not dot or "." in claims_part, lambda: "A JWT must have three parts")
        header = json_object(header_part)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm == "none" or algorithm.startswith("HS"):
            raise OAuthTokenError("The algorithm is not one of public keys")
        if "crit" in header:
            raise OAuthTokenError("The header has critical extensions, which are not known")
        if header.get("b64", True) is not True or str(header.get("cty", "")).lower() in ("jwt", "application/jwt"):
            raise OAuthTokenError("The claims are not encoded as those of a plain JWT")
        if key_id is not None and (not isinstance(key_id, str) or len(key_id) > MAX_KEY_ID_CHARACTERS):
            raise OAuthTokenError("The key id makes no sense")
        message, raw = signed.encode(), base64url(signature)
        keys = self._select(key_id, algorithm)
        refuse_if(
            not keys, lambda: f"There is no key for the token's kid and alg (kid {key_id!r:.100}, {algorithm!r:.20})"
        )
        refuse_if(not any(key.verifies(algorithm, message, raw) for key in keys), lambda: "The signature is invalid")
        return json_object(claims_part)

    def _check_times(self, claims: Mapping[str, Any]) -> tuple[int, int]:
        """Return the times of issue and expiry."""
        expiry, issued, start = (number_claim(claims, name) for name in ("exp", "iat", "nbf"))
        if expiry is None or issued is None:
            raise OAuthTokenError("The token must have the claims exp and iat")
        issued_ms, expiry_ms, now = claim_time_ms(issued), claim_time_ms(expiry), self._time.milliseconds()
        refuse_if(expiry_ms < 0 or issued_ms < 0, lambda: "exp and iat must not be negative")
        refuse_if(now - self._skew_ms >= expiry_ms, lambda: "The token has expired")
        refuse_if(expiry_ms < issued_ms, lambda: "exp is before iat")
        if start is not None:
            start_ms = claim_time_ms(start)
            refuse_if(now + self._skew_ms < start_ms, lambda: "The token is not valid yet (nbf)")
            refuse_if(expiry_ms < start_ms, lambda: "exp is before nbf")
        return issued_ms, expiry_ms

    def _check_audience(self, claims: Mapping[str, Any]) -> None:
        value = claims.get("aud")
        if value is None:
            refuse_if(bool(self._audience), lambda: "No Audience (aud) claim present")
            return
        given = value if isinstance(value, list) else [value]
        refuse_if(
            not all(isinstance(item, str) for item in given), lambda: "Audience (aud) is no text or list of texts"
        )
        refuse_if(self._audience.isdisjoint(given), lambda: "Audience (aud) claim does not have an expected value")


def _scopes(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """A string is one scope, as in Kafka; a list has one in each item, without duplicates."""
    value = claims.get(name)
    items = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    refuse_if(
        not all(isinstance(item, str) and item.strip() for item in items),
        lambda: f"{name} value must be non-null, non-empty, and non-whitespace",
    )
    scopes = [item.strip() for item in items]
    refuse_if(len(set(scopes)) < len(scopes), lambda: f"{name} value must not contain duplicates")
    return frozenset(scopes)
