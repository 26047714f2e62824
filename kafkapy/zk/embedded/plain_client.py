"""A blocking client of ZooKeeper's protocol for tools: one session, many requests on the way, no watches."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkapy.runtime.chunks import chunks
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.jute import INT, buffer, string

_CONNECT = struct.Struct("!iqiq")
_CONNECT_ANSWER = struct.Struct("!iiq")
_HEADER = struct.Struct("!ii")
_REPLY = struct.Struct("!iqi")
_TIMEOUT_MS = 30_000
"""Of the session; a server takes 20 ticks at most, 40 s by default."""
_SECONDS = 30.0
"""For one answer: as long as the session lasts."""
_MOST = 64 << 20
"""Bytes of an answer; a node has 1 MB at most unless jute.maxbuffer was raised."""
_AUTH_XID = -4


class PlainAnswer(NamedTuple):
    code: int
    body: bytes


class PlainClient:
    """`OSError` (`ConnectionError` included) from any method: the server is not there, or no longer."""

    def __init__(self, addresses: Iterable[tuple[str, int]], seconds: float = _SECONDS) -> None:
        """The first address that gives a session is taken; `address` is that one. `seconds`: for each step of the connection."""
        error: OSError = ConnectionError("no address is given")
        for self.address in addresses:
            try:
                self._open(seconds)
            except OSError as failed:
                error = failed
            else:
                return
        raise error

    def _open(self, seconds: float) -> None:
        self._socket = socket.create_connection(self.address, seconds)
        try:
            self._socket.settimeout(seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._send([_CONNECT.pack(0, 0, _TIMEOUT_MS, 0) + buffer(bytes(16)) + b"\0"])
            if _CONNECT_ANSWER.unpack_from(self._receive(_CONNECT_ANSWER.size))[1] <= 0:
                raise ConnectionError("it gives no session")
            self._socket.settimeout(_SECONDS)
        except BaseException:
            self._socket.close()
            raise

    def authenticate(self, user_and_password: str) -> bool:
        """With the scheme digest."""
        self._send([_HEADER.pack(_AUTH_XID, codes.AUTH) + INT.pack(0) + string("digest") + string(user_and_password)])
        return self._answer().code == 0

    def ask(self, kind: int, body: bytes = b"") -> PlainAnswer:
        return next(self.ask_all([(kind, body)]))

    def ask_all(self, requests: Iterable[tuple[int, bytes]]) -> Iterator[PlainAnswer]:
        """The answers in order. A chunk of requests is on the way at a time."""
        for chunk in chunks(requests):
            yield from self._exchange([_HEADER.pack(xid, kind) + body for xid, (kind, body) in enumerate(chunk, 1)])

    def close(self) -> None:
        try:
            self.ask(codes.CLOSE_SESSION)
        except OSError:
            pass  # it ends by itself
        finally:
            self._socket.close()

    def _exchange(self, frames: list[bytes]) -> Iterator[PlainAnswer]:
        self._send(frames)
        for _ in frames:
            yield self._answer()

    def _send(self, frames: list[bytes]) -> None:
        self._socket.sendall(b"".join(INT.pack(len(frame)) + frame for frame in frames))

    def _answer(self) -> PlainAnswer:
        frame = self._receive(_REPLY.size)
        _, _, code = _REPLY.unpack_from(frame)
        return PlainAnswer(code, frame[_REPLY.size :])

    def _receive(self, least: int) -> bytes:
        head = self._exactly(4)
        size = int.from_bytes(head, "big")
        if not least <= size <= _MOST:
            raise ConnectionError(f"it is no ZooKeeper but {_speaker(head)}")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise ConnectionError("it hangs up: it is no ZooKeeper, or one of an ensemble that has no quorum")
            data += piece
        return bytes(data)


def _speaker(head: bytes) -> str:
    """What answers so, by the first bytes of its answer."""
    if head == b"HTTP":
        return "an HTTP server"
    if head[:2] == b"\x15\x03":
        return "a port that expects TLS"
    return f"something that answers with the bytes {head.hex(' ')}"
