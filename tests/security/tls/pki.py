"""A certificate authority for tests, made once."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from kafkapy.security.tls.certificates import CertificateAuthority, Credential
from kafkapy.security.tls.contexts import client_context, server_context
from kafkapy.security.tls.session import TlsSession

NOW = datetime.now(UTC)  # OpenSSL compares with the clock of the machine


@cache
def authority(name: str = "CN=kit-ca,O=kit") -> CertificateAuthority:
    return CertificateAuthority(name, NOW)


@cache
def credential(name: str = "CN=broker,OU=kafka,O=kit", *hosts: str, password: str | None = None) -> Credential:
    return authority().issue(name, hosts or ("localhost", "127.0.0.1", "::1"), password=password)


def keys(of: Credential, password: str | None = None) -> dict[str, Any]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": of.private_key,
        "ssl.keystore.certificate.chain": of.certificate_chain,
        "ssl.key.password": password,
    }


def trust(of: CertificateAuthority | None = None) -> dict[str, Any]:
    return {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": (of or authority()).certificate,
    }


def sessions(
    server: dict[str, Any] | None = None, client: dict[str, Any] | None = None, host: str = "localhost"
) -> tuple[TlsSession, TlsSession]:
    """A server and a client that have not spoken yet."""
    of_server = server_context({**keys(credential()), **trust(), **(server or {})})
    of_client = client_context({**trust(), **(client or {})})
    return TlsSession(of_server, server_side=True), TlsSession(of_client, server_hostname=host)


def exchange(server: TlsSession, client: TlsSession) -> None:
    """Until neither has anything to send."""
    client.start()
    while client.has_outgoing or server.has_outgoing:
        server.received(client.take_outgoing())
        client.received(server.take_outgoing())


def connected(
    server: dict[str, Any] | None = None, client: dict[str, Any] | None = None, host: str = "localhost"
) -> tuple[TlsSession, TlsSession]:
    both = sessions(server, client, host)
    exchange(*both)
    return both


def read_all(session: TlsSession, size: int = 65536) -> bytes:
    buffer = bytearray(size)
    found = b""
    while count := session.read_into(buffer):
        found += buffer[:count]
    return found
