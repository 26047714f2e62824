"""A server that is none, or means harm: clients say what is wrong in a sentence, at once, and waste no memory or time on it."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.clients.config import ClientConfig
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkapy.security.tls.certificates import CertificateAuthority
from tests.fake_broker import FakeBroker
from tests.waiting import HANG_SECONDS

PASSWORD = TOKEN = "pw-5ecret"
SCRAM = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-256",
    "sasl_plain_username": "alice",
    "sasl_plain_password": PASSWORD,
}

Talk = Callable[[socket.socket], None]


class Provider:
    def token(self) -> str:
        return TOKEN


OAUTH = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauth_token_provider": Provider(),
}


@contextmanager
def server(talk: Talk) -> Iterator[int]:
    """Its port; it talks so to each client, one after the other."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            with connection:
                try:
                    talk(connection)
                    connection.recv(1 << 16)  # until the client hangs up
                except OSError:
                    pass

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def says(data: bytes) -> Talk:
    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(data)

    return talk


def refusal(port: int, **options: Any) -> str:
    """What a client says that can't connect; it takes no longer than a second or two, and tells no secret."""
    config = ClientConfig(bootstrap_servers=f"127.0.0.1:{port}", request_timeout_ms=HANG_SECONDS * 1000, **options)
    began = time.monotonic()
    with pytest.raises(KafkaError) as failed:
        BlockingClient("127.0.0.1", port, config).connect()
    assert time.monotonic() - began < HANG_SECONDS / 10
    told = f"{failed.value} {failed.value!r}"
    assert PASSWORD not in told
    return told


@pytest.mark.parametrize("options", [{}, SCRAM, OAUTH], ids=["plaintext", "scram", "oauth"])
@pytest.mark.parametrize("size", [(1 << 31) - 1, 1 << 30, -5])
def test_a_frame_of_impossible_size(options: dict[str, Any], size: int) -> None:
    with server(says(struct.pack(">i", size) + bytes(100))) as port:
        assert f"The peer announced a response of {size} bytes" in refusal(port, **options)


