"""Closes the ZooKeeper session of a process that has died, by the session's id and password.

Nothing is imported here that isn't small: this runs in the watchdog, which shall cost a few megabytes. It takes two of
ZooKeeper's messages (`zookeeper.jute`: ConnectRequest, ConnectResponse, RequestHeader, ReplyHeader). Each is framed by
its length as an int32; all numbers are big-endian; a buffer is an int32 length and the bytes.

    ConnectRequest    int32 protocol version (0), int64 last zxid seen, int32 time-out in ms, int64 session id, buffer
                      password, bool read-only
    ConnectResponse   int32 protocol version, int32 time-out in ms, int64 session id, buffer password, bool read-only

With the id and the password of a session the new connection carries that session on, wherever it was connected before.
If there is no such session any more the response has time-out 0 and the server hangs up. Then the session is closed:

    RequestHeader     int32 xid, int32 type (-11: closeSession)
    ReplyHeader       int32 xid, int64 zxid, int32 error (0: done)

The ephemeral nodes are gone when the reply comes. A last zxid of 0 lets us in at any server, however far it is behind.
"""

from __future__ import annotations

import socket
import struct

DEFAULT_PORT = 2181
CLOSE_SESSION = -11
_MAX_FRAME = 4096
"""The messages above have some 40 bytes; whoever sends more is no ZooKeeper."""


class Session:
    """What it takes to carry on a session, and where: `servers` is `host:port[,host:port]...[/chroot]`."""

    def __init__(self, session_id: int, password: bytes, timeout_ms: int, servers: str) -> None:
        self.session_id = session_id
        self.password = password
        self.timeout_ms = timeout_ms
        self.servers = servers

    def to_line(self) -> bytes:
        """One line of text, to be sent through a pipe."""
        words = (f"{self.session_id:x}", self.password.hex(), str(self.timeout_ms), self.servers.replace(" ", ""))
        return " ".join(words).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Session:
        """Raises `ValueError` for anything but what `to_line` makes."""
        session_id, password, timeout_ms, servers = line.decode().split()
        return cls(int(session_id, 16), bytes.fromhex(password), int(timeout_ms), servers)

    def addresses(self) -> list[tuple[str, int]]:
        """The chroot plays no part: a session belongs to no path."""
        return [_address(server) for server in self.servers.partition("/")[0].split(",") if server]


def _address(server: str) -> tuple[str, int]:
    """`host`, `host:port`, `[v6]`, `[v6]:port`."""
    host, colon, port = server.rpartition(":")
    if not colon or server.endswith("]"):
        host, port = server, str(DEFAULT_PORT)
    return host.strip("[]"), int(port)


def close_session(session: Session, address: tuple[str, int], timeout: float) -> bool:
    """Close the session through one server: True if it was there, False if it had ended before.

    `timeout` in seconds, for each step. Raises `OSError` if the server can't be reached or hangs up, as one without a
    quorum does: the session may be open still, try another.
    """
    with socket.create_connection(address, timeout) as connection:
        connection.settimeout(timeout)
        password = struct.pack("!i", len(session.password)) + session.password
        _send(connection, struct.pack("!iqiq", 0, 0, session.timeout_ms, session.session_id) + password + b"\0")
        _, negotiated_timeout, session_id = struct.unpack_from("!iiq", _receive(connection, 16))
        if negotiated_timeout <= 0 or session_id != session.session_id:
            return False
        _send(connection, struct.pack("!ii", 1, CLOSE_SESSION))
        while True:
            xid, _, error = struct.unpack_from("!iqi", _receive(connection, 16))
            if xid != 1:
                continue  # news for the session, such as an auth failure's
            if error:
                raise ConnectionError(f"ZooKeeper refused to close the session: error {error}")
            return True


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(struct.pack("!i", len(message)) + message)


def _receive(connection: socket.socket, least: int) -> bytes:
    """One frame of at least so many bytes."""
    (size,) = struct.unpack("!i", _read(connection, 4))
    if not least <= size <= _MAX_FRAME:
        raise ConnectionError(f"not a ZooKeeper: a frame of {size} bytes")
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the server hung up")
        data += piece
    return data
