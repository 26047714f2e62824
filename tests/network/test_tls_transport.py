"""Connections over TLS: what goes over a plain one goes over these, and a handshake that fails harms no other."""

from __future__ import annotations

import contextlib
import gc
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kafkapy.network.send_queue import READ_CHUNK
from kafkapy.network.tls_transport import MAX_UNREAD_BYTES, RECEIVED_BYTES, TlsTransport
from kafkapy.record.file_records import FileRecords
from kafkapy.security.tls.contexts import client_context
from kafkapy.security.tls.session import TlsSession
from kafkapy.server.security.tls_listeners import TlsListener
from tests.network.loopback import Loopback, LoopbackClient
from tests.security.tls import pki
from tests.security.tls.key_update import KeyUpdates

MakeLoopback = Callable[..., Loopback]


class TlsClient(LoopbackClient):
    """Its socket encrypts."""

    def __init__(self, loop: Loopback, port: int, **configs: Any) -> None:
        super().__init__(loop, port, None, "127.0.0.1")
        self.plain = self.socket
        self.session = TlsSession(client_context({**pki.trust(), **configs}), server_hostname="localhost")
        self.session.start()
        self.socket: Any = self

    def handshake(self) -> None:
        self.loop.until(lambda: self.pump() or self.session.handshake_complete or self.eof)

    def read_raw(self) -> bool:
        """Drop ciphertext; always True."""
        with contextlib.suppress(BlockingIOError):
            while self.plain.recv(1 << 16):
                pass
        return True

    def pump(self) -> bool:
        """Move ciphertext in both directions."""
        if outgoing := self.session.take_outgoing():
            self.plain.sendall(outgoing)
        try:
            data = self.plain.recv(1 << 16)
        except BlockingIOError:
            return False
        except ConnectionError:
            data = b""
        self.session.received(data)
        self.eof = not data
        return False

    # --- as a socket

    def sendall(self, data: bytes) -> None:
        self.session.write([data])
        self.pump()

    def recv(self, size: int) -> bytes:
        self.pump()
        buffer = bytearray(size)
        count = self.session.read_into(buffer)
        if not count and not self.eof and not self.session.peer_closed:
            raise BlockingIOError
        return bytes(buffer[:count])

    def getsockname(self) -> Any:
        return self.plain.getsockname()

    def close(self) -> None:
        self.plain.close()


@pytest.fixture
def tls() -> TlsListener:
    return TlsListener({**pki.keys(pki.credential()), **pki.trust()})


@pytest.fixture
def loop(make_loopback: MakeLoopback, tls: TlsListener) -> Loopback:
    return make_loopback(tls=tls)


def connect(loop: Loopback, port: int | None = None, **configs: Any) -> TlsClient:
    client = TlsClient(loop, port or loop.listen(), **configs)
    loop.clients.append(client)
    client.handshake()
    return client


def test_requests_are_answered(loop: Loopback) -> None:
    client = connect(loop)
    assert client.session.version == "TLSv1.3"
    for number in range(1, 4):
        client.heartbeat()
        assert client.response()[0] == number
    assert str(loop.requests[0].context.principal) == "User:ANONYMOUS"


def test_a_client_certificate_is_the_principal(make_loopback: MakeLoopback) -> None:
    required = TlsListener({**pki.keys(pki.credential()), **pki.trust(), "ssl.client.auth": "required"})
    loop = make_loopback(tls=required)
    client = connect(loop, **pki.keys(pki.credential("CN=alice,OU=teams,O=kit")))
    client.heartbeat()
    client.response()
    assert str(loop.requests[0].context.principal) == "User:CN=alice,OU=teams,O=kit"


def test_without_a_certificate_that_is_required_nothing_is_handled(make_loopback: MakeLoopback) -> None:
    loop = make_loopback(tls=TlsListener({**pki.keys(pki.credential()), **pki.trust(), "ssl.client.auth": "required"}))
    client = connect(loop)
    client.sendall(b"\0\0\0\x0a" + bytes(10))
    loop.until(lambda: client.pump() or client.eof)
    assert not loop.requests
    loop.until(lambda: loop.server.connection_count == 0)


