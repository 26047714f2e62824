"""From the configuration of a listener to its mechanisms; that of the kit's listeners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import MockTime
from kafkapy.security.jaas import parse_jaas_file
from kafkapy.security.sasl.listener_mechanisms import ListenerMechanisms, SaslServices, make_listener_mechanisms
from kafkapy.security.sasl.mechanism import SaslAuthenticationError
from kafkapy.security.sasl.oauth_token import OAuthBearerToken
from kafkapy.security.sasl.scram_server import DecoyCredentials, TokenLogin
from kafkapy.security.scram import ScramCredential
from tests.security.sasl.test_authenticator import Kerberos
from tests.security.sasl.tokens import jwk, jwks, signed, unsecured

HERE = __name__
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)
HANDLER = "sasl.server.callback.handler.class"
TIME = MockTime()
NOW = TIME.milliseconds() // 1000
CLAIMS = {"sub": "alice", "scope": "kafka", "iat": NOW, "exp": NOW + 60}
CREDENTIAL = ScramCredential.of_password("sha256", "pw", b"salt", 4096)


class OwnPlain:
    configs: Any = None

    def configure(self, configs: Any, mechanism: str, modules: Any) -> None:
        self.configs = configs

    def authenticate(self, username: str, password: str) -> bool:
        return password == self.configs["own.password"] and self.configs.get("nothing") is None


class OwnTokens:
    def validate(self, token: str) -> OAuthBearerToken:
        return OAuthBearerToken(token, frozenset(), (NOW + 5) * 1000, None, {})


class OwnScram:
    def credential(self, user: str) -> ScramCredential | None:
        return CREDENTIAL if user == "own" else None


def made(configs: Mapping[str, str], **services: Any) -> ListenerMechanisms:
    known: dict[str, Any] = {
        "time": TIME,
        "make_nonce": lambda: "server",
        "decoys": DecoyCredentials(b"s"),
        "scram_credential": lambda mechanism, user: (
            CREDENTIAL if (mechanism, user) == ("SCRAM-SHA-256", "alice") else None
        ),
    }
    return make_listener_mechanisms("SASL", configs.get, SaslServices(**{**known, **services}))


def said(token: str) -> bytes:
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def test_plain_and_scram() -> None:
    configs = {
        "sasl.enabled.mechanisms": "PLAIN, SCRAM-SHA-256,SCRAM-SHA-512",
        "plain.sasl.jaas.config": f'{PLAIN} user_alice="secret";',
        "connections.max.reauth.ms": "3000",
        "plain.connections.max.reauth.ms": "500",
    }
    mechanisms = made(configs)
    assert list(mechanisms.factories) == ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256"]  # the order of a HashSet
    assert mechanisms.max_reauth_ms == {"PLAIN": 500, "SCRAM-SHA-256": 3000, "SCRAM-SHA-512": 3000}
    plain = mechanisms.factories["PLAIN"]()
    plain.evaluate(b"\0alice\0secret")
    assert plain.authorization_id == "alice"
    assert mechanisms.factories["PLAIN"]() is not plain
    assert b"s=c2FsdA==" in mechanisms.factories["SCRAM-SHA-256"]().evaluate(b"n,,n=alice,r=x")
    assert b"s=c2FsdA==" not in mechanisms.factories["SCRAM-SHA-512"]().evaluate(b"n,,n=alice,r=x")


def test_users_of_a_jaas_file() -> None:
    file = parse_jaas_file(f'KafkaServer {{ {PLAIN} user_a="1"; }}; sasl.KafkaServer {{ {PLAIN} user_b="2"; }};')
    plain = made({"sasl.enabled.mechanisms": "PLAIN"}, jaas_file=file).factories["PLAIN"]
    plain().evaluate(b"\0b\x002")
    with pytest.raises(SaslAuthenticationError):
        plain().evaluate(b"\0a\x001")


def test_delegation_tokens() -> None:
    login = TokenLogin("owner", 0, CREDENTIAL)
    services = {"token_login": lambda mechanism, token_id: login if token_id == "id" else None}
    configs = {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    for given, salt in ((services, True), ({}, False)):
        answer = made(configs, **given).factories["SCRAM-SHA-256"]().evaluate(b"n,,n=id,r=x,tokenauth=true")
        assert (b"s=c2FsdA==" in answer) is salt


def test_the_listener_oauth_of_the_kit() -> None:
    jaas = f'{OAUTH} unsecuredLoginStringClaim_sub="admin" unsecuredValidatorRequiredScope="kafka";'
    configs = {"sasl.enabled.mechanisms": "OAUTHBEARER", "oauthbearer.sasl.jaas.config": jaas}
    factory = made(configs).factories["OAUTHBEARER"]
    assert factory().evaluate(said(unsecured(CLAIMS))) == b""
    assert b"insufficient_scope" in factory().evaluate(said(unsecured({**CLAIMS, "scope": "x"})))


def test_the_listener_jwt_of_the_kit() -> None:
    configs = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "oauthbearer.sasl.jaas.config": f'{OAUTH} unsecuredLoginStringClaim_sub="admin";',
        f"oauthbearer.{HANDLER}": VALIDATOR,
        "sasl.oauthbearer.jwks.endpoint.url": "file:///pki/jwks.json",
        "sasl.oauthbearer.expected.audience": "kit-audience,other-audience",
        "sasl.oauthbearer.expected.issuer": "https://kit.example",
    }
    mechanisms = made(configs)
    [(url, keys)] = mechanisms.jwks
    assert url == "file:///pki/jwks.json"
    keys.loaded(jwks(jwk("RS256")))
    claims = {**CLAIMS, "aud": "kit-audience", "iss": "https://kit.example"}
    factory = mechanisms.factories["OAUTHBEARER"]
    assert factory().evaluate(said(signed(claims))) == b""
    for refused in (unsecured(claims), signed(CLAIMS), signed({**claims, "aud": "x"})):
        assert factory().evaluate(said(refused)) == b'{"status":"invalid_token"}'


def test_unsecured_tokens_are_not_taken_by_default() -> None:
    """Unlike 3.9.1 (CVE-2026-33557): nothing says that the listener is for tests."""
    configs = {"sasl.enabled.mechanisms": "OAUTHBEARER", "oauthbearer.sasl.jaas.config": f"{OAUTH};"}
    with pytest.raises(ConfigException, match="nothing checks the signatures of tokens") as caught:
        made(configs)
    assert VALIDATOR in caught.value.with_advice
    made({**configs, f"oauthbearer.{HANDLER}": UNSECURED})


def test_handlers_of_ones_own() -> None:
    configs = {
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER,SCRAM-SHA-256",
        f"plain.{HANDLER}": f"{HERE}:OwnPlain",
        f"oauthbearer.{HANDLER}": f"{HERE}:OwnTokens",
        f"scram-sha-256.{HANDLER}": f"{HERE}:OwnScram",
        "own.password": "pw",
    }
    factories = made(configs).factories
    assert factories["PLAIN"]().evaluate(b"\0x\0pw") == b""
    oauth = factories["OAUTHBEARER"]()
    oauth.evaluate(said("alice"))
    assert (oauth.authorization_id, oauth.session_lifetime_ms) == ("alice", 5000)
    assert b"s=c2FsdA==" in factories["SCRAM-SHA-256"]().evaluate(b"n,,n=own,r=x")


def test_a_mechanism_of_an_extra() -> None:
    assert made({}, others={"GSSAPI": Kerberos}).factories["GSSAPI"]().name == "GSSAPI"


@pytest.mark.parametrize(
    ("configs", "cause"),
    [
        ({}, "the JAAS configuration: there is no section"),
        ({"sasl.enabled.mechanisms": " , "}, "No SASL mechanisms are enabled for listener SASL"),
        ({"sasl.enabled.mechanisms": "DIGEST-MD5"}, "Invalid value DIGEST-MD5"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "no section 'KafkaServer' or 'sasl.KafkaServer' for listener SASL"),
        (
            {"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": "x y z"},
            "^listener.name.sasl.plain.sasl.jaas.config, line 1, column 3: the control flag",
        ),
        (
            {
                "sasl.enabled.mechanisms": "PLAIN",
                "plain.sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required;",
            },
            "JndiLoginModule is not allowed",
        ),
        (
            {"sasl.enabled.mechanisms": "PLAIN", f"plain.{HANDLER}": "org.example.Handler"},
            f"^listener.name.sasl.plain.{HANDLER}: org.example.Handler cannot be imported",
        ),
        (
            {"sasl.enabled.mechanisms": "PLAIN", f"plain.{HANDLER}": f"{HERE}:OwnTokens"},
            "has no method authenticate, which PLAIN needs",
        ),
        (
            {"sasl.enabled.mechanisms": "SCRAM-SHA-256", "connections.max.reauth.ms": "soon"},
            "Invalid value soon for configuration connections.max.reauth.ms",
        ),
        (
            {"sasl.enabled.mechanisms": "SCRAM-SHA-256", "connections.max.reauth.ms": "-1"},
            "Value must be at least 0",
        ),
        ({"sasl.enabled.mechanisms": "OAUTHBEARER", f"oauthbearer.{HANDLER}": VALIDATOR}, "jwks.endpoint.url must be"),
        (
            {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                f"oauthbearer.{HANDLER}": VALIDATOR,
                "sasl.oauthbearer.jwks.endpoint.url": "file:///x",
                "sasl.oauthbearer.sub.claim.name": " ",
            },
            "must not be blank",
        ),
        (
            {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "oauthbearer.sasl.jaas.config": f'{OAUTH} unsecuredValidatorAllowableClockSkewMs="x";',
            },
            "listener.name.sasl.oauthbearer.sasl.jaas.config: unsecuredValidatorAllowableClockSkewMs",
        ),
    ],
)
def test_wrong_configurations(configs: dict[str, str], cause: str) -> None:
    with pytest.raises(ConfigException, match=cause):
        made(configs)
