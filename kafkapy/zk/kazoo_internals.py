"""All uses of kazoo beyond its interface; setup.cfg pins the version that this was written for.

kazoo blocks on each request, loses its watches with the connection, and hides the session's password. A broker
pipelines requests, keeps its watches over a lost connection, and passes the session to its watchdog. That requires
access to kazoo's queue, tables of watches, and session.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization as wire
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import KeeperState

from kafkapy.security.sasl.digest_md5 import DigestError
from kafkapy.zk.client_security import PLAINTEXT, ZkClientSecurity

_FIRST_HANDSHAKE_SECONDS = 2.0
"""Time limit of the first attempt at a session's handshake; it doubles with each further attempt."""

_AUTH_FAILED = (-115, -124)
"""AUTHFAILED; SESSIONCLOSEDREQUIRESASLAUTH of a server that requires SASL."""
_SET_WATCHES_MAX_BYTES = 128 * 1024
"""Split as in ZooKeeper's own client, to stay far below the server's jute.maxbuffer."""


class OpenKazooClient(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """kazoo's client, with a retrying connection, and access to its session, its queue and its watches."""

    def __init__(
        self,
        security: ZkClientSecurity = PLAINTEXT,
        on_auth_failure: Callable[[str], object] = lambda _: None,
        **options: Any,
    ) -> None:
        """`on_auth_failure` is called with the reason of a SASL failure, on the connection thread; then another
        connection is tried.
        """
        self._security = security
        handler = SequentialThreadingHandler() if security.tls is None else _TlsHandler(security)
        super().__init__(handler=handler, **options)
        self._connection = _Connection(self, self._conn_retry.copy(), logger=self.logger)
        self._connection.on_auth_failure = on_auth_failure
        if security.user is not None:
            self._connection.sasl_options = {}

    def _session_callback(self, state: Any) -> None:
        """kazoo reports CONNECTED before SASL: the connection must not be used yet."""
        if state != KeeperState.CONNECTED or self._security.user is None:
            super()._session_callback(state)

    def authenticated(self) -> None:
        """Report that SASL is complete. Called on kazoo's connection thread."""
        super()._session_callback(KeeperState.CONNECTED)

    @property
    def security(self) -> ZkClientSecurity:
        return self._security

    @property
    def session_id(self) -> int | None:
        session_id: int | None = self._session_id
        return session_id

    @property
    def session_password(self) -> bytes:
        password: bytes = self._session_passwd
        return password

    def send(self, request: Any, result: Any) -> None:
        """Queue a request; its answer calls `result.set(value)` or `result.set_exception(error)`."""
        self._call(request, result)

    def send_first(self, request: Any) -> None:
        """Queue a request without an answer before all others. Called on kazoo's connection thread."""
        self._queue.appendleft((request, None))
        self._connection._write_sock.send(b"\0")

    def watched(self) -> tuple[dict[str, set[Any]], dict[str, set[Any]]]:
        """Return the watches by full path: those for data and existence of nodes, and those for children."""
        return dict(self._data_watchers), dict(self._child_watchers)

    def watch(self, data: Mapping[str, set[Any]], child: Mapping[str, set[Any]]) -> None:
        """Register watches; the caller sends the request for them."""
        self._data_watchers.update(data)
        self._child_watchers.update(child)


class _Connection(ConnectionHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's connection, but with a shorter time limit for a handshake than the session's time-out.

    ZooKeeper's server drops a client that requests its session after the port is open and before the data is loaded (a
    NullPointerException in `NIOServerCnxn.close`): the connection stays open without an answer. After waiting as long
    as the session's time-out the session would be lost.
    """

    _handshake_timeout = _FIRST_HANDSHAKE_SECONDS
    on_auth_failure: Callable[[str], object]

    def _authenticate_with_sasl(self, host: str, timeout: float) -> None:
        """kazoo's implementation needs another package, and stops permanently if one server refuses."""
        exchange = self.client.security.new_exchange()
        try:
            challenge = self._sasl_token(1, b"", timeout)
            exchange.check_proof(self._sasl_token(2, exchange.response(challenge), timeout))
        except DigestError as error:
            self.on_auth_failure(str(error))
            raise ConnectionDropped(f"SASL: {error}") from None
        self._xid = 2
        self.client.authenticated()

    def _sasl_token(self, xid: int, token: bytes, timeout: float) -> bytes:
        """Send a token and return the server's. Raises DigestError if it refuses."""
        self._submit(wire.SASL(token), timeout, xid)
        header, answer, offset = self._read_header(timeout)
        if header.err in _AUTH_FAILED:
            raise DigestError("the user or the password is wrong")
        if header.err or header.xid != xid:
            raise ConnectionDropped(f"SASL is answered with xid {header.xid}, error {header.err}")
        told, _ = wire.SASL.deserialize(answer, offset)
        if told is None:
            raise DigestError("the server has no SASL: see authProvider.sasl in its properties, and its JAAS file")
        return bytes(told)

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        if xid is not None:
            return super()._invoke(timeout, request, xid)
        handshake_timeout = min(timeout, self._handshake_timeout)
        self._handshake_timeout *= 2
        answer = super()._invoke(handshake_timeout, request)
        self._handshake_timeout = _FIRST_HANDSHAKE_SECONDS
        return answer

    def _socket_error_handling(self) -> _DropsConnection:
        return _DropsConnection()


class _TlsHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's threads, with connections over TLS by the client's context: kazoo's own supports only files in PEM."""

    def __init__(self, security: ZkClientSecurity) -> None:
        super().__init__()
        self._security = security

    def create_connection(
        self, address: tuple[str, int], hostname: str | None = None, timeout: float | None = None, **_: Any
    ) -> ssl.SSLSocket:
        """`address` is one of the host's; `hostname` is checked against the certificate. Raises OSError."""
        context = self._security.tls_context()
        assert context is not None
        plain = socket.create_connection(address, timeout)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return context.wrap_socket(plain, server_hostname=hostname or address[0])
        except BaseException:
            plain.close()
            raise

    def select(
        self, readers: Sequence[Any], writers: Sequence[Any], errors: Sequence[Any], timeout: float | None = None
    ) -> Any:
        """Report sockets with decrypted data as readable: OpenSSL's buffer does not make them readable, so kazoo would
        leave an answer there until the next one comes.
        """
        decrypted = [each for each in readers if isinstance(each, ssl.SSLSocket) and each.pending()]
        if not decrypted:
            return super().select(readers, writers, errors, timeout)
        ready = super().select(readers, writers, errors, 0)
        return ([*decrypted, *(each for each in ready[0] if each not in decrypted)], ready[1], ready[2])


class _DropsConnection:
    """Converts a socket's error as kazoo does.

    kazoo's own is a generator under `contextlib.contextmanager`, whose frame refers to the traceback that contains the
    frame: a reference cycle with all unsent data, for each connection that breaks during a write.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise ConnectionDropped(f"socket connection error: {error.strerror or error}")


class SetWatches:
    """ZooKeeper's request to set watches again: reports each path that changed after `relative_zxid`."""

    type = 101
    deserialize = staticmethod(lambda buffer, offset: True)

    def __init__(self, relative_zxid: int) -> None:
        self.relative_zxid = relative_zxid
        self.data_paths: list[str] = []
        self.exist_paths: list[str] = []
        self.child_paths: list[str] = []

    def serialize(self) -> bytes:
        out = bytearray(struct.pack("!q", self.relative_zxid))
        for paths in (self.data_paths, self.exist_paths, self.child_paths):
            out += struct.pack("!i", len(paths))
            for path in paths:
                out += wire.write_string(path)
        return bytes(out)


class Watches:
    """The watches to be set again on the next connection of the same session.

    kazoo's tables have the watches, by full path, until the connection is lost; then `_data` and `_child` keep them.
    kazoo doesn't distinguish watches on existing nodes from watches on missing ones, so `_absent` has the paths that
    were last seen missing. All calls come on kazoo's connection thread.
    """

    def __init__(self, kazoo: OpenKazooClient) -> None:
        self._kazoo = kazoo
        self._data: dict[str, set[Any]] = {}
        self._child: dict[str, set[Any]] = {}
        self._absent: set[str] = set()

    def record_read(self, path: str, exists: bool) -> None:
        """Record the result of a watched read of the node at this full path."""
        if exists:
            self._absent.discard(path)
        else:
            self._absent.add(path)

    def save(self) -> None:
        """Save the watches when the connection is lost, before kazoo clears its tables."""
        self._data, self._child = self._kazoo.watched()

    def forget(self) -> None:
        """Remove all watches, which end with the session."""
        self._data, self._child, self._absent = {}, {}, set()

    def set_again(self) -> None:
        """Set the watches on a new connection before anything else is sent, which also reports missed changes."""
        self._kazoo.watch(self._data, self._child)
        for request in self._requests():
            self._kazoo.send_first(request)

    def _requests(self) -> Iterator[SetWatches]:
        request, size = SetWatches(self._kazoo.last_zxid), 0
        watches = [(kind, path) for kind, paths in self._by_kind().items() for path in paths]
        for kind, path in watches:
            if size + len(path) > _SET_WATCHES_MAX_BYTES:
                yield request
                request, size = SetWatches(self._kazoo.last_zxid), 0
            getattr(request, kind).append(path)
            size += len(path) + 4
        if size:
            yield request

    def _by_kind(self) -> dict[str, list[str]]:
        return {
            "data_paths": [path for path in self._data if path not in self._absent],
            "exist_paths": [path for path in self._data if path in self._absent],
            "child_paths": list(self._child),
        }