def test_a_certificate_without_a_rule_ends_the_connection(make_loopback: MakeLoopback) -> None:
    rules = {"ssl.client.auth": "requested", "ssl.principal.mapping.rules": "RULE:^CN=(bob)$/$1/"}
    loop = make_loopback(tls=TlsListener({**pki.keys(pki.credential()), **pki.trust(), **rules}))
    client = connect(loop, **pki.keys(pki.credential("CN=alice,OU=teams,O=kit")))
    loop.until(lambda: client.pump() or client.eof)
    assert not loop.requests


@pytest.mark.parametrize("size", [10, READ_CHUNK - 1, 5 * READ_CHUNK + 3])
@pytest.mark.parametrize("in_file", [True, False])
def test_records_of_any_size_arrive(loop: Loopback, tmp_path: Path, size: int, in_file: bool) -> None:
    content = bytes(number % 251 for number in range(size))
    path = tmp_path / "log"
    path.write_bytes(content)
    client = connect(loop)
    with open(path, "rb") as file:
        loop.records = FileRecords(file, 0, size) if in_file else content
        for _ in range(2):
            client.fetch()
            assert client.fetched() == content
        client.heartbeat()
        client.response()


@pytest.mark.parametrize("send_buffer", [4096, 102_400])
def test_the_last_ciphertext_of_an_answer_is_sent_when_the_kernel_has_room(
    make_loopback: MakeLoopback, tls: TlsListener, send_buffer: int
) -> None:
    """Its plaintext is taken before: the queue is empty while TLS still has bytes to send."""
    loop = make_loopback(tls=tls, send_buffer=send_buffer)
    client = connect(loop)
    for size in range(9 * READ_CHUNK, 11 * READ_CHUNK, READ_CHUNK // 4):
        loop.records = bytes(size)
        client.fetch()
        loop.turns(20)
        assert len(client.fetched()) == size


def test_a_client_that_does_not_read_holds_one_answer(loop: Loopback, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(30 << 20))
    client = connect(loop)
    with open(path, "rb") as file:
        loop.records = FileRecords(file, 0, 30 << 20)
        for _ in range(3):
            client.fetch()
        loop.turns(50)
        assert len(loop.requests) == 1
        (channel,) = loop.server._channels
        transport: Any = channel.transport
        assert transport.session.outgoing_bytes <= 2 * READ_CHUNK
        for _ in range(3):
            assert len(client.fetched()) == 30 << 20
    assert len(loop.requests) == 3


def test_a_client_that_asks_for_new_keys_and_reads_no_answer_fills_no_memory(
    make_loopback: MakeLoopback, tls: TlsListener, tmp_path: Path
) -> None:
    loop = make_loopback(tls=tls, send_buffer=4096)
    port = loop.listen()
    context = client_context(pki.trust())
    context.keylog_filename = str(tmp_path / "keys")
    client = TlsClient(loop, port)
    client.session = TlsSession(context, server_hostname="localhost")
    client.session.start()
    loop.clients.append(client)
    client.handshake()
    client.pump()
    updates = KeyUpdates((tmp_path / "keys").read_text(), client.session.cipher or "")
    (channel,) = loop.server._channels
    transport: Any = channel.transport
    left, longest = b"", 0
    for _ in range(40):
        left = left or b"".join(updates.record() for _ in range(500))
        try:
            left = left[client.plain.send(left) :]
        except BlockingIOError:
            break
        loop.turns(3)
        longest = max(longest, transport._tls.waiting_bytes)
    assert longest > MAX_UNREAD_BYTES, "the client was read from to the end: send more"
    assert longest < MAX_UNREAD_BYTES + 2 * RECEIVED_BYTES
    loop.until(lambda: bool(client.read_raw()) and not transport._tls.is_waiting)
    assert transport.connected


def test_requests_that_arrived_in_one_record_are_all_answered(loop: Loopback) -> None:
    """Decrypted bytes don't make a socket readable: what waits while a request is answered is handed on afterwards."""
    client = connect(loop)
    loop.hold = True
    frame = heartbeat_frame(client)
    client.sendall(frame * 20)
    for number in range(20):
        loop.until(lambda number=number: len(loop.requests) > number)  # type: ignore[misc]
        loop.answer(loop.requests[number])
    for _ in range(20):
        client.response()


def heartbeat_frame(client: TlsClient) -> bytes:
    sent: list[bytes] = []
    with patch.object(client, "sendall", sent.append):
        client.heartbeat()
    return sent[0]


def test_a_plaintext_client_is_told_apart(loop: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="kafkapy")
    port = loop.listen()
    plain = loop.connect(port)
    plain.heartbeat()
    loop.until(lambda: plain.is_closed())
    assert "a plaintext client on a TLS port" in caplog.text
    assert not loop.requests


@pytest.mark.parametrize("first", [b"", b"\x16\x03\x01", b"\x16\x03\x01\x40\x00" + bytes(100)])
def test_a_handshake_that_does_not_go_on_holds_up_no_other(loop: Loopback, first: bytes) -> None:
    port = loop.listen()
    with socket.create_connection(("127.0.0.1", port)) as idle:
        idle.sendall(first)
        loop.turns(5)
        other = connect(loop, port)
        other.heartbeat()
        other.response()
    loop.until(lambda: loop.server.connection_count == 1)


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", bytes(1000), struct.pack(">i", 1 << 30) + bytes(5000)])
def test_garbage_ends_the_connection(loop: Loopback, garbage: bytes) -> None:
    port = loop.listen()
    with socket.create_connection(("127.0.0.1", port)) as bad:
        bad.sendall(garbage)
        loop.until(lambda: loop.server.accepted == 1 and loop.server.connection_count == 0)
        assert bad.recv(100) == bytes.fromhex("15030300020250")  # as Java's: the alert internal_error


@pytest.mark.parametrize("says_so", [True, False])
def test_the_broker_answers_a_client_that_ends(loop: Loopback, says_so: bool) -> None:
    client = connect(loop)
    if says_so:
        client.session.close()
    client.plain.sendall(client.session.take_outgoing())
    client.plain.shutdown(socket.SHUT_WR)
    loop.until(lambda: client.pump() or client.eof)
    client.session.read_into(bytearray(10))
    assert client.session.peer_closed and client.session.failure is None


def test_the_broker_says_close_notify(loop: Loopback) -> None:
    client = connect(loop)
    loop.hold = True
    client.heartbeat()
    loop.until(lambda: bool(loop.requests))
    loop.requests[0].close_connection("test")
    loop.until(lambda: client.pump() or client.eof)
    client.session.read_into(bytearray(10))
    assert client.session.peer_closed


def test_what_is_queued_is_sent_before_the_connection_ends(make_loopback: MakeLoopback, tls: TlsListener) -> None:
    loop = make_loopback(tls=tls, send_buffer=4096)
    client = connect(loop)
    loop.records = bytes(10 * READ_CHUNK)
    loop.hold = True
    client.fetch()
    loop.until(lambda: bool(loop.requests))
    loop.answer(loop.requests[0])
    (channel,) = loop.server._channels
    channel.close("test")
    assert len(client.fetched()) == 10 * READ_CHUNK
    loop.until(lambda: client.pump() or client.eof)
    client.session.read_into(bytearray(10))
    assert client.session.peer_closed


def test_nothing_of_a_connection_stays(loop: Loopback) -> None:
    """Reference counts free it; a cycle would wait for Python's collector."""
    port = loop.listen()
    gc.collect()
    before = {id(each) for each in gc.get_objects() if isinstance(each, TlsTransport)}
    gc.disable()
    try:
        for _ in range(3):
            client = connect(loop, port)
            client.heartbeat()
            client.response()
            client.close()
            loop.until(lambda: loop.server.connection_count == 0)
        loop.requests.clear()
        loop.turns(3)
        stay = [each for each in gc.get_objects() if isinstance(each, TlsTransport) and id(each) not in before]
        assert stay == []
    finally:
        gc.enable()
