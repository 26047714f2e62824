"""The bad line does what it says, between an echo and its caller."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from system_tests.proxy import Proxy
from tests.waiting import HANG_SECONDS

HOST = "127.0.0.1"


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            while data := self.request.recv(1 << 16):
                self.request.sendall(data)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer((HOST, 0), Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        proxy = Proxy((HOST, server.server_address[1]))
        yield proxy
        proxy.close()
        server.shutdown()


def call(proxy: Proxy) -> socket.socket:
    connection = socket.create_connection((HOST, proxy.port), timeout=HANG_SECONDS)
    assert echo(connection, b"hello") == b"hello"
    return connection


def echo(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return receive(connection, len(data))


def receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := connection.recv(size - len(data))):
        data += piece
    return data


def is_silent(connection: socket.socket) -> bool:
    connection.settimeout(0.1)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    finally:
        connection.settimeout(HANG_SECONDS)
    return False


def test_forwards(proxy: Proxy) -> None:
    with call(proxy) as connection:
        data = bytes(1 << 20)
        threading.Thread(target=connection.sendall, args=(data,), daemon=True).start()
        assert receive(connection, len(data)) == data
        assert proxy.connections == 1


def test_the_end_of_a_connection_is_forwarded(proxy: Proxy) -> None:
    with call(proxy) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""


def test_cut(proxy: Proxy) -> None:
    with call(proxy) as one, call(proxy) as two:
        assert proxy.cut() == 2
        for connection in (one, two):
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
    with call(proxy):
        pass


def test_cut_after_some_bytes(proxy: Proxy) -> None:
    with call(proxy) as connection:
        proxy.cut_after(3)
        connection.sendall(b"abcdef")
        assert receive(connection, 3) == b"abc"
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_half_close(proxy: Proxy) -> None:
    with call(proxy) as connection:
        assert proxy.half_close() == 1
        assert connection.recv(1) == b""
        connection.sendall(b"still open")


def test_stall(proxy: Proxy) -> None:
    with call(proxy) as old:
        assert proxy.stall() == 1
        old.sendall(b"anybody there?")
        assert is_silent(old)
        with call(proxy):
            pass


def test_freeze_and_thaw(proxy: Proxy) -> None:
    with call(proxy) as old, socket.create_connection((HOST, proxy.port), timeout=HANG_SECONDS) as new:
        proxy.freeze()
        old.sendall(b"old")
        new.sendall(b"new")
        assert is_silent(old) and is_silent(new)
        proxy.thaw()
        assert receive(old, 3) == b"old"
        assert receive(new, 3) == b"new"


def test_slow(proxy: Proxy) -> None:
    with call(proxy) as connection:
        proxy.delay = 0.05
        begin = time.monotonic()
        echo(connection, b"x")
        assert time.monotonic() - begin >= 0.1
        proxy.delay, proxy.rate = 0.0, 10_000
        begin = time.monotonic()
        echo(connection, bytes(500))
        assert time.monotonic() - begin >= 0.1


def test_broker_is_away(proxy: Proxy) -> None:
    with socket.socket() as unused:
        unused.bind((HOST, 0))
        proxy.target = unused.getsockname()
        check_reset(proxy)


def test_refuses(proxy: Proxy) -> None:
    proxy.open = False
    check_reset(proxy)


def check_reset(proxy: Proxy) -> None:
    with (
        pytest.raises(ConnectionResetError),
        socket.create_connection((HOST, proxy.port), timeout=HANG_SECONDS) as connection,
    ):
        connection.recv(1)
