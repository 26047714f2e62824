"""Closing a session that is somebody else's: the bytes, and what servers may answer."""

from __future__ import annotations

import queue
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.zk.session_closer import Session, close_session
from kafkapy.zk.zookeeper_client import ZooKeeperClient
from tests.waiting import HANG_SECONDS

SESSION = Session(0x1234, b"p" * 16, 18_000, "127.0.0.1")
CONNECT = struct.pack("!iqiqi", 0, 0, 18_000, 0x1234, 16) + b"p" * 16 + b"\0"
CLOSE = struct.pack("!ii", 1, -11)


def frame(message: bytes) -> bytes:
    return struct.pack("!i", len(message)) + message


def connected(timeout_ms: int = 18_000, session_id: int = 0x1234) -> bytes:
    return frame(struct.pack("!iiqi", 0, timeout_ms, session_id, 16) + b"q" * 16 + b"\0")


def reply(xid: int = 1, error: int = 0) -> bytes:
    return frame(struct.pack("!iqi", xid, 99, error))


class Server:
    """Takes one connection; sends the next answer for each request, then hangs up."""

    def __init__(self, *answers: bytes) -> None:
        self.received: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self._thread = threading.Thread(target=self._serve, args=(answers,))
        self._thread.start()

    def _serve(self, answers: tuple[bytes, ...]) -> None:
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as stream:
            for answer in answers:
                (size,) = struct.unpack("!i", stream.read(4))
                self.received.append(stream.read(size))
                for byte in answer:  # in small pieces
                    try:
                        connection.sendall(bytes([byte]))
                    except OSError:
                        return  # has seen enough

    def close(self) -> None:
        self._thread.join(HANG_SECONDS)
        self._listener.close()


@pytest.fixture
def closing() -> Iterator[list[Server]]:
    servers: list[Server] = []
    yield servers
    for server in servers:
        server.close()


def test_closes(closing: list[Server]) -> None:
    server = Server(connected(), reply())
    closing.append(server)
    assert close_session(SESSION, server.address, 5)
    assert server.received == [CONNECT, CLOSE]


def test_news_before_the_reply(closing: list[Server]) -> None:
    server = Server(connected(), reply(xid=-1) + reply())
    closing.append(server)
    assert close_session(SESSION, server.address, 5)


@pytest.mark.parametrize("answer", [connected(timeout_ms=0, session_id=0), connected(session_id=0x77)])
def test_no_such_session(closing: list[Server], answer: bytes) -> None:
    server = Server(answer)
    closing.append(server)
    assert not close_session(SESSION, server.address, 5)


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ((b"",), "hung up"),
        ((connected()[:9],), "hung up"),
        ((connected(), b""), "hung up"),
        ((connected(), reply(error=-118)), "refused to close the session: error -118"),
        ((b"HTTP/1.1 400 Bad Request\r\n",), "not a ZooKeeper"),
        ((frame(b"short"),), "not a ZooKeeper"),
    ],
)
def test_servers_that_cannot(closing: list[Server], answers: tuple[bytes, ...], problem: str) -> None:
    server = Server(*answers)
    closing.append(server)
    with pytest.raises(OSError, match=problem):
        close_session(SESSION, server.address, 5)


def test_a_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        close_session(SESSION, silent.getsockname(), 0.05)


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=16), st.integers(0, 2**31 - 1))
def test_a_line_brings_the_session_over(session_id: int, password: bytes, timeout_ms: int) -> None:
    session = Session(session_id, b"p" + password, timeout_ms, "a:1, b:2/root")
    line = session.to_line()
    there = Session.from_line(line)
    assert line.count(b"\n") == 1
    assert vars(there) == {**vars(session), "servers": "a:1,b:2/root"}


def test_addresses() -> None:
    servers = "a:1,b,[::1]:3,[fe80::1],10.0.0.1:2/some/root"
    assert Session(1, b"", 1, servers).addresses() == [
        ("a", 1),
        ("b", 2181),
        ("::1", 3),
        ("fe80::1", 2181),
        ("10.0.0.1", 2),
    ]


@pytest.mark.integration
def test_sessions_that_a_client_tells_of(zookeeper: str) -> None:
    """Each new one, before `start` returns or a request can use it; closing it at ZooKeeper makes the client take a new
    one; None at the end."""
    told: queue.Queue[Session | None] = queue.Queue()
    client = ZooKeeperClient(zookeeper, 10_000, on_session=told.put)
    client.start(10_000)
    first = told.get_nowait()
    assert first is not None
    assert (first.session_id, first.servers) == (client.session_id, zookeeper)
    (address,) = first.addresses()
    assert close_session(first, address, 5)
    assert not close_session(first, address, 5)
    second = told.get(timeout=HANG_SECONDS)
    assert second is not None
    assert second.session_id != first.session_id
    client.close()
    assert told.get(timeout=HANG_SECONDS) is None
    assert not close_session(second, address, 5)


@pytest.mark.integration
def test_a_wrong_password_closes_nothing(zookeeper: str) -> None:
    told: queue.Queue[Session | None] = queue.Queue()
    client = ZooKeeperClient(zookeeper, 10_000, on_session=told.put)
    client.start(10_000)
    session = told.get_nowait()
    assert session is not None
    (address,) = session.addresses()
    assert not close_session(Session(session.session_id, b"x" * 16, 10_000, zookeeper), address, 5)
    assert close_session(session, address, 5)
    client.close()
