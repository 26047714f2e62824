"""A client of ZooKeeper's protocol without a session's conveniences: it sees each answer and event as it is."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import OPEN_ACL, Acls, encode_acls
from kafkapy.zk.embedded.jute import INT, LONG, buffer, string
from tests.waiting import HANG_SECONDS


class Answer(NamedTuple):
    xid: int
    zxid: int
    code: int
    body: bytes


def create(path: str, data: bytes | None = b"", flags: int = 0, acls: Acls = OPEN_ACL) -> bytes:
    return string(path) + buffer(data) + encode_acls(acls) + INT.pack(flags)


def create_ttl(path: str, flags: int, ttl_ms: int) -> bytes:
    return create(path, b"", flags) + LONG.pack(ttl_ms)


def delete(path: str, version: int = -1) -> bytes:
    return string(path) + INT.pack(version)


def set_data(path: str, data: bytes | None, version: int = -1) -> bytes:
    return string(path) + buffer(data) + INT.pack(version)


def read(path: str, watch: bool = False) -> bytes:
    """Of exists, getData, getChildren."""
    return string(path) + (b"\1" if watch else b"\0")


def multi(*ops: tuple[int, bytes]) -> bytes:
    header = struct.Struct("!i?i")
    return b"".join(header.pack(kind, False, -1) + body for kind, body in ops) + header.pack(-1, True, -1)


def connect_request(
    timeout_ms: int = 10_000, session_id: int = 0, password: bytes = bytes(16), last_zxid: int = 0
) -> bytes:
    return struct.pack("!iqiq", 0, last_zxid, timeout_ms, session_id) + buffer(password) + b"\0"


def request(xid: int, kind: int, body: bytes = b"") -> bytes:
    return struct.pack("!ii", xid, kind) + body


def answer_of(frame: bytes) -> Answer:
    """Of a frame without its length."""
    xid, zxid, code = struct.unpack_from("!iqi", frame)
    return Answer(xid, zxid, code, frame[16:])


class RawClient:
    """Over a socket, one request at a time; events are kept as they come."""

    def __init__(
        self, address: tuple[str, int], timeout_ms: int = 10_000, session_id: int = 0, password: bytes = bytes(16)
    ) -> None:
        self.socket = socket.create_connection(address, timeout=HANG_SECONDS)
        self.events: list[Answer] = []
        self._xid = 0
        self.send(connect_request(timeout_ms, session_id, password))
        frame = self.receive()
        _, self.timeout_ms, self.session_id = struct.unpack_from("!iiq", frame)
        self.password = frame[20:36]

    def send(self, frame: bytes) -> None:
        self.socket.sendall(INT.pack(len(frame)) + frame)

    def receive(self) -> bytes:
        """`ConnectionError`: the server hung up."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the server hung up")
            data += piece
        return data

    def ask(self, kind: int, body: bytes = b"") -> Answer:
        self._xid += 1
        xid = {codes.PING: codes.PING_XID, codes.AUTH: -4}.get(kind, self._xid)
        self.send(request(xid, kind, body))
        while (answer := answer_of(self.receive())).xid == codes.NOTIFICATION_XID:
            self.events.append(answer)
        return answer

    def close(self) -> None:
        self.socket.close()
