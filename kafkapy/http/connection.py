"""One client's connection to an HTTP server: requests are answered one after the other, in their order."""

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
"""What answers a request. Its Deferreds do not fail."""
Refuse = Callable[[int, str], HttpAnswer]
"""The answer to what is no request: of a status and a sentence."""

_MOST_UNREAD = 65_536
"""Bytes of later requests that may wait here while one is answered."""


@implementer(IPushProducer)
class HttpConnection(Protocol, TimeoutMixin):
    """It is the producer of what it writes: the transport says when its client does not read what it is sent.

    Invariant: while `_busy` a request is being answered, and while `_unread` an answer waits for the client to read: then no
    other request is looked at, and what comes is bounded. The connection is only timed out while nothing is being answered.
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
            self.transport.abortConnection()  # it will not come to read the rest
        else:
            self._end()

    def pauseProducing(self) -> None:
        self._unread = True

    def resumeProducing(self) -> None:
        self._unread = False
        self.resetTimeout()
        self._go_on()

    def stopProducing(self) -> None:
        """The connection is lost."""

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
        """Answer what has come, until one request's answer takes its time."""
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
        """After what was written is sent, if the client reads it in time."""
        self._ended = True
        self.setTimeout(self._idle_timeout_s)
        self.transport.unregisterProducer()
        self.transport.loseConnection()


class EagerTransport(tcp.Server):
    """Twisted's connection, which sends at once what the kernel takes: Twisted has the reactor watch the socket first, which
    costs three system calls and another turn."""

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
    """As it is sent. `method` HEAD: without its body."""
    status = answer.status
    lines = [_status_line(status), _date(int(time.time()))]
    lines += _lines(answer.headers)
    if status not in (204, 304):
        lines.append(f"content-length: {len(answer.body)}")
    lines.append("\r\n" if keep_alive else "connection: close\r\n\r\n")
    head = "\r\n".join(lines).encode("latin-1", "replace")
    return head if method == "HEAD" or not answer.body else head + answer.body


def _lines(headers: Iterable[tuple[str, str]]) -> list[str]:
    """A value cannot begin a line of its own."""
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
