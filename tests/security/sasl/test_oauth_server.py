"""The server's side of OAUTHBEARER, and tokens without a signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.time import MockTime
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError, SaslMechanism
from kafkapy.security.sasl.oauth_messages import (
    OAuthMessageError,
    client_initial_response,
    parse_client_initial_response,
)
from kafkapy.security.sasl.oauth_server import OAuthBearerServer
from kafkapy.security.sasl.oauth_token import OAuthBearerToken, OAuthTokenError
from kafkapy.security.sasl.unsecured_jws import UnsecuredValidator, asks_for_unsecured_tokens
from tests.security.sasl.tokens import encoded, unsecured

TIME = MockTime()
NOW = TIME.milliseconds() // 1000
CLAIMS = {"sub": "alice", "scope": "kafka", "iat": NOW - 10, "exp": NOW + 3600}


def validator(**options: str) -> UnsecuredValidator:
    return UnsecuredValidator({f"unsecuredValidator{name}": value for name, value in options.items()}, TIME)


def server(**options: str) -> OAuthBearerServer:
    return OAuthBearerServer(validator(**options), TIME)


def said(token: str, authzid: str = "", extensions: str = "") -> bytes:
    return f"n,{authzid},\x01auth=Bearer {token}{extensions}\x01\x01".encode()


@pytest.mark.parametrize(
    "token", ["vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==", "vF-9.df_t4qm~Tc2Nvb3RlckBhbHR+hdmlzdGEuY29/tCg=="]
)
def test_the_example_of_rfc_7628_and_all_characters_of_rfc_6750(token: str) -> None:
    response = f"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01auth=Bearer {token}\x01\x01"
    initial = parse_client_initial_response(response.encode())
    assert tuple(initial) == (token, "user@example.com", {"host": "server.example.com", "port": "143"})
    assert "vF9" not in repr(initial)


def test_what_a_client_says_is_read() -> None:
    said = client_initial_response("x.y.z", {"traceId": "a b", "other": "=,"}, "a=b,c")
    assert tuple(parse_client_initial_response(said)) == ("x.y.z", "a=b,c", {"traceId": "a b", "other": "=,"})
    assert client_initial_response("123.345.567", {"nineteen": "42"}) == (
        b"n,,\x01auth=Bearer 123.345.567\x01nineteen=42\x01\x01"
    )


@pytest.mark.parametrize(
    ("token", "extensions"),
    [
        ("", {}),
        ("x y", {}),
        ("x\x01", {}),
        ("x", {"auth": "y"}),
        ("x", {"19": "42"}),
        ("x", {"a": ""}),
        ("x", {"a": "\x01"}),
    ],
)
def test_what_a_client_cannot_say(token: str, extensions: dict[str, str]) -> None:
    with pytest.raises(OAuthMessageError):
        client_initial_response(token, extensions)


def test_both_alphabets_of_base64() -> None:
    claims = {**CLAIMS, "sub": "~~~???>>>"}
    token = unsecured(claims)
    assert validator().validate(token).principal_name == "~~~???>>>"
    assert validator().validate(token.replace("-", "+").replace("_", "/")).principal_name == "~~~???>>>"


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,auth=Bearer x\x01\x01",
        b"n,,\x01auth=Bearer x\x01",
        b"n,,\x01auth=Bearer x",
        b"y,,\x01auth=Bearer x\x01\x01",
        b"n,,\x01auth=Basic x\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer x y\x01\x01",
        b"n,,\x01auth=\x01\x01",
        b"n,,\x01traceId=1\x01\x01",
        b"n,,\x01auth=Bearer x\x01k1=v\x01\x01",
        b"n,,\x01auth=Bearer x\x01k=\x01\x01",
        b"n,,\x01auth=Bearer x\x01k=\x02\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
        b"n,a=a=b,\x01auth=Bearer x\x01\x01",
        b"n,a=" + b"x" * 500_000 + b",\x01auth=Bearer x\x01\x01",
        b"n,a=" + b"=2C" * 8193 + b",\x01auth=Bearer x\x01\x01",
        b"n,,\x01auth=Bearer x"
        + b"".join(b"\x01k%c%c=v" % (97 + i // 26 % 26, 97 + i % 26) * 2 for i in range(600))
        + b"\x01\x01",
    ],
)
def test_malformed_first_messages(response: bytes) -> None:
    with pytest.raises(SaslExchangeError, match=r"^Invalid (OAUTHBEARER client first message|scheme in OAUTHBEARER)"):
        server().evaluate(response)


def test_a_client_comes_in() -> None:
    machine: SaslMechanism = server(RequiredScope="kafka")
    assert machine.evaluate(said(unsecured(CLAIMS), "a=alice", "\x01traceId=1,2=3")) == b""
    assert machine.complete
    assert (machine.authorization_id, machine.session_lifetime_ms, machine.is_delegation_token) == (
        "alice",
        3_600_000,
        False,
    )
    assert isinstance(machine, OAuthBearerServer)
    assert machine.extensions == {"traceId": "1,2=3"}
    with pytest.raises(SaslExchangeError):
        machine.evaluate(b"\x01")


def test_a_refusal_is_json_and_ends_with_the_clients_answer() -> None:
    machine = server()
    assert machine.evaluate(said(unsecured({**CLAIMS, "exp": NOW - 1}))) == b'{"status":"invalid_token"}'
    assert not machine.complete
    with pytest.raises(SaslAuthenticationError) as caught:
        machine.evaluate(b"\x01")
    assert str(caught.value) == '{"status":"invalid_token"}'


def test_a_missing_scope() -> None:
    machine = server(RequiredScope="kafka  write")
    answer = b'{"status":"insufficient_scope", "scope":"[kafka, write]"}'
    assert machine.evaluate(said(unsecured(CLAIMS))) == answer
    assert server(RequiredScope="kafka write").evaluate(said(unsecured({**CLAIMS, "scope": ["write", "kafka"]}))) == b""


def test_after_a_refusal_another_token_is_taken() -> None:
    machine = server()
    machine.evaluate(said("a.b.c"))
    assert machine.evaluate(said(unsecured(CLAIMS))) == b""
    assert machine.complete


def test_of_values_with_one_name_the_last_counts() -> None:
    machine = server()
    assert machine.evaluate(said("a.b.c", "", f"\x01auth=Bearer {unsecured(CLAIMS)}\x01k=v\x01k=w")) == b""
    assert machine.extensions == {"k": "w"}


def test_another_authorization_id() -> None:
    with pytest.raises(
        SaslAuthenticationError, match=r"authorization id \(bob\) that is different from the token's .* \(alice\)"
    ):
        server().evaluate(said(unsecured(CLAIMS), "a=bob"))


class Strict:
    def validate(self, token: str) -> OAuthBearerToken:
        if token == "broken":
            raise RuntimeError(f"token {token}")
        if token == "bad":
            raise OAuthTokenError("no", scope='a"b', openid_configuration="https://idp.example")
        return OAuthBearerToken("alice", frozenset(), TIME.milliseconds() - 5, None, {})

    def validate_extensions(self, token: OAuthBearerToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        return {name: "not wanted" for name in extensions if name.startswith("bad")}


def test_a_validator_of_ones_own() -> None:
    machine = OAuthBearerServer(Strict(), TIME)
    machine.evaluate(said("good", extensions="\x01fine=1"))
    assert machine.session_lifetime_ms == 0
    with pytest.raises(
        SaslAuthenticationError, match="2 extensions are invalid! They are: bada: not wanted; badb: not wanted"
    ):
        OAuthBearerServer(Strict(), TIME).evaluate(said("good", extensions="\x01bada=1\x01badb=2\x01fine=3"))
    refusal = OAuthBearerServer(Strict(), TIME).evaluate(said("bad"))
    assert refusal == b'{"status":"invalid_token", "scope":"a\\"b", "openid-configuration":"https://idp.example"}'
    with pytest.raises(
        SaslExchangeError, match="internal error on the server: the validator raised RuntimeError"
    ) as caught:
        OAuthBearerServer(Strict(), TIME).evaluate(said("broken"))
    assert "broken" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"exp": None},
        {"exp": str(NOW + 10)},
        {"exp": True},
        {"exp": NOW},
        {"iat": NOW + 1},
        {"iat": "x"},
        {"iat": NOW - 5, "exp": NOW - 5},
        {"sub": None},
        {"sub": " "},
        {"sub": 1},
        {"scope": [1]},
        {"scope": {}},
    ],
)
def test_claims_that_are_refused(change: dict[str, Any]) -> None:
    claims = {name: value for name, value in {**CLAIMS, **change}.items() if value is not None}
    with pytest.raises(OAuthTokenError):
        validator().validate(unsecured(claims))


def test_options_of_the_unsecured_validator() -> None:
    checks = validator(PrincipalClaimName="email", ScopeClaimName="scp", RequiredScope="a", AllowableClockSkewMs="3000")
    token = checks.validate(unsecured({"email": "a@b", "scp": [" a ", ""], "exp": NOW - 2.5, "iat": NOW - 9.5}))
    assert token[:4] == ("a@b", frozenset(["a"]), (NOW * 1000) - 2500, NOW * 1000 - 9500)
    assert validator().validate(unsecured({"sub": "x", "exp": 10**30})).lifetime_ms == 2**63 - 1
    assert validator().validate(unsecured({"sub": "x", "exp": 1e300})).lifetime_ms > 1e18
    for options in ({"AllowableClockSkewMs": "-1"}, {"AllowableClockSkewMs": "x"}, {"RequiredScope": 'a"b'}):
        with pytest.raises(ValueError, match="unsecuredValidator"):
            validator(**options)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "a.b.c.d",
        unsecured(CLAIMS) + "sig",
        unsecured(CLAIMS, "HS256"),
        unsecured(CLAIMS, "None"),
        f"{encoded({})}.{encoded(CLAIMS)}.",
        f"{encoded(b'[]')}.{encoded(CLAIMS)}.",
        f"{encoded({'alg': 'none'})}.{encoded(b'[' * 50000)}.",
        encoded({"alg": "none"}) + "." + encoded(b'{"exp": NaN}') + ".",
        "A" * 200_000,
    ],
)
def test_malformed_tokens(token: str) -> None:
    with pytest.raises(OAuthTokenError):
        validator().validate(token)


def test_unsecured_tokens_are_taken_where_an_option_says_so() -> None:
    assert asks_for_unsecured_tokens({"unsecuredLoginStringClaim_sub": "admin"})
    assert not asks_for_unsecured_tokens({"clientId": "x"})


@given(st.binary(max_size=80) | st.text(alphabet="n,=a\x01 .Beaurth", max_size=60).map(str.encode))
def test_garbage_never_comes_in(response: bytes) -> None:
    machine = server()
    try:
        machine.evaluate(response)
    except SaslAuthenticationError:
        pass
    assert not machine.complete
