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

With TLS or SASL the same goes on behind a handshake; only then more is imported, when the process that counts is dead.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkapy.zk.client_security import ZkClientSecurity

DEFAULT_PORT = 2181
CLOSE_SESSION = -11
_SASL = 102
_XID = 1
_MAX_LINE = 4096
"""Limit of an atomic write to a pipe on Linux."""
_MAX_FRAME = 4096
"""The messages above have some 40 bytes, so a larger frame is not ZooKeeper's."""


class Session:
    """The data to resume a session: `servers` is `host:port[,host:port]...[/chroot]`.

    `security` is the text of a `ZkClientSecurity`, empty without TLS and SASL: it may contain passwords.
    """

    def __init__(self, session_id: int, password: bytes, timeout_ms: int, servers: str, security: str = "") -> None:
        self.session_id = session_id
        self.password = password
        self.timeout_ms = timeout_ms
        self.servers = servers
        self.security = security

    def to_line(self) -> bytes:
        """Return one line of text, to be sent through a pipe."""
        words = [f"{self.session_id:x}", self.password.hex(), str(self.timeout_ms), self.servers.replace(" ", "")]
        if self.security:
            words.append(self.security.encode().hex())
        line = " ".join(words).encode() + b"\n"
        # A longer line is not written atomically. Without its last word the session expires by itself.
        return line if len(line) <= _MAX_LINE else " ".join(words[:4]).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Session:
        """Raise `ValueError` for anything but a result of `to_line`."""
        session_id, password, timeout_ms, servers, *more = line.decode().split()
        security = bytes.fromhex(more[0]).decode() if more else ""
        return cls(int(session_id, 16), bytes.fromhex(password), int(timeout_ms), servers, security)

    def addresses(self) -> list[tuple[str, int]]:
        """Return the addresses without the chroot, which sessions don't depend on."""
        return [_address(server) for server in self.servers.partition("/")[0].split(",") if server]


def _address(server: str) -> tuple[str, int]:
    """Parse `host`, `host:port`, `[v6]`, `[v6]:port`."""
    host, colon, port = server.rpartition(":")
    if not colon or server.endswith("]"):
        host, port = server, str(DEFAULT_PORT)
    return host.strip("[]"), int(port)


def close_session(session: Session, address: tuple[str, int], timeout: float) -> bool:
    """Close the session through one server: True if it existed, False if it had ended before.

    `timeout` in seconds, for each step. Raises `OSError` if the server can't be reached or closes the connection, as
    one without a quorum does: then the session may still exist, so try another server.
    """
    security = _security(session.security)
    with _connect(address, timeout, security) as connection:
        password = struct.pack("!i", len(session.password)) + session.password
        _send(connection, struct.pack("!iqiq", 0, 0, session.timeout_ms, session.session_id) + password + b"\0")
        _, negotiated_timeout, session_id = struct.unpack_from("!iiq", _receive(connection, 16))
        if negotiated_timeout <= 0 or session_id != session.session_id:
            return False
        if security is not None:
            _log_in(connection, security)
        error = _ask(connection, CLOSE_SESSION)[0]
        if error:
            raise ConnectionError(f"ZooKeeper refused to close the session: error {error}")
        return True


def _security(text: str) -> ZkClientSecurity | None:
    """`ConnectionError`: it is not usable any more, for example because a store was deleted."""
    if not text:
        return None
    import site

    site.main()  # this process may have started without the packages that stores need
    from kafkapy.zk.client_security import ZkClientSecurity

    try:
        return ZkClientSecurity.from_text(text)
    except (ImportError, ValueError) as error:
        raise ConnectionError(str(error)) from None


def _connect(address: tuple[str, int], timeout: float, security: ZkClientSecurity | None) -> socket.socket:
    connection = socket.create_connection(address, timeout)
    try:
        connection.settimeout(timeout)
        context = None if security is None else security.tls_context()
        return connection if context is None else context.wrap_socket(connection, server_hostname=address[0])
    except BaseException:
        connection.close()
        raise


def _log_in(connection: socket.socket, security: ZkClientSecurity) -> None:
    """Log in with SASL, if there is a user. `ConnectionError`: it has failed."""
    exchange = security.new_exchange()
    if exchange is None:
        return
    from kafkapy.security.sasl.digest_md5 import DigestError

    try:
        response = exchange.response(_sasl_token(connection, b""))
        exchange.check_proof(_sasl_token(connection, response))
    except DigestError as error:
        raise ConnectionError(f"SASL: {error}") from None


def _sasl_token(connection: socket.socket, token: bytes) -> bytes:
    error, body = _ask(connection, _SASL, struct.pack("!i", len(token)) + token)
    if error or len(body) < 4:
        raise ConnectionError(f"ZooKeeper refuses SASL: error {error}")
    return body[4:]


def _ask(connection: socket.socket, kind: int, body: bytes = b"") -> tuple[int, bytes]:
    """Return (error, body) of the answer."""
    _send(connection, struct.pack("!ii", _XID, kind) + body)
    while True:
        answer = _receive(connection, 16)
        answered, _, error = struct.unpack_from("!iqi", answer)
        if answered == _XID:
            return error, answer[16:]
        # otherwise an event of the session, such as an auth failure


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(struct.pack("!i", len(message)) + message)


def _receive(connection: socket.socket, least: int) -> bytes:
    """Receive one frame of at least `least` bytes."""
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
