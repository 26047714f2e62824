"""Orders and answers between a test's process and a server."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from kafkapy.testing.control.client_end import ClientEnd, OrderRefused, ServerGone
from kafkapy.testing.control.wire import MAX_LINE, ControlEnd, to_line


class Server:
    """Answers each order with what `answers` has for it, news first."""

    def __init__(self, *lines: bytes) -> None:
        self.news: list[tuple[str, dict[str, Any]]] = []
        self.end = ClientEnd(lambda name, more: self.news.append((name, more)))
        self.socket = self.end.other_end
        for line in lines:
            self.socket.sendall(line)


def test_an_answer_after_news() -> None:
    server = Server(to_line({"news": "session", "line": None}), to_line({"number": 1, "result": [1]}))
    assert server.end.answer(server.end.send("empty", ms=1)) == [1]
    assert server.news == [("session", {"line": None})]
    assert json.loads(server.socket.recv(1000)) == {"order": "empty", "number": 1, "ms": 1}


def test_a_refusal_is_the_sentence() -> None:
    server = Server(to_line({"number": 1, "error": "there is no such group"}))
    with pytest.raises(OrderRefused, match="there is no such group"):
        server.end.answer(server.end.send("rebalance"))


def test_a_server_that_has_gone() -> None:
    server = Server()
    server.socket.close()
    with pytest.raises(ServerGone, match="it has ended"):
        server.end.wait_for_news(lambda: False, 5)
    with pytest.raises(ServerGone, match="does not reach it"):
        server.end.send("stop")


def test_a_server_that_says_nothing() -> None:
    with pytest.raises(ServerGone, match="does not answer in time"):
        (server := Server()).end.answer(server.end.send("stop"), 0.01)


def test_a_line_without_end_is_not_kept() -> None:
    server = Server()
    thread = threading.Thread(target=lambda: server.socket.sendall(b"x" * (MAX_LINE + 100_000)))
    thread.start()
    with pytest.raises(ServerGone, match=f"a line of more than {MAX_LINE} bytes"):
        server.end.answer(1, 5)
    server.end.close()
    thread.join()


def test_a_server_finds_its_end_once() -> None:
    environment = ControlEnd(5, 1, "/tmp/x").to_environment()
    assert ControlEnd.take_from(environment) == ControlEnd(5, 1, "/tmp/x")
    assert ControlEnd.take_from(environment) is None
