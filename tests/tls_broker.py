"""A tiny broker behind TLS."""

from __future__ import annotations

import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from tests.fake_broker import FakeBroker


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """Files of a certificate for localhost and of its key."""
    cert, key = directory / "cert.pem", directory / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    try:
        subprocess.run([*command, *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    return cert, key


class TlsBroker(FakeBroker):
    """Speaks TLS in front of the fake broker's answers."""

    def __init__(self, certificate: tuple[Path, Path]) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*certificate)
        super().__init__()

    def _serve(self, connection: socket.socket) -> None:
        try:
            super()._serve(self.context.wrap_socket(connection, server_side=True))
        except OSError:
            connection.close()
