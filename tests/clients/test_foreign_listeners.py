"""A client on a port of something else, or with TLS where there is none, says so at once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafkapy import KafkaAdminClient
from kafkapy.admin.client import AdminClient
from kafkapy.clients.foreign_starts import told_by
from kafkapy.errors import BootstrapError, NoBrokersAvailable
from tests.fake_broker import FakeBroker
from tests.tls_broker import TlsBroker, make_certificate

FOREVER = 600_000


class StrictBroker(FakeBroker):
    """Hangs up on what is no request, as brokers do."""

    def _serve(self, connection: socket.socket) -> None:
        if connection.recv(1, socket.MSG_PEEK) == b"\x00":
            super()._serve(connection)
        else:
            connection.close()


class Page(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def http_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@contextmanager
def listener(greet: Callable[[socket.socket], object]) -> Iterator[str]:
    """Takes connections, one after the other, until it is told to end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    if ended.is_set():
                        return
                    greet(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        address = server.getsockname()
        yield f"127.0.0.1:{address[1]}"
        ended.set()
        socket.create_connection(address).close()
        thread.join()


def refusal(address: str, **options: Any) -> str:
    """What a client says; it would wait for a broker for long."""
    with pytest.raises(NoBrokersAvailable) as failed:
        KafkaAdminClient(bootstrap_servers=address, bootstrap_timeout_ms=FOREVER, **options)
    return str(failed.value)


def test_an_http_server() -> None:
    """Even one that waits for the end of a line."""
    with http_server() as address:
        assert f"{address} answers in HTTP; give the port of a Kafka listener" in refusal(address)
        with AdminClient(address, bootstrap_timeout_ms=FOREVER) as tools, pytest.raises(BootstrapError) as failed:
            tools.list_topics()
        assert f"{address} answers in HTTP" in str(failed.value)
        assert f"{address} does not answer in TLS" in refusal(address, security_protocol="SSL")


def test_plaintext_to_a_tls_listener(tmp_path: Path) -> None:
    with TlsBroker(make_certificate(tmp_path)) as broker:
        sentence = f"{broker.address} answers in TLS; set security_protocol to SSL or SASL_SSL"
        assert sentence in refusal(broker.address)


def test_tls_to_a_plaintext_listener() -> None:
    with StrictBroker() as broker:
        sentence = f"{broker.address} answers in plaintext; set security_protocol to PLAINTEXT or SASL_PLAINTEXT"
        assert sentence in refusal(broker.address, security_protocol="SSL")


def test_all_of_several() -> None:
    with http_server() as page, listener(lambda connection: connection.sendall(b"SSH-2.0-x\r\n")) as shell:
        said = refusal(f"{page},{shell}")
        assert f"{page} answers in HTTP" in said
        assert f"{shell} answers in SSH" in said


def test_one_that_is_a_broker_is_enough() -> None:
    with (
        http_server() as page,
        FakeBroker() as broker,
        KafkaAdminClient(bootstrap_servers=f"{page},{broker.address}", bootstrap_timeout_ms=FOREVER) as admin,
    ):
        assert admin.list_topics() == []


def test_one_that_says_nothing() -> None:
    with listener(lambda connection: connection.recv(1 << 16) and connection.recv(1)) as address:
        with pytest.raises(NoBrokersAvailable) as failed:
            KafkaAdminClient(bootstrap_servers=address, bootstrap_timeout_ms=200)
        assert f"{address} has taken the connection and does not answer" in str(failed.value)


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (b"HTTP/1.1 400", "HTTP"),
        (b"<!DOCTYPE", "HTTP"),
        (b"SSH-2.0", "SSH"),
        (b"-ERR what", "Redis"),
        (b"\x15\x03\x01\x00\x02", "TLS"),
        (b"\x16\x03\x03\x00\x7a", "TLS"),
    ],
)
def test_the_first_bytes_tell(start: bytes, told: str) -> None:
    assert told in (told_by(start) or "")


def test_other_bytes_tell_nothing() -> None:
    for start in (b"\x00\x00\x00\x08", b"\x16\x04\x00\x00", b"HT", b""):
        assert told_by(start) is None


def test_a_certificate_that_is_not_trusted_is_another_matter(tmp_path: Path) -> None:
    with TlsBroker(make_certificate(tmp_path)) as broker, pytest.raises(NoBrokersAvailable) as failed:
        KafkaAdminClient(bootstrap_servers=broker.address, security_protocol="SSL", bootstrap_timeout_ms=200)
    assert "certificate is refused" in str(failed.value)
