"""Signed tokens and the keys that they are checked with."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.time import MockTime
from kafkapy.security.sasl.jwks import MAX_DOCUMENT_BYTES, JwksError, RefreshingJwks, parse_jwks, split_jwks_url
from kafkapy.security.sasl.jwt_validator import JwtValidator
from kafkapy.security.sasl.oauth_token import OAuthTokenError
from tests.security.sasl.tokens import encoded, jwk, jwks, private_key, signed, unsecured

TIME = MockTime()
NOW = TIME.milliseconds() // 1000
CLAIMS = {"sub": "alice", "scope": "kafka", "iat": NOW - 10, "exp": NOW + 3600}
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def validator(*entries: Any, **options: Any) -> JwtValidator:
    keys = RefreshingJwks(TIME)
    keys.loaded(jwks(*(entries or (jwk("RS256"),))))
    return JwtValidator(keys.select, TIME, **options)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithms(algorithm: str) -> None:
    checks = validator(jwk(algorithm))
    token = checks.validate(signed(CLAIMS, algorithm))
    assert token[:4] == ("alice", frozenset(["kafka"]), (NOW + 3600) * 1000, (NOW - 10) * 1000)
    assert checks.validate(signed(CLAIMS, algorithm, kid=None)).principal_name == "alice"
    with pytest.raises(OAuthTokenError, match="The signature is invalid"):
        checks.validate(signed(CLAIMS, algorithm)[:-6] + "AAAAAA")
    with pytest.raises(OAuthTokenError, match="The signature is invalid"):
        head, _, signature = signed(CLAIMS, algorithm).split(".")
        checks.validate(f"{head}.{encoded({**CLAIMS, 'sub': 'admin'})}.{signature}")


def test_the_example_of_rfc_7515_with_es256() -> None:
    """RFC 7515, appendix A.3: key and signature; its claims have no iat, so the token is refused for that alone."""
    key = {
        "kty": "EC",
        "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }
    token = (
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    )
    with pytest.raises(OAuthTokenError, match="must have the claims exp and iat"):
        validator(key).validate(token)
    with pytest.raises(OAuthTokenError, match="The signature is invalid"):
        validator(key).validate(token[:-2] + "1A")


def test_algorithms_that_are_no_signature() -> None:
    """None, and HMAC with the public key as secret."""
    public = json.dumps(jwk("RS256")).encode()
    message = f"{encoded({'alg': 'HS256', 'kid': 'k'})}.{encoded(CLAIMS)}"
    forged = f"{message}.{encoded(hmac.new(public, message.encode(), hashlib.sha256).digest())}"
    checks = validator(jwk("RS256"), {"kty": "oct", "k": base64.urlsafe_b64encode(public).decode(), "kid": "k"})
    for token in (unsecured(CLAIMS), unsecured(CLAIMS, "NONE"), unsecured(CLAIMS, ""), forged):
        with pytest.raises(OAuthTokenError):
            checks.validate(token)


def test_an_algorithm_must_fit_the_key() -> None:
    with pytest.raises(OAuthTokenError, match="There is no key"):
        validator(jwk("ES384")).validate(signed(CLAIMS, "RS256"))
    with pytest.raises(OAuthTokenError, match="There is no key"):
        validator(jwk("RS256", alg="RS512")).validate(signed(CLAIMS, "RS256"))
    assert validator(jwk("RS256", alg="PS256")).validate(signed(CLAIMS, "PS256"))
    with pytest.raises(OAuthTokenError, match="There is no key"):
        validator(jwk("RS256", kid="other")).validate(signed(CLAIMS))


def test_of_two_keys_with_one_name_each_is_tried() -> None:
    checks = validator(jwk("RS256", number=1), jwk("RS256"))
    assert checks.validate(signed(CLAIMS)).principal_name == "alice"
    assert checks.validate(signed(CLAIMS, number=1)).principal_name == "alice"
    with pytest.raises(OAuthTokenError):
        checks.validate(signed(CLAIMS, number=2))


@pytest.mark.parametrize(
    "change",
    [
        {"exp": None},
        {"iat": None},
        {"exp": NOW - 30},
        {"exp": "1"},
        {"exp": -1},
        {"iat": NOW + 4000},
        {"nbf": NOW + 31},
        {"nbf": "x"},
        {"nbf": NOW + 20, "exp": NOW + 10},
        {"sub": None},
        {"sub": "  "},
        {"sub": ["alice"]},
        {"scope": ""},
        {"scope": ["a", "a"]},
        {"scope": ["a", 1]},
        {"aud": "anything"},
    ],
)
def test_claims_that_are_refused(change: dict[str, Any]) -> None:
    claims = {name: value for name, value in {**CLAIMS, **change}.items() if value is not None}
    with pytest.raises(OAuthTokenError):
        validator().validate(signed(claims))


@pytest.mark.parametrize(
    ("change", "scope"),
    [
        ({"iat": NOW - 99, "exp": NOW - 29}, {"kafka"}),
        ({"nbf": NOW + 30}, {"kafka"}),
        ({"scope": ["a", " b "]}, {"a", "b"}),
        ({"scope": 5}, set()),
    ],
)
def test_claims_that_are_taken(change: dict[str, Any], scope: set[str]) -> None:
    assert validator().validate(signed({**CLAIMS, **change})).scope == scope


def test_audience_and_issuer() -> None:
    checks = validator(expected_audience=["kit", "other"], expected_issuer="https://kit.example")
    good = {**CLAIMS, "aud": ["x", "other"], "iss": "https://kit.example"}
    assert checks.validate(signed(good)).principal_name == "alice"
    assert checks.validate(signed({**good, "aud": "kit"}))
    changes: list[dict[str, Any]] = [
        {"aud": "x"},
        {"aud": []},
        {"aud": None},
        {"aud": 5},
        {"aud": [5, "kit"]},
        {"iss": "https://kit.example/"},
        {"iss": None},
    ]
    for change in changes:
        with pytest.raises(OAuthTokenError, match=r"Audience|Issuer"):
            checks.validate(signed({**good, **change}))


def test_names_of_claims() -> None:
    checks = validator(scope_claim_name="scp", sub_claim_name=" email ", clock_skew_seconds=0)
    token = checks.validate(signed({**CLAIMS, "email": " a@b ", "scp": ["x"]}))
    assert (token.principal_name, token.scope) == ("a@b", frozenset(["x"]))
    for wrong in ({"sub_claim_name": " "}, {"clock_skew_seconds": -1}):
        with pytest.raises(ValueError, match="claims must not be blank"):
            validator(**wrong)


@pytest.mark.parametrize("claims", [{"jti": 5}, {"sub": ["alice"], "email": "a@b"}])
def test_claims_that_are_no_text(claims: dict[str, Any]) -> None:
    with pytest.raises(OAuthTokenError, match="not of type String"):
        validator(sub_claim_name="email").validate(signed({**CLAIMS, "email": "a@b", **claims}))


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["b64"], "b64": False},
        {"b64": False},
        {"cty": "JWT"},
        {"kid": 5},
        {"kid": "x" * 1001},
        {"alg": None},
        {"alg": ["RS256"]},
    ],
)
def test_headers_that_are_refused(header: dict[str, Any]) -> None:
    values = {"alg": "RS256", "kid": "k", **header}
    message = f"{encoded(values)}.{encoded(CLAIMS)}"
    signature = signed(CLAIMS).rpartition(".")[2]
    with pytest.raises(OAuthTokenError):
        validator().validate(f"{message}.{signature}")


@given(st.text(alphabet="eyJhbGciOiJSUzI1NiJ9.-_=", max_size=60))
def test_garbage_is_refused(token: str) -> None:
    with pytest.raises(OAuthTokenError):
        validator().validate(token)


def test_keys_that_are_left_out() -> None:
    weak = {**jwk("RS256", "weak"), "n": encoded(b"\xff" * 128)}
    entries: list[Any] = [
        weak,
        {**jwk("RS256", "even"), "e": encoded(b"\2")},
        jwk("RS256", "enc", use="enc"),
        jwk("RS256", "ops", key_ops=["encrypt"]),
        jwk("RS256", "ops", key_ops=5),
        jwk("RS256", "alg", alg="ES256"),
        jwk("RS256", "alg", alg=["RS256"]),
        {"kty": "oct", "k": "AAAA"},
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {"kty": "RSA", "n": "!", "e": 5},
        jwk("RS256", 5),  # type: ignore[arg-type]
        {},
        [],
        None,
        jwk("RS256", "good", use="sig", key_ops=["verify"]),
        jwk("ES512", None),
    ]
    assert [(key.key_id, len(key.algorithms)) for key in parse_jwks(jwks(*entries))] == [("good", 6), (None, 1)]


@pytest.mark.parametrize(
    "document",
    [b"", b"[]", b"{}", b'{"keys": {}}', b"\xff", b"[" * 100000, b" " * (MAX_DOCUMENT_BYTES + 1), jwks(*[{}] * 101)],
)
def test_documents_that_are_no_key_set(document: bytes) -> None:
    with pytest.raises(JwksError):
        parse_jwks(document)


def test_urls() -> None:
    assert split_jwks_url("file:///a%20b.json") == ("file", "/a b.json")
    assert split_jwks_url(" https://idp.example/keys ") == ("url", "https://idp.example/keys")
    for url in ("", "ftp://x/y", "file:", "/etc/jwks.json", "https:///x"):
        with pytest.raises(ValueError, match=r"sasl\.oauthbearer\.jwks\.endpoint\.url"):
            split_jwks_url(url)


class Provider:
    """An identity provider whose keys rotate, and which may fail."""

    def __init__(self) -> None:
        self.document = jwks(jwk("RS256", "k0"))
        self.error: Exception | None = None
        self.fetches = 0

    def __call__(self) -> bytes:
        self.fetches += 1
        if self.error is not None:
            raise self.error
        return self.document


def test_a_provider_that_fails_takes_no_keys_away() -> None:
    time, provider = MockTime(), Provider()
    keys = RefreshingJwks(time, refresh_ms=60_000)
    assert keys.due_in_ms() == 0
    provider.error = OSError("refused")
    waits = []
    for _ in range(10):
        keys.refresh(provider)
        waits.append(keys.due_in_ms())
        time.advance(keys.due_in_ms())
    assert waits == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]
    assert keys.select("k0", "RS256") == []
    provider.error = None
    keys.refresh(provider)
    assert (len(keys), keys.due_in_ms()) == (1, 60_000)
    provider.document = b"<html>down</html>"
    keys.refresh(provider)
    assert (len(keys), keys.due_in_ms()) == (1, 100)
    assert keys.select("k0", "RS256")
    provider.document = jwks()
    keys.refresh(provider)
    assert len(keys) == 0


def test_an_unknown_key_id_is_fetched_at_once_but_not_often() -> None:
    time, provider = MockTime(), Provider()
    earlier: list[int] = []
    keys = RefreshingJwks(time, on_due_earlier=lambda: earlier.append(keys.due_in_ms()))
    keys.refresh(provider)
    time.advance(10_000)
    keys.select("k0", "ES256")  # the key is there: no fetch helps
    keys.select(None, "ES256")
    keys.select("x" * 1001, "RS256")
    assert (earlier, keys.due_in_ms()) == ([], 3_590_000)
    provider.document = jwks(jwk("RS256", "k1"))
    assert keys.select("k1", "RS256") == []
    assert earlier == [0]
    keys.refresh(provider)
    assert keys.select("k1", "RS256")
    assert keys.select("k0", "RS256") == []  # rotated away, and asked for again: within 5 s of the last fetch
    assert earlier == [0, 5000]
    keys.select("k9", "RS256")
    assert earlier == [0, 5000]
    time.advance(5000)
    keys.refresh(provider)
    time.advance(50_000)
    keys.select("k0", "RS256")  # once a minute
    assert earlier == [0, 5000]
    time.advance(5_000)
    keys.select("k0", "RS256")
    assert earlier == [0, 5000, 0]


def test_key_ids_that_tokens_make_up_cost_no_memory() -> None:
    keys = RefreshingJwks(MockTime())
    for number in range(1000):
        keys.select(f"k{number}", "RS256")
    assert len(keys._missing) == 16


def test_keys_are_made_once() -> None:
    assert private_key("RSA") is private_key("RSA")
