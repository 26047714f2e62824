"""ZooKeeper's request processing without sockets and files: connections pass in frames, and get answers and events
through their `send`.

A request is processed up to its answer before the next one is read, so all answers and events are in one order, that of
the zxids; a connection gets the event of a change before any answer that shows the change. Each transaction goes to the
`journal`; sends of connections must be held back until the journal is durable.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator
from typing import Protocol

from kafkapy.common.time import Time
from kafkapy.security.sasl.digest_md5 import DigestError, DigestMd5Server
from kafkapy.zk.embedded import codes, reading
from kafkapy.zk.embedded.acls import SUPER, Identity, digest_identity
from kafkapy.zk.embedded.client_connection import ClientConnection, ConnectionStats
from kafkapy.zk.embedded.codes import Code, KeeperError
from kafkapy.zk.embedded.data_tree import DataTree, TxnResult
from kafkapy.zk.embedded.jute import INT, Decoder, MalformedError, buffer, string
from kafkapy.zk.embedded.preparation import WRITES, Preparation, Requester
from kafkapy.zk.embedded.sessions import SessionTracker, password
from kafkapy.zk.embedded.settings import Settings
from kafkapy.zk.embedded.transactions import CloseSessionTxn, CreateSessionTxn, ErrorTxn, MultiTxn, Txn, TxnHeader

log = logging.getLogger("kafkapy.zk.EmbeddedZooKeeper")

_NO_TOKEN = INT.pack(-1)
_REQUEST_HEADER = struct.Struct("!ii")
_CONNECT_RESPONSE = struct.Struct("!iiq")
_MULTI_HEADER = struct.Struct("!i?i")
_MULTI_END = _MULTI_HEADER.pack(-1, True, -1)

_WITH_STAT = frozenset((codes.CREATE2, codes.CREATE_CONTAINER, codes.CREATE_TTL))

_NAMES = {
    codes.CREATE: "CREA",
    codes.CREATE2: "CREA",
    codes.CREATE_CONTAINER: "CREA",
    codes.CREATE_TTL: "CREA",
    codes.DELETE: "DELE",
    codes.SET_DATA: "SETD",
    codes.SET_ACL: "SETA",
    codes.CHECK: "CHEC",
    codes.MULTI: "MULT",
}


class TxnJournal(Protocol):
    def append(self, header: TxnHeader, txn: Txn) -> None:
        """Append an applied transaction; zxids are in order."""
        ...


class ZooKeeperMachine:
    """A ZooKeeper server.

    Invariant: `tree.last_zxid` is the last one assigned; exactly the sessions of the tree are tracked.
    """

    def __init__(self, tree: DataTree, settings: Settings, time: Time, journal: TxnJournal) -> None:
        self.tree = tree
        self.settings = settings
        self.time = time
        self.connections: dict[ClientConnection, None] = {}
        self.stats = ConnectionStats()
        self.started_ms = time.monotonic_ms()
        self._journal = journal
        self._by_session: dict[int, ClientConnection] = {}
        self.sessions = SessionTracker(settings.tick_time_ms, time.monotonic_ms(), time.milliseconds())
        for session_id, timeout_ms in tree.sessions.items():
            self.sessions.track(session_id, timeout_ms, time.monotonic_ms())

    # --- connections

    def is_full(self, host: str) -> bool:
        """Return whether that address has the maximum number of connections."""
        most = self.settings.max_client_connections
        return 0 < most <= sum(each.host == host for each in self.connections)

    def connected(
        self, host: str, port: int, send: Callable[[bytes], None], close_after_send: Callable[[], None]
    ) -> ClientConnection:
        connection = ClientConnection(host, port, send, close_after_send, self.time.milliseconds(), self.stats)
        self.connections[connection] = None
        return connection

    def disconnected(self, connection: ClientConnection) -> None:
        """Remove a connection. Its session lives on, until it expires or another connection resumes it."""
        connection.closed = True
        self.connections.pop(connection, None)
        self.tree.data_watches.remove_watcher(connection)
        self.tree.child_watches.remove_watcher(connection)
        if self._by_session.get(connection.session_id) is connection:
            del self._by_session[connection.session_id]

    def received(self, connection: ClientConnection, frame: bytes) -> None:
        """Process a frame without its length: the first requests a session, the others are requests. `MalformedError`:
        close the connection.
        """
        if connection.closed:
            return
        connection.stats.received += 1
        self.stats.received += 1
        if not connection.session_id:
            self._connect(connection, Decoder(frame))
            return
        if len(frame) < _REQUEST_HEADER.size:
            raise MalformedError("the header of a request is cut short")
        before_ms = self.time.monotonic_ms()
        xid, kind = _REQUEST_HEADER.unpack_from(frame)
        decoder = Decoder(frame, _REQUEST_HEADER.size)
        if kind == codes.AUTH:
            self._authenticate(connection, xid, decoder)
            return
        if kind == codes.SASL:
            self._answer_sasl(connection, xid, decoder)
            return
        enforced = self.settings.auth.enforced
        if enforced and not any(each.scheme in enforced for each in connection.identities):
            connection.reply(xid, 0, Code.SESSION_CLOSED_REQUIRE_SASL_AUTH)
            self._drop_connection(connection)
            return
        if self.sessions.touch(connection.session_id, connection.timeout_ms, before_ms):
            self._handle(connection, xid, kind, decoder)
        now_ms = self.time.monotonic_ms()
        connection.last_cxid, connection.last_zxid, connection.last_response_ms = xid, self.tree.last_zxid, now_ms
        connection.stats.add(now_ms - before_ms)
        self.stats.add(now_ms - before_ms)

    # --- sessions

    def _connect(self, connection: ClientConnection, decoder: Decoder) -> None:
        decoder.int32()  # the protocol's version, always 0
        last_zxid, timeout_ms, session_id, secret = decoder.int64(), decoder.int32(), decoder.int64(), decoder.buffer()
        knows_read_only = decoder.remaining > 0
        if last_zxid > self.tree.last_zxid:
            raise MalformedError(
                f"the client has seen zxid 0x{last_zxid:x}, and the last one here is 0x{self.tree.last_zxid:x}: "
                "it belongs to another ZooKeeper"
            )
        settings = self.settings
        timeout_ms = min(max(timeout_ms, settings.min_session_timeout_ms), settings.max_session_timeout_ms)
        now_ms = self.time.monotonic_ms()
        if session_id:
            is_valid = secret == password(session_id) and self.sessions.touch(session_id, timeout_ms, now_ms)
            if is_valid and (other := self._by_session.get(session_id)):
                self._drop_connection(other)
        else:
            session_id, is_valid = self.sessions.new_id(), True
            self.sessions.track(session_id, timeout_ms, now_ms)
            self._commit(session_id, 0, CreateSessionTxn(timeout_ms))
        answer = (timeout_ms, session_id, password(session_id)) if is_valid else (0, 0, bytes(16))
        body = _CONNECT_RESPONSE.pack(0, *answer[:2]) + buffer(answer[2]) + (b"\0" if knows_read_only else b"")
        connection.send(len(body).to_bytes(4, "big") + body)
        if is_valid:
            connection.session_id, connection.timeout_ms, connection.last_op = session_id, timeout_ms, "SESS"
            self._by_session[session_id] = connection
        else:
            self._drop_connection(connection)

    def expire(self, session_id: int) -> bool:
        """Expire a session now: its nodes are deleted, its connection is closed. Return False if there is no such
        session.
        """
        if session_id not in self.sessions:
            return False
        self._end_session(session_id, 0)
        if connection := self._by_session.get(session_id):
            self._drop_connection(connection)
        return True

    def _end_session(self, session_id: int, cxid: int) -> None:
        self.sessions.remove(session_id)
        self._commit(session_id, cxid, CloseSessionTxn(tuple(self.tree.ephemerals.get(session_id, ()))))

    def _drop_connection(self, connection: ClientConnection) -> None:
        connection.close()
        self.disconnected(connection)

    # --- time

    def tick(self) -> int:
        """Expire sessions; return after how many ms to call again."""
        for session_id in self.sessions.expired(self.time.monotonic_ms()):
            self.expire(session_id)
        return max(1, self.sessions.next_check_ms() - self.time.monotonic_ms())

    def remove_unused_nodes(self) -> None:
        """Delete containers that have lost all children, and TTL nodes that have not been changed for their TTL."""
        for path in list(self.tree.expiring):
            node = self.tree.nodes[path]
            if node.children:
                continue
            ttl_ms = node.ttl_ms(self.tree.extended_types)
            if node.cversion > 0 if ttl_ms is None else 0 < ttl_ms < self.time.milliseconds() - node.mtime:
                self._write(0, 0, codes.DELETE_CONTAINER, Decoder(string(path)), ())

    # --- requests

    def _handle(self, connection: ClientConnection, xid: int, kind: int, decoder: Decoder) -> None:
        tree = self.tree
        if kind == codes.PING:
            connection.last_op = "PING"
            connection.reply(codes.PING_XID, tree.last_zxid)
        elif kind in WRITES and kind != codes.DELETE_CONTAINER:
            connection.last_op = _NAMES[kind]
            result = self._write(connection.session_id, xid, kind, decoder, connection.identities)
            connection.reply(xid, tree.last_zxid, result.code, _body(result))
        elif kind == codes.MULTI:
            connection.last_op = "MULT"
            self._multi(connection, xid, decoder)
        elif kind == codes.RECONFIG:
            self._commit(connection.session_id, xid, ErrorTxn(Code.RECONFIG_DISABLED))
            connection.reply(xid, tree.last_zxid, Code.RECONFIG_DISABLED)
        elif kind == codes.CLOSE_SESSION:
            self._end_session(connection.session_id, xid)
            connection.last_op = "CLOS"
            connection.reply(xid, tree.last_zxid)
            self._drop_connection(connection)
        elif (read := reading.READS.get(kind)) is not None:
            connection.last_op, function = read
            try:
                body = function(tree, connection, decoder)
            except KeeperError as error:
                connection.reply(xid, tree.last_zxid, error.code)
            except MalformedError:
                connection.reply(xid, tree.last_zxid, Code.MARSHALLING_ERROR)
            else:
                connection.reply(xid, tree.last_zxid, Code.OK, body)
        else:
            self._refuse(connection, xid, kind)

    def _refuse(self, connection: ClientConnection, xid: int, kind: int) -> None:
        """Refuse an unknown operation, and close the connection."""
        connection.reply(xid, -1, Code.UNIMPLEMENTED)
        self._drop_connection(connection)

    def _answer_sasl(self, connection: ClientConnection, xid: int, decoder: Decoder) -> None:
        """Process a token of DIGEST-MD5 (ZooKeeper's `processSasl`)."""
        auth = self.settings.auth
        token = decoder.buffer() or b""
        if not auth.has_sasl:  # without a section Server in the JAAS file
            connection.reply(xid, 0, 0, _NO_TOKEN)
            return
        try:
            if connection.sasl is None:
                connection.sasl = DigestMd5Server(auth.password_of)
                answer = connection.sasl.challenge()
                if token:
                    raise DigestError("the client speaks first")
            else:
                answer = connection.sasl.proof(token)
                self._logged_in(connection, connection.sasl.username or "")
        except DigestError as error:
            log.warning("SASL of %s:%d has failed: %s", connection.host, connection.port, error)
            if auth.allows_failed_sasl:
                connection.reply(xid, 0, 0, _NO_TOKEN)
                return
            is_needed = "sasl" in auth.enforced
            connection.reply(xid, 0, Code.SESSION_CLOSED_REQUIRE_SASL_AUTH if is_needed else Code.AUTH_FAILED)
            self._drop_connection(connection)
            return
        connection.reply(xid, 0, 0, buffer(answer))

    def _logged_in(self, connection: ClientConnection, user: str) -> None:
        auth = self.settings.auth
        if "sasl" in auth.schemes:
            connection.add_identity("sasl", user)
        if auth.is_super("sasl", user):
            connection.add_identity(SUPER, "")

    def has_certificate(self, connection: ClientConnection, name: str) -> None:
        """Add the subject of the client's certificate to its identities."""
        if self.settings.auth.is_super("x509", name):
            connection.add_identity(SUPER, name)
        connection.add_identity("x509", name)

    def _authenticate(self, connection: ClientConnection, xid: int, decoder: Decoder) -> None:
        decoder.int32()
        scheme, auth = decoder.string(), decoder.buffer()
        if scheme == "digest":
            identity = digest_identity(auth or b"")
            if self.settings.auth.is_super("digest", identity.id):
                connection.add_identity(SUPER, "")
            connection.add_identity(*identity)
        elif scheme != "ip":
            connection.reply(xid, 0, Code.AUTH_FAILED)
            self._drop_connection(connection)
            return
        connection.reply(xid, 0)

    def _write(
        self, session_id: int, cxid: int, kind: int, decoder: Decoder, identities: tuple[Identity, ...]
    ) -> TxnResult:
        """Do a write. A write that fails takes a zxid, too; a malformed one does not."""
        txn: Txn
        try:
            txn = Preparation(self.tree, Requester(session_id, identities, self.settings.auth.schemes)).op(
                kind, decoder
            )
        except KeeperError as error:
            txn = ErrorTxn(error.code)
        except MalformedError:
            return TxnResult(codes.ERROR, code=Code.MARSHALLING_ERROR)
        return self._commit(session_id, cxid, txn)[0]

    def _multi(self, connection: ClientConnection, xid: int, decoder: Decoder) -> None:
        session_id = connection.session_id
        preparation = Preparation(self.tree, Requester(session_id, connection.identities, self.settings.auth.schemes))
        try:
            txn = preparation.multi(decoder)
        except MalformedError:
            self._commit(session_id, xid, ErrorTxn(Code.MARSHALLING_ERROR))
            connection.reply(xid, self.tree.last_zxid, Code.MARSHALLING_ERROR)
            return
        results = self._commit(session_id, xid, txn)
        connection.reply(xid, self.tree.last_zxid, Code.OK, b"".join(_multi_bodies(results)) + _MULTI_END)

    def _commit(self, session_id: int, cxid: int, txn: Txn) -> list[TxnResult]:
        header = TxnHeader(session_id, cxid, self.tree.last_zxid + 1, self.time.milliseconds())
        results = self.tree.apply(header, txn)
        failed = isinstance(txn, MultiTxn) and txn.failed
        self._journal.append(header, ErrorTxn(Code.RUNTIME_INCONSISTENCY) if failed else txn)
        return results


def _body(result: TxnResult) -> bytes:
    """Return the record after the header of an answer."""
    if result.code:
        return b""
    if result.type == codes.CREATE:
        return string(result.path)
    if result.type in _WITH_STAT:
        return string(result.path) + result.stat
    return result.stat


def _multi_bodies(results: list[TxnResult]) -> Iterator[bytes]:
    for result in results:
        if result.type == codes.ERROR:
            yield _MULTI_HEADER.pack(codes.ERROR, False, result.code) + result.code.to_bytes(4, "big", signed=True)
            continue
        kind = codes.CREATE2 if result.type in _WITH_STAT else result.type
        yield _MULTI_HEADER.pack(kind, False, 0) + _body(result)
