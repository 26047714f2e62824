"""A test's end of the control connection to one server."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from kafkapy.testing.control.wire import MAX_LINE, to_line

ORDER_SECONDS = 120.0


class ServerGone(Exception):
    """The server has ended, or does not answer in time."""


class OrderRefused(Exception):
    """The server refused the order; the message has the reason."""


class ClientEnd:
    """Sends orders and reads answers. Thread-safe; one order at a time.

    Invariant: `_received` holds the bytes received of the next, incomplete line.
    """

    def __init__(self, on_news: Callable[[str, dict[str, Any]], None]) -> None:
        """`on_news(name, more)`: called for each unsolicited message, on the thread that reads it."""
        self._socket, self.other_end = socket.socketpair()
        self._on_news = on_news
        self._lock = threading.Lock()
        self._received = b""
        self._number = 0

    def launched(self) -> None:
        """Close this process's copy of the server's socket, after the server was started."""
        self.other_end.close()

    def close(self) -> None:
        """Close the connection, which makes the server end."""
        self._socket.close()
        self.other_end.close()

    def send(self, order: str, **arguments: object) -> int:
        """Send an order; return its number for `answer`."""
        with self._lock:
            self._number += 1
            try:
                self._socket.sendall(to_line({"order": order, "number": self._number, **arguments}))
            except OSError as error:
                raise ServerGone(f"the order {order!r} does not reach it: {error.strerror}") from error
            return self._number

    def answer(self, number: int, seconds: float = ORDER_SECONDS) -> Any:
        """Wait for the order's result and return it. Raises OrderRefused, ServerGone."""
        with self._lock:
            deadline = time.monotonic() + seconds
            while True:
                message = self._next(deadline)
                if "news" in message:
                    self._on_news(message.pop("news"), message)
                elif message["number"] == number:
                    if "error" in message:
                        raise OrderRefused(message["error"])
                    return message["result"]

    def wait_for_news(self, wanted: Callable[[], bool], seconds: float) -> None:
        """Wait until `wanted()` is true; it is called after each message. Raises ServerGone if the server ends, or on
        a timeout."""
        with self._lock:
            deadline = time.monotonic() + seconds
            while not wanted():
                message = self._next(deadline)
                if "news" in message:
                    self._on_news(message.pop("news"), message)

    def take_news(self) -> None:
        """Process the messages received so far; do nothing if the server has ended."""
        try:
            self.wait_for_news(lambda: False, 0)
        except ServerGone:
            pass

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._received:
            if len(self._received) > MAX_LINE:
                raise ServerGone(f"it sends a line of more than {MAX_LINE} bytes")
            self._socket.settimeout(max(0.0, deadline - time.monotonic()) or 0.000_001)
            try:
                piece = self._socket.recv(65536)
            except TimeoutError:
                raise ServerGone("it does not answer in time") from None
            except OSError as error:
                raise ServerGone(f"it has ended: {error.strerror}") from error
            if not piece:
                raise ServerGone("it has ended")
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message