def sasl_server(answer: Callable[[bytes, int], bytes]) -> FakeBroker:
    """`answer`: to what a client says, the how manieth time."""
    count = 0

    def authenticate(request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
        nonlocal count
        count += 1
        assert count < 5, "the client goes on and on"
        return SaslAuthenticateResponse(auth_bytes=answer(bytes(request.auth_bytes), count))

    def handshake(_: Any) -> SaslHandshakeResponse:
        return SaslHandshakeResponse(mechanisms=["SCRAM-SHA-256", "OAUTHBEARER"])

    return FakeBroker({ApiKey.SASL_HANDSHAKE: handshake, ApiKey.SASL_AUTHENTICATE: authenticate})


def challenge(said: bytes, iterations: int = 4096, nonce: bytes = b"server") -> bytes:
    """Continues the nonce that the client has said."""
    return b"%s%s,s=c2FsdA==,i=%d" % (said[said.index(b"r=") :].partition(b",")[0], nonce, iterations)


SCRAM_ANSWERS: dict[str, tuple[Callable[[bytes, int], bytes], str]] = {
    "2,000,000,000 iterations": (
        lambda said, _: challenge(said, 2_000_000_000),
        "Requested iterations 2000000000 is more than the maximum 1000000",
    ),
    "too few iterations": (lambda said, _: challenge(said, 1), "Requested iterations 1 is less than the minimum 4096"),
    "endless challenges": (lambda said, _: challenge(said), "makes no sense: Invalid SCRAM server final message"),
    "nothing": (lambda said, _: b"", "makes no sense: Invalid SCRAM server first message"),
    "success at once": (lambda said, _: b"v=AAAA", "makes no sense: Invalid SCRAM server first message"),
    "another nonce": (lambda said, _: b"r=x,s=c2FsdA==,i=4096", "nonce does not continue the client's"),
    "the client's nonce": (lambda said, _: challenge(said, nonce=b""), "nonce does not continue the client's"),
    "no proof": (
        lambda said, count: challenge(said) if count == 1 else b"v=AAAA",
        "could not prove that it knows the password",
    ),
    "noise": (lambda said, _: bytes(range(256)) * 1000, "makes no sense"),
}


@pytest.mark.parametrize(("answer", "cause"), SCRAM_ANSWERS.values(), ids=SCRAM_ANSWERS)
def test_scram(answer: Callable[[bytes, int], bytes], cause: str) -> None:
    """CVE-2026-10143: a server that does not know the password makes the client compute for hours."""
    with sasl_server(answer) as broker:
        assert cause in refusal(broker.port, **SCRAM)


def test_a_token_that_is_refused_and_then_taken_is_refused() -> None:
    with sasl_server(lambda said, count: b'{"status":"invalid_token"}' if count == 1 else b"") as broker:
        assert "The broker has refused the token" in refusal(broker.port, **OAUTH)


# --- TLS


@cache
def authority(name: str) -> CertificateAuthority:
    return CertificateAuthority(f"CN={name}", datetime.now(UTC))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tls")
    (made / "ca.pem").write_text(authority("ca").certificate)
    (made / "other host").write_text(authority("ca").issue("CN=x", ["other.example"]).store)
    (made / "other authority").write_text(authority("mallory").issue("CN=x", ["127.0.0.1"]).store)
    (made / "right").write_text(authority("ca").issue("CN=x", ["127.0.0.1"]).store)
    return made


def with_tls(store: Path, version: ssl.TLSVersion | None = None) -> Talk:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(store)
    if version is not None:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version

    def talk(connection: socket.socket) -> None:
        context.wrap_socket(connection, server_side=True).recv(1 << 16)

    return talk


@pytest.mark.parametrize(
    ("store", "cause"),
    [
        ("other host", "IP address mismatch, certificate is not valid for '127.0.0.1'"),
        ("other authority", "self-signed certificate in certificate chain"),
    ],
)
def test_a_certificate_that_does_not_fit(directory: Path, store: str, cause: str) -> None:
    with server(with_tls(directory / store)) as port:
        told = refusal(port, security_protocol="SSL", ssl_cafile=str(directory / "ca.pem"))
    assert f"The TLS handshake failed: certificate verify failed: {cause}" in told


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated:DeprecationWarning")
def test_a_version_that_is_too_old(directory: Path) -> None:
    with server(with_tls(directory / "right", ssl.TLSVersion.TLSv1_1)) as port:
        told = refusal(port, security_protocol="SSL", ssl_cafile=str(directory / "ca.pem"))
    assert "protocol version" in told


RECORDS = {
    "handshake failure": (
        b"\x15\3\3\0\2\2\x28",
        "the peer refuses: no protocol version or cipher suite is common to both",
    ),
    "unrecognized name": (b"\x15\3\3\0\2\2\x70", "the peer has no certificate for the name it was asked for"),
    "no such alert": (b"\x15\3\3\0\2\2\xf9", "what the peer sends is no valid TLS"),
    "huge record": (b"\x16\3\3\xff\xff" + bytes(1000), "what the peer sends is no valid TLS"),
    "a frame": (struct.pack(">i", 40) + bytes(40), "the peer does not answer in TLS"),
    "HTTP": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the peer does not answer in TLS"),
}


@pytest.mark.parametrize(("data", "cause"), RECORDS.values(), ids=RECORDS)
def test_what_comes_in_place_of_a_handshake(directory: Path, data: bytes, cause: str) -> None:
    with server(says(data)) as port:
        told = refusal(port, security_protocol="SSL", ssl_cafile=str(directory / "ca.pem"))
    assert cause in told


def test_a_server_that_hangs_up_in_the_handshake(directory: Path) -> None:
    with server(lambda connection: connection.shutdown(socket.SHUT_RDWR)) as port:
        told = refusal(port, security_protocol="SSL", ssl_cafile=str(directory / "ca.pem"))
    assert "the peer closed it in the TLS handshake" in told


def test_tls_on_a_plaintext_client() -> None:
    with server(says(b"\x15\3\3\0\2\2\x28")) as port:
        assert "answers in TLS; set security_protocol to SSL or SASL_SSL" in refusal(port)
