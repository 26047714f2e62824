"""One connection to a broker, on which an answer may fail to come."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from enum import Enum

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import encode_request
from kafkapy.protocol.message import Message
from system_tests.services import HOST


class Silence(Enum):
    """What came instead of an answer."""

    NOTHING_YET = "nothing yet"
    HUNG_UP = "hung up"


class Connection:
    """Opens itself when something is sent. Invariant: `_received` begins with a frame's size, or is shorter than one."""

    def __init__(self, port: int, client_id: str) -> None:
        self._port = port
        self._client_id = client_id
        self._socket: socket.socket | None = None
        self._received = b""
        self._correlation_id = 0

    def send(self, api: ApiKey, version: int, message: Message) -> None:
        self._correlation_id += 1
        request = encode_request(api, version, self._correlation_id, self._client_id, message)
        try:
            self._open().sendall(request)
        except ConnectionError:  # the broker hung up after the last answer
            self.close()
            self._open().sendall(request)

    def receive(self, seconds: float) -> bytes | Silence:
        """The next frame without its size, or why there is none after so many seconds."""
        deadline = time.monotonic() + seconds
        while (frame := self._next_frame()) is None:
            if self._socket is None:
                return Silence.HUNG_UP
            readable, _, _ = select.select([self._socket], [], [], max(deadline - time.monotonic(), 0))
            if not readable:
                return Silence.NOTHING_YET
            chunk = b""
            with contextlib.suppress(ConnectionError):
                chunk = self._socket.recv(1 << 20)
            if not chunk:
                self.close()
            self._received += chunk
        return frame

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._received = b""

    def _open(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection((HOST, self._port), timeout=20)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _next_frame(self) -> bytes | None:
        end = 4 + int.from_bytes(self._received[:4], "big")
        if len(self._received) < 4 or len(self._received) < end:
            return None
        frame, self._received = self._received[4:end], self._received[end:]
        return frame
