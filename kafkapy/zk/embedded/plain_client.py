"""A blocking client of ZooKeeper's protocol for tools: one session, pipelined requests, no watches."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkapy.runtime.chunks import chunks
from kafkapy.security.sasl.digest_md5 import DigestError
from kafkapy.zk.client_security import PLAINTEXT, ZkClientSecurity
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.jute import INT, Decoder, MalformedError, buffer, string

_CONNECT = struct.Struct("!iqiq")
_CONNECT_ANSWER = struct.Struct("!iiq")
_HEADER = struct.Struct("!ii")
_REPLY = struct.Struct("!iqi")
_TIMEOUT_MS = 30_000
"""Of the session; a server allows 20 ticks at most, 40 s by default."""
_SECONDS = 30.0
"""Time limit of one answer: as long as the session's."""
_MAX_ANSWER_BYTES = 64 << 20
"""Limit of an answer in bytes; a node has 1 MB at most unless jute.maxbuffer was raised."""
_AUTH_XID = -4


class PlainAnswer(NamedTuple):
    code: int
    body: bytes


class PlainClient:
    """A client. `OSError` (including `ConnectionError`) from any method: the server is not reachable any more."""

    def __init__(
        self,
        addresses: Iterable[tuple[str, int]],
        seconds: float = _SECONDS,
        security: ZkClientSecurity = PLAINTEXT,
    ) -> None:
        """Uses the first address that gives a session, which becomes `address`. `seconds`: for each step of the
        connection.
        """
        self._security = security
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
        self._socket: socket.socket = socket.create_connection(self.address, seconds)
        try:
            self._socket.settimeout(seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if (context := self._security.tls_context()) is not None:
                self._socket = _over_tls(context, self._socket, self.address[0])
            self._send([_CONNECT.pack(0, 0, _TIMEOUT_MS, 0) + buffer(bytes(16)) + b"\0"])
            if _CONNECT_ANSWER.unpack_from(self._receive(_CONNECT_ANSWER.size))[1] <= 0:
                raise ConnectionError("it gives no session")
            self._log_in()
            self._socket.settimeout(_SECONDS)
        except BaseException:
            self._socket.close()
            raise

    def _log_in(self) -> None:
        """Log in with SASL, if a user is given. `ConnectionError`: the server refuses."""
        exchange = self._security.new_exchange()
        if exchange is None:
            return
        try:
            challenge = self._sasl_token(b"")
            exchange.check_proof(self._sasl_token(exchange.response(challenge)))
        except DigestError as error:
            raise ConnectionError(f"it refuses SASL as {exchange.username}: {error}") from None

    def _sasl_token(self, token: bytes) -> bytes:
        answer = self.ask(codes.SASL, buffer(token))
        if answer.code:
            raise DigestError("the user or the password is wrong")
        with contextlib.suppress(MalformedError):
            if (told := Decoder(answer.body).buffer()) is not None:
                return told
        raise DigestError(
            "it has no SASL: see authProvider.sasl in its properties, and the section Server of its JAAS file"
        )

    def authenticate(self, user_and_password: str) -> bool:
        """Authenticate with the scheme digest."""
        self._send([_HEADER.pack(_AUTH_XID, codes.AUTH) + INT.pack(0) + string("digest") + string(user_and_password)])
        return self._answer().code == 0

    def ask(self, kind: int, body: bytes = b"") -> PlainAnswer:
        return next(self.ask_all([(kind, body)]))

    def ask_all(self, requests: Iterable[tuple[int, bytes]]) -> Iterator[PlainAnswer]:
        """Yield the answers in order. Requests are pipelined in chunks."""
        for chunk in chunks(requests):
            yield from self._exchange([_HEADER.pack(xid, kind) + body for xid, (kind, body) in enumerate(chunk, 1)])

    def close(self) -> None:
        try:
            self.ask(codes.CLOSE_SESSION)
        except OSError:
            pass  # the session expires
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
        if not least <= size <= _MAX_ANSWER_BYTES:
            raise ConnectionError(f"it is no ZooKeeper but {_peer_kind(head)}")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise ConnectionError(
                    "it hangs up: it is no ZooKeeper, or one of an ensemble that has no quorum"
                    + (", or its port expects TLS" if self._security.tls is None else "")
                )
            data += piece
        return bytes(data)


def _over_tls(context: ssl.SSLContext, plain: socket.socket, host: str) -> ssl.SSLSocket:
    """`ConnectionError`, with the reason, for a handshake that fails."""
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except ssl.SSLError as error:
        raise ConnectionError(f"the TLS handshake fails: {_tls_failure(error)}") from None


def _tls_failure(error: ssl.SSLError) -> str:
    from kafkapy.security.tls.tls_failure import failure_of

    failure = failure_of(error, b"", server_side=False)
    if isinstance(error, ssl.SSLEOFError):
        return f"{failure}: is its clientPort, which has no TLS, given in place of its secureClientPort?"
    names = {"ssl.keystore.": "zookeeper.ssl.keystore.", "ssl.truststore.": "zookeeper.ssl.truststore."}
    text = str(failure)
    for kafka, zookeeper in names.items():
        text = text.replace(kafka, zookeeper)
    return text


def _peer_kind(head: bytes) -> str:
    """Return the kind of peer, judging by the first bytes of its answer."""
    if head == b"HTTP":
        return "an HTTP server"
    if head[:2] == b"\x15\x03":
        return "a port that expects TLS"
    return f"something that answers with the bytes {head.hex(' ')}"
