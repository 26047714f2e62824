"""A connection: answers in the order of the requests, one at a time; a client that sends on and on is paused."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from kafkapy.http.connection import HttpConnection, encode
from kafkapy.http.messages import HttpAnswer
from kafkapy.http.request_reader import Arrived


class Connected:
    """`asked`: the requests that are being answered, with what answers them. Paths that begin with /now are answered at once."""

    def __init__(self, idle_timeout_s: float = 60) -> None:
        self.asked: list[tuple[str, Deferred[HttpAnswer]]] = []
        self.clock = Clock()
        refuse = lambda status, sentence: HttpAnswer(status, sentence.encode())  # noqa: E731
        connection: Any = HttpConnection(self._respond, refuse, 1_000, idle_timeout_s)
        connection.callLater = self.clock.callLater
        self.transport: Any = StringTransport()  # type: ignore[no-untyped-call]
        connection.makeConnection(self.transport)
        self.connection = connection

    def _respond(self, arrived: Arrived) -> HttpAnswer | Deferred[HttpAnswer]:
        path = arrived.request.path
        if path.startswith("/now"):
            return HttpAnswer(200, path.encode())
        answer: Deferred[HttpAnswer] = Deferred()
        self.asked.append((path, answer))
        return answer

    def get(self, *paths: str, version: str = "1.1") -> None:
        for path in paths:
            self.connection.dataReceived(f"GET {path} HTTP/{version}\r\nhost: h\r\n\r\n".encode())

    def answer(self) -> None:
        path, waiting = self.asked.pop(0)
        waiting.callback(HttpAnswer(200, path.encode()))

    @property
    def answered(self) -> list[str]:
        text = self.transport.value().decode()
        return [part.partition("\r\n\r\n")[2].strip() for part in text.split("HTTP/1.1 ")[1:]]


def test_one_after_the_other() -> None:
    client = Connected()
    client.get("/a", "/now", "/b", "/now2")
    assert [path for path, _ in client.asked] == ["/a"], "the next is looked at when that is answered"
    client.answer()
    assert client.answered == ["/a", "/now"]
    client.answer()
    assert client.answered == ["/a", "/now", "/b", "/now2"]
    client.get(*["/now"] * 3_000)
    assert len(client.answered) == 3_004


def test_many_in_one_piece_do_not_nest() -> None:
    client = Connected()
    piece = b"GET /now HTTP/1.1\r\nhost: h\r\n\r\n" * 2_000
    client.get("/a")
    client.connection.dataReceived(piece)
    client.answer()
    assert len(client.answered) == 2_001


def test_who_sends_on_and_on_is_paused() -> None:
    client = Connected()
    client.get("/a")
    piece = b"GET /now HTTP/1.1\r\nhost: h\r\n\r\n" * 1_000
    client.connection.dataReceived(piece)
    assert client.transport.producerState == "producing"
    for _ in range(3):
        client.connection.dataReceived(piece)
    assert client.transport.producerState == "paused"
    client.answer()
    assert client.transport.producerState == "producing"
    assert len(client.answered) == 4_001


def test_the_end_of_a_connection() -> None:
    client = Connected()
    client.get("/now", "/now", version="1.0")
    assert client.answered == ["/now"]
    assert client.transport.disconnecting
    client = Connected()
    client.connection.dataReceived(b"nonsense\r\n\r\n")
    assert client.transport.value().startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert client.transport.disconnecting


def test_idle_connections_are_closed_and_those_that_wait_for_an_answer_not() -> None:
    client = Connected(idle_timeout_s=10)
    client.get("/a")
    client.clock.advance(25)
    client.clock.advance(25)
    assert not client.transport.disconnecting
    client.answer()
    client.clock.advance(9)
    assert not client.transport.disconnecting
    client.clock.advance(2)
    assert client.transport.disconnecting


def test_an_answer_to_one_that_has_gone_is_dropped() -> None:
    client = Connected()
    client.get("/a")
    client.connection.connectionLost()
    client.answer()
    assert client.transport.value() == b""


def test_encoding() -> None:
    sent = encode(HttpAnswer(200, b"{}", (("x-a", "one\r\nset-cookie: evil"),)), "GET", True)
    assert b"\r\nset-cookie" not in sent
    assert sent.endswith(b"\r\ncontent-length: 2\r\n\r\n{}")
    assert encode(HttpAnswer(200, b"{}"), "HEAD", True).endswith(b"\r\ncontent-length: 2\r\n\r\n")
    assert b"content-length" not in encode(HttpAnswer(204), "GET", True)
    assert b"connection: close" in encode(HttpAnswer(200), "GET", False)


def test_a_client_that_does_not_read_gets_no_more_answers() -> None:
    client = Connected()
    client.transport.producer.pauseProducing()
    client.get(*["/now"] * 3_000)
    assert client.answered == []
    assert client.transport.producerState == "paused", "nor are more requests taken in"
    client.transport.producer.resumeProducing()
    assert len(client.answered) == 3_000
    assert client.transport.producerState == "producing"


def test_a_client_that_never_reads_is_cut_off() -> None:
    client = Connected(idle_timeout_s=10)
    client.transport.producer.pauseProducing()
    client.clock.advance(9)
    assert not client.transport.disconnected
    client.clock.advance(2)
    assert client.transport.disconnected


def test_the_end_does_not_wait_for_a_client_that_never_reads() -> None:
    client = Connected(idle_timeout_s=10)
    client.connection.dataReceived(b"nonsense\r\n\r\n")
    assert client.transport.disconnecting
    assert client.transport.producer is None
    client.clock.advance(11)
    assert client.transport.disconnected
