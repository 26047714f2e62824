"""The page for Prometheus: made once for all who wait, with a checkpoint after each piece."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Iterator

import pytest
from twisted.internet.defer import Deferred

from kafkapy.network.http_site import HttpSite, health_pages
from kafkapy.network.metrics_page import MetricsPage
from kafkapy.runtime.reactor_clock import ReactorClock
from tests.network.loopback import Loopback


class SliceIsOver(ReactorClock):
    """A turn at each checkpoint: each piece takes longer than a slice."""

    def should_yield(self, extra_seconds: float = 0.0) -> bool:
        return True


class Made:
    """A site, and how often its page was made."""

    def __init__(self, loop: Loopback) -> None:
        self.loop = loop
        self.times = 0
        self.pieces = 0
        self.clients: list[socket.socket] = []
        self.why = ""
        page = MetricsPage(SliceIsOver(loop.reactor), "text/plain", self.make)
        self.site = HttpSite(loop.reactor, {"metrics": page, **health_pages(lambda: self.why)})
        Deferred.fromCoroutine(self.site.listen("127.0.0.1", 0, "a.listener"))
        self.port = self.site.port

    def make(self) -> Iterator[bytes]:
        self.times += 1
        for _ in range(20):
            self.pieces += 1
            yield b"piece\n"
        if self.times > 1:
            yield b"again\n"

    def get(self, path: str = "metrics", headers: str = "") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port))
        client.sendall(f"GET /{path} HTTP/1.0\r\n{headers}\r\n".encode())
        client.setblocking(False)
        self.clients.append(client)
        return client

    def answer(self, client: socket.socket) -> bytes:
        received = bytearray()

        def ended() -> bool:
            try:
                data = client.recv(1 << 16)
            except BlockingIOError:
                return False
            received.extend(data)
            return not data

        self.loop.until(ended)
        return bytes(received)


@pytest.fixture
def made(make_loopback: Callable[..., Loopback]) -> Iterator[Made]:
    made = Made(make_loopback())
    made.loop.reactor.time_slice.seconds = 0  # each piece takes longer
    made.loop.reactor.time_slice.max_seconds = -1  # though nothing else waits
    yield made
    for client in made.clients:
        client.close()


def test_all_who_wait_get_one_page(made: Made) -> None:
    first = made.get()
    made.loop.until(lambda: made.pieces > 2)
    second = made.get()
    for client in (first, second):
        answer = made.answer(client)
        assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n" + 20 * b"piece\n")
    assert made.times == 1
    assert made.answer(made.get()).endswith(b"piece\nagain\n")


def test_one_piece_in_a_turn(made: Made) -> None:
    made.get()
    made.loop.until(lambda: made.pieces > 0)
    before = made.pieces
    made.loop.reactor.iterate(0)
    assert made.pieces <= before + 1


def test_who_leaves_is_forgotten(made: Made) -> None:
    leaves, stays = made.get(), made.get()
    made.loop.until(lambda: made.pieces > 2)
    leaves.close()
    assert b"piece" in made.answer(stays)


def test_gzip_for_those_who_accept_it(made: Made) -> None:
    zipped, plain = made.get(headers="Accept-Encoding: deflate, gzip\r\n"), made.get()
    head, _, body = made.answer(zipped).partition(b"\r\n\r\n")
    assert b"content-encoding: gzip" in head.lower()
    assert gzip.decompress(body) == 20 * b"piece\n"
    assert f"content-length: {len(body)}".encode() in head.lower()
    head, _, body = made.answer(plain).partition(b"\r\n\r\n")
    assert b"content-encoding" not in head.lower()
    assert body == 20 * b"piece\n"
    assert made.times == 1


def test_a_broker_lives_before_it_is_ready(made: Made) -> None:
    made.why = "the broker is starting"
    assert made.answer(made.get("healthz")).startswith(b"HTTP/1.0 200 OK\r\n")
    answer = made.answer(made.get("readyz"))
    assert answer.startswith(b"HTTP/1.0 503 ")
    assert answer.endswith(b"\r\n\r\nthe broker is starting\n")
    made.why = ""
    assert made.answer(made.get("readyz")).startswith(b"HTTP/1.0 200 OK\r\n")
