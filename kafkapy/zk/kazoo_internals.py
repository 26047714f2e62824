"""What is used of kazoo beyond its interface, all in one place; setup.cfg pins the version that this was written for.

kazoo gives each request a call that waits for the answer, forgets its watches with the connection, and hides the session's
password. A broker pipelines requests, keeps its watches over a lost connection and tells its watchdog the session: for that
the queue, the tables of watches and the session have to be reached.
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
"""How long the first try of a session's handshake waits for an answer; each further try waits twice as long."""

_AUTH_FAILED = (-115, -124)
"""AUTHFAILED; SESSIONCLOSEDREQUIRESASLAUTH of a server that requires SASL."""
_SET_WATCHES_MAX_BYTES = 128 * 1024
"""As ZooKeeper's own client splits them, to stay far below the server's jute.maxbuffer."""


class OpenKazooClient(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """kazoo's client, with a patient connection, and doors to its session, its queue and its watches."""

    def __init__(
        self,
        security: ZkClientSecurity = PLAINTEXT,
        on_auth_failure: Callable[[str], object] = lambda _: None,
        **options: Any,
    ) -> None:
        """`on_auth_failure` hears why SASL has failed, on the connection thread; another connection is tried after it."""
        self._security = security
        handler = SequentialThreadingHandler() if security.tls is None else _TlsHandler(security)
        super().__init__(handler=handler, **options)
        self._connection = _Connection(self, self._conn_retry.copy(), logger=self.logger)
        self._connection.on_auth_failure = on_auth_failure
        if security.user is not None:
            self._connection.sasl_options = {}

    def _session_callback(self, state: Any) -> None:
        """kazoo says CONNECTED before SASL: then nothing may count on the connection yet."""
        if state != KeeperState.CONNECTED or self._security.user is None:
            super()._session_callback(state)

    def authenticated(self) -> None:
        """SASL is done. On kazoo's connection thread."""
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
        """Queue a request; `result.set(value)` or `result.set_exception(error)` is called when it is answered."""
        self._call(request, result)

    def send_first(self, request: Any) -> None:
        """Queue a request without an answer before all others. On kazoo's connection thread."""
        self._queue.appendleft((request, None))
        self._connection._write_sock.send(b"\0")

    def watched(self) -> tuple[dict[str, set[Any]], dict[str, set[Any]]]:
        """What is watched by full path: data and existence of nodes, children of nodes."""
        return dict(self._data_watchers), dict(self._child_watchers)

    def watch(self, data: Mapping[str, set[Any]], child: Mapping[str, set[Any]]) -> None:
        """Call these when ZooKeeper tells of the paths; the request for that is the caller's."""
        self._data_watchers.update(data)
        self._child_watchers.update(child)


class _Connection(ConnectionHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's connection, but a handshake without an answer is given up sooner than after the session's time-out.

    ZooKeeper's server forgets a client that asks for its session in the moment between the opening of the port and the
    loading of the data (a NullPointerException in `NIOServerCnxn.close`): the connection stays open, no answer comes.
    Whoever waited for it as long as the session lasts would have lost the session.
    """

    _patience = _FIRST_HANDSHAKE_SECONDS
    on_auth_failure: Callable[[str], object]

    def _authenticate_with_sasl(self, host: str, timeout: float) -> None:
        """kazoo's needs another package, and gives up for good where one server refuses."""
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
        """The server's token for one of ours. Raises DigestError if it refuses."""
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
        patience = min(timeout, self._patience)
        self._patience *= 2
        answer = super()._invoke(patience, request)
        self._patience = _FIRST_HANDSHAKE_SECONDS
        return answer

    def _socket_error_handling(self) -> _DropsConnection:
        return _DropsConnection()


class _TlsHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's threads, with connections over TLS by a context of ours: kazoo's own takes files in PEM only."""

    def __init__(self, security: ZkClientSecurity) -> None:
        super().__init__()
        self._security = security

    def create_connection(
        self, address: tuple[str, int], hostname: str | None = None, timeout: float | None = None, **_: Any
    ) -> ssl.SSLSocket:
        """`address` is one of the host's; `hostname` is what the certificate must be for. Raises OSError."""
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
        """What OpenSSL has decrypted already makes no socket readable: kazoo would leave an answer there until the next comes."""
        decrypted = [each for each in readers if isinstance(each, ssl.SSLSocket) and each.pending()]
        if not decrypted:
            return super().select(readers, writers, errors, timeout)
        ready = super().select(readers, writers, errors, 0)
        return ([*decrypted, *(each for each in ready[0] if each not in decrypted)], ready[1], ready[2])


class _DropsConnection:
    """Makes of a socket's error what kazoo makes of it.

    kazoo's own is a generator under `contextlib.contextmanager`, whose frame holds the traceback that the frame is in: a
    reference cycle with all that was to be sent, for each connection that breaks while a request is written.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise ConnectionDropped(f"socket connection error: {error.strerror or error}")


class SetWatches:
    """ZooKeeper's request to watch again: reports at once each path that changed after `relative_zxid`."""

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
    """What must be watched again on the next connection of the same session.

    kazoo's tables say what is watched, by full path, until the connection goes; from then on `_data` and `_child` keep
    it. kazoo doesn't tell the watch on a node from the watch for a node to come, so `_absent` has the paths that were
    last seen missing. All calls come on kazoo's connection thread.
    """

    def __init__(self, kazoo: OpenKazooClient) -> None:
        self._kazoo = kazoo
        self._data: dict[str, set[Any]] = {}
        self._child: dict[str, set[Any]] = {}
        self._absent: set[str] = set()

    def saw(self, path: str, exists: bool) -> None:
        """A watched read of the node at this full path was answered."""
        if exists:
            self._absent.discard(path)
        else:
            self._absent.add(path)

    def remember(self) -> None:
        """The connection is lost; kazoo is about to clear its tables."""
        self._data, self._child = self._kazoo.watched()

    def forget(self) -> None:
        """The session is over, and its watches with it."""
        self._data, self._child, self._absent = {}, {}, set()

    def set_again(self) -> None:
        """Connected again: before anything else is sent, ask for the watches and for what was missed."""
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
