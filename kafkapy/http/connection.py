"""A client's connection to an HTTP server: requests are answered one at a time, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from twisted.internet import tcp
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol
from twisted.protocols.policies import TimeoutMixin
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkapy.http.messages import HttpAnswer
from kafkapy.http.request_reader import Arrived, BadRequest, RequestReader

Respond = Callable[[Arrived], "HttpAnswer | Deferred[HttpAnswer]"]
"""Handles a request. Its Deferreds must not fail."""
Refuse = Callable[[int, str], HttpAnswer]
"""Returns the response to malformed input, from a status and a message."""

_MOST_UNREAD = 65_536
"""Limit of buffered bytes of later requests while one is handled."""


@implementer(IPushProducer)
class HttpConnection(Protocol, TimeoutMixin):
    """Registered as a producer with its transport, which pauses it while the client does not read.

    Invariant: while `_busy` a request is being handled, and while `_unread` a response waits for the client to read;
    meanwhile no other request is parsed, and buffered input is bounded. The idle time-out only runs while no request
    is handled.
    """

    transport: Any

    def __init__(self, respond: Respond, refuse: Refuse, max_body_bytes: int, idle_timeout_s: float) -> None:
        self._respond = respond
        self._refuse = refuse
        self._reader = RequestReader(max_body_bytes)
        self._idle_timeout_s = idle_timeout_s
        self._busy = False
        self._turning = False
        self._unread = False
        self._paused = False
        self._ended = False

    def connectionMade(self) -> None:
        self.setTimeout(self._idle_timeout_s)
        self.transport.registerProducer(self, True)

    def connectionLost(self, reason: Failure | None = None) -> None:
        self._ended = True
        self.setTimeout(None)

    def timeoutConnection(self) -> None:
        if self._busy:
            self.setTimeout(self._idle_timeout_s)
        elif self._unread or self._ended:
            self.transport.abortConnection()  # the client does not read the rest
        else:
            self._end()

    def pauseProducing(self) -> None:
        self._unread = True

    def resumeProducing(self) -> None:
        self._unread = False
        self.resetTimeout()
        self._go_on()

    def stopProducing(self) -> None:
        """Called when the connection is lost."""

    def dataReceived(self, data: bytes) -> None:
        if self._ended:
            return
        self.resetTimeout()
        self._reader.feed(data)
        if not (self._busy or self._unread):
            self._turn()
        elif self._reader.waiting_bytes > _MOST_UNREAD and not self._paused:
            self._paused = True
            self.transport.pauseProducing()

    def _turn(self) -> None:
        """Handle received requests until a response is asynchronous."""
        self._turning = True
        try:
            while not (self._busy or self._unread or self._ended):
                arrived = self._reader.next()
                if arrived is None:
                    if self._reader.awaits_continue:
                        self._reader.awaits_continue = False
                        self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    break
                self._busy = True
                answer = self._respond(arrived)
                if isinstance(answer, HttpAnswer):
                    self._send(answer, arrived)
                else:
                    answer.addCallback(self._send, arrived)
        except BadRequest as bad:
            self.transport.write(encode(self._refuse(bad.status, str(bad)), "", False))
            self._end()
        finally:
            self._turning = False

    def _send(self, answer: HttpAnswer, arrived: Arrived) -> None:
        self._busy = False
        if self._ended:
            return
        self.transport.write(encode(answer, arrived.request.method, arrived.keep_alive))
        if not arrived.keep_alive:
            self._end()
            return
        self.resetTimeout()
        self._go_on()

    def _go_on(self) -> None:
        if self._busy or self._unread or self._ended:
            return
        if self._paused:
            self._paused = False
            self.transport.resumeProducing()
        if not self._turning and self._reader.waiting_bytes:
            self._turn()

    def _end(self) -> None:
        """Close the connection after the written bytes were sent, or after a time-out."""
        self._ended = True
        self.setTimeout(self._idle_timeout_s)
        self.transport.unregisterProducer()
        self.transport.loseConnection()


class EagerTransport(tcp.Server):
    """Twisted's connection with immediate writes.

    Twisted waits for the reactor to report the socket as writable first, at the cost of three system calls and an
    iteration.
    """

    def write(self, data: bytes) -> None:
        if self.connected and not (self.disconnecting or self.dataBuffer or self._tempDataBuffer):
            sent = self.writeSomeData(data)
            if isinstance(sent, int) and sent > 0:
                data = data[sent:]
        if data:
            super().write(data)


class EagerPort(tcp.Port):
    transport = EagerTransport


def encode(answer: HttpAnswer, method: str, keep_alive: bool) -> bytes:
    """Encode a response; for `method` HEAD without its body."""
    status = answer.status
    lines = [_status_line(status), _date(int(time.time()))]
    lines += _lines(answer.headers)
    if status not in (204, 304):
        lines.append(f"content-length: {len(answer.body)}")
    lines.append("\r\n" if keep_alive else "connection: close\r\n\r\n")
    head = "\r\n".join(lines).encode("latin-1", "replace")
    return head if method == "HEAD" or not answer.body else head + answer.body


def _lines(headers: Iterable[tuple[str, str]]) -> list[str]:
    """Encode headers; line breaks in values are rejected, so that a value can't inject a header."""
    return [
        f"{name}: {value}" if value.isprintable() else f"{name}: {''.join(filter(str.isprintable, value))}"
        for name, value in headers
    ]


@lru_cache
def _status_line(status: int) -> str:
    try:
        return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP/1.1 {status} Unknown"


@lru_cache(maxsize=1)
def _date(seconds: int) -> str:
    return f"date: {formatdate(seconds, usegmt=True)}"
