"""SASL and TLS, from the client's side."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.sasl import Scram
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.errors import (
    KafkaConfigurationError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkapy.runtime.completion import spawn
from tests.fake_broker import FakeBroker
from tests.memory_driver import MemoryCluster, MemoryDriver
from tests.tls_broker import TlsBroker, make_certificate

USER = {"sasl_plain_username": "user", "sasl_plain_password": "pencil"}


def test_scram_sha_256_as_in_rfc_7677() -> None:
    scram = Scram("SCRAM-SHA-256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    server_first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert scram.next(server_first) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert scram.next(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


def test_scram_says_that_the_user_is_a_delegation_token() -> None:
    """KIP-48; what was said goes into the proof, too."""
    scram = Scram("SCRAM-SHA-512", "token-id", "hmac", nonce="abc", token_auth=True)
    assert scram.first() == b"n,,n=token-id,r=abc,tokenauth=true"
    assert scram.next(b"r=abcdef,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    plain = Scram("SCRAM-SHA-512", "token-id", "hmac", nonce="abc")
    plain.first()
    server_first = b"r=abcdef,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    again = Scram("SCRAM-SHA-512", "token-id", "hmac", nonce="abc", token_auth=True)
    assert plain.next(server_first) != again.next(server_first)


def test_scram_does_not_trust_a_broker_that_cannot_know_the_password() -> None:
    scram = Scram("SCRAM-SHA-512", "a=b,c", "pencil", nonce="abc")
    assert scram.first() == b"n,,n=a=3Db=2Cc,r=abc"
    with pytest.raises(SaslAuthenticationFailedError, match="nonce"):
        scram.next(b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    assert scram.next(b"r=abcdef,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    with pytest.raises(SaslAuthenticationFailedError, match="could not prove"):
        scram.next(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(SaslAuthenticationFailedError, match="refused: invalid-proof"):
        scram.next(b"e=invalid-proof")


class SaslCluster:
    """One broker that lets `user` in by PLAIN."""

    def __init__(self, lifetime_ms: int = 0, **options: Any) -> None:
        self.cluster = MemoryCluster()
        self.said: list[bytes] = []
        self.lifetime_ms = lifetime_ms
        self.accepted = b"\0user\0pencil"
        handlers = self.cluster.brokers[0].handlers
        handlers[ApiKey.SASL_HANDSHAKE] = lambda request: SaslHandshakeResponse(
            error_code=0 if request.mechanism in ("PLAIN", "OAUTHBEARER") else 33, mechanisms=["PLAIN", "OAUTHBEARER"]
        )
        handlers[ApiKey.SASL_AUTHENTICATE] = self.authenticate
        handlers[ApiKey.HEARTBEAT] = lambda request: HeartbeatResponse()
        self.driver = MemoryDriver(self.cluster)
        defaults = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", **USER}
        config = ClientConfig(bootstrap_servers="broker-0:9092", **{**defaults, **options})
        self.client = NetworkClient(self.driver, config)

    def authenticate(self, request: Any) -> SaslAuthenticateResponse:
        self.said.append(bytes(request.auth_bytes))
        if request.auth_bytes == self.accepted:
            return SaslAuthenticateResponse(session_lifetime_ms=self.lifetime_ms)
        return SaslAuthenticateResponse(
            error_code=58, error_message="Authentication failed: Invalid username or password"
        )

    def bootstrap(self) -> None:
        self.driver.result_of(spawn(self.client.bootstrap()), 100)


def test_plain() -> None:
    setup = SaslCluster()
    setup.bootstrap()
    assert setup.said == [b"\0user\0pencil"]


def test_a_wrong_password_is_told_at_once() -> None:
    setup = SaslCluster(sasl_plain_password="pen")
    with pytest.raises(SaslAuthenticationFailedError, match="Invalid username or password"):
        setup.bootstrap()


def test_a_mechanism_that_the_broker_does_not_offer() -> None:
    setup = SaslCluster(sasl_mechanism="SCRAM-SHA-256")
    with pytest.raises(UnsupportedSaslMechanismError, match="offers PLAIN, OAUTHBEARER, not SCRAM-SHA-256"):
        setup.bootstrap()


def test_oauthbearer_takes_its_token_from_the_provider() -> None:
    class Provider:
        def token(self) -> str:
            return "abc"

        def extensions(self) -> dict[str, str]:
            return {"tenant": "x"}

    setup = SaslCluster(sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=Provider())
    setup.accepted = b"n,,\x01auth=Bearer abc\x01tenant=x\x01\x01"
    setup.bootstrap()


def test_a_provider_that_fails() -> None:
    class Provider:
        def token(self) -> str:
            raise OSError("no token today")

    setup = SaslCluster(sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=Provider())
    with pytest.raises(SaslAuthenticationFailedError, match="no token today"):
        setup.bootstrap()


def test_a_session_is_renewed_on_the_same_connection_before_it_ends() -> None:
    setup = SaslCluster(lifetime_ms=10_000)
    setup.bootstrap()
    setup.driver.result_of(setup.client.send(0, HeartbeatRequest()))
    (connection,) = setup.cluster.brokers[0].connections
    said = len(setup.said)
    setup.driver.advance(8_600)
    assert len(setup.said) == said + 1
    assert setup.cluster.brokers[0].connections == [connection]
    setup.driver.result_of(setup.client.send(0, HeartbeatRequest()))
    setup.driver.advance(8_600)
    assert len(setup.said) == said + 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"security_protocol": "TLS"}, "security_protocol must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security_protocol": "SASL_PLAINTEXT"}, "sasl_mechanism must be one of PLAIN, SCRAM-SHA-256"),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "NTLM"},
            "sasl_mechanism must be one of .*; it is 'NTLM'",
        ),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"},
            "PLAIN needs sasl_plain_username and sasl_plain_password",
        ),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"},
            "OAUTHBEARER needs sasl_oauth_token_provider",
        ),
        (
            {"security_protocol": "SSL", "ssl_cafile": "/no/such/file"},
            r"ssl_cafile \(ssl.truststore.location\) cannot be used: /no/such/file: No such file or directory",
        ),
        ({"security_protocol": "SSL", "ssl_certfile": __file__}, f"ssl_certfile.* cannot be used: {__file__}: "),
        ({"request_timeout_ms": -1}, "request_timeout_ms must be a number of milliseconds"),
        ({"bootstrap_servers": []}, "No resolvable bootstrap urls given in bootstrap_servers"),
        ({"bootstrap_servers": "a:99999"}, "Invalid port in bootstrap_servers"),
        ({"client_dns_lookup": "resolve_canonical_bootstrap_servers_only"}, "client_dns_lookup=.* is not supported"),
        ({"api_version": "next"}, "api_version must be a release of Kafka"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(KafkaConfigurationError, match=sentence):
        ClientConfig(**options)


# --- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


def bootstrap_over_tls(broker: FakeBroker, timeout_ms: int = 5000, **options: Any) -> str | None:
    driver = ThreadDriver()
    driver.start()
    try:
        config = ClientConfig(bootstrap_servers=f"localhost:{broker.port}", security_protocol="SSL", **options)
        client = driver.call(NetworkClient, driver, config)
        driver.call(client.bootstrap, timeout_ms)
        cluster_id: str | None = client.metadata.cluster.cluster_id
        return cluster_id
    finally:
        driver.stop()


def test_tls(certificate: tuple[Path, Path]) -> None:
    with TlsBroker(certificate) as broker:
        assert bootstrap_over_tls(broker, ssl_cafile=str(certificate[0])) == "fake"
        context = ssl.create_default_context(cafile=str(certificate[0]))
        assert bootstrap_over_tls(broker, ssl_context=context) == "fake"


def test_a_certificate_that_is_not_trusted(certificate: tuple[Path, Path]) -> None:
    with (
        TlsBroker(certificate) as broker,
        pytest.raises(KafkaTimeoutError, match=r"TLS handshake failed: the server's certificate is refused"),
    ):
        bootstrap_over_tls(broker, 500)
