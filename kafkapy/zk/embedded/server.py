"""The embedded ZooKeeper on a reactor: sockets, timers, and the thread that waits for the disk.

The only module of this package that uses Twisted.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from kafkapy.common.bind_errors import cause_and_remedy
from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import SystemTime, Time
from kafkapy.security.tls.der import DerError
from kafkapy.zk.embedded import four_letter_words
from kafkapy.zk.embedded.client_connection import ClientConnection
from kafkapy.zk.embedded.data_directory import DataDirectory
from kafkapy.zk.embedded.data_tree import DataTree
from kafkapy.zk.embedded.group_commit import GroupCommit, NoJournal
from kafkapy.zk.embedded.jute import MalformedError
from kafkapy.zk.embedded.log_files import StorageError
from kafkapy.zk.embedded.machine import ZooKeeperMachine
from kafkapy.zk.embedded.settings import SecurePort, Settings
from kafkapy.zk.embedded.snapshot_files import TreeCopy

if TYPE_CHECKING:
    from kafkapy.security.tls.session import TlsSession
    from kafkapy.security.tls.store_watch import StoreWatch

log = logging.getLogger("kafkapy.zk.EmbeddedZooKeeper")

MAX_WAITING = 1000
"""Answers waiting for the disk above which requests are no longer read (ZooKeeper's globalOutstandingLimit)."""

MAX_UNSENT_BYTES = 64 << 20
"""Unsent bytes above which the connection of a client that doesn't read is closed."""

_READ_BYTES = 64 << 10
_FOR_DEVELOPMENT = Settings()


class EmbeddedZooKeeper:
    """A standalone ZooKeeper 3.9 server in this process.

    All methods must be called on the reactor's thread. Invariant: everything a client has received is on the disk (with
    a data directory).
    """

    def __init__(
        self,
        data_dir: Path | None,
        host: str = "127.0.0.1",
        port: int | None = 0,
        *,
        reactor: Any,
        time: Time | None = None,
        settings: Settings = _FOR_DEVELOPMENT,
        data_log_dir: Path | None = None,
        keep_sessions: bool = True,
        on_failure: Callable[[str], object] | None = None,
        secure: SecurePort | None = None,
    ) -> None:
        """Create a server, which `start` starts.

        Args:
            data_dir: None: in memory, and lost on `stop`.
            host: The address to listen on.
            port: 0: any free port; None: no port for plaintext.
            reactor: Twisted's reactor.
            time: The clock; None: the system's.
            settings: The server's settings.
            data_log_dir: The directory of the transaction log; None: `data_dir`.
            secure: A port with TLS; None: none.
            keep_sessions: Whether sessions of the last process continue; False for a server in the process of its only
                client.
            on_failure: Called with the error that has stopped the server.
        """
        self.host = host
        self.port = port or 0
        """0 until `start`, if any free one is wanted, and without a port for plaintext."""
        self.secure_port = 0
        self._has_plaintext = port is not None
        self._secure = secure
        self._stores: StoreWatch | None = None
        self.settings = settings
        self._data_dir = data_dir
        self._log_dir = data_log_dir or data_dir
        self._reactor = reactor
        self._time = time or SystemTime()
        self._keep_sessions = keep_sessions
        self._on_failure = on_failure
        self._directory: DataDirectory | None = None
        self._threads: ThreadPool | None = None
        self._commit: GroupCommit | None = None
        self._listening: list[Any] = []
        self._timers: dict[str, Any] = {}
        self._paused: set[_ClientProtocol] = set()
        self._open: set[_ClientProtocol] = set()
        self._snapshotting = False
        self._writes: Deferred[None] | None = None
        self.machine: ZooKeeperMachine | None = None

    # --- lifecycle

    def start(self) -> int:
        """Read the data directory and listen; return the port.

        Raises:
            StorageError: the data directory is unusable.
            AddressError: the port cannot be bound.
            ConfigException: TLS stores are unusable.
        """
        if self._secure is not None:
            from kafkapy.security.tls.store_watch import StoreWatch

            self._stores = StoreWatch(self._secure.tls)
        tree = DataTree(self.settings.extended_types)
        if self._data_dir is not None:
            self._directory = DataDirectory(
                self._data_dir, self._log_dir, self.settings.force_sync, self.settings.snapshots_kept
            )
            try:
                self._directory.load(tree)
            except BaseException:
                self._directory.close()
                raise
            # A separate pool, because all threads of the reactor's may be waiting for an answer from here.
            self._threads = ThreadPool(0, 2, "embedded-zookeeper")
            self._threads.start()
            self._commit = GroupCommit(self._write, self._failed, tree.last_zxid)
        self.journal: GroupCommit | NoJournal = self._commit or NoJournal()
        self.machine = ZooKeeperMachine(tree, self.settings, self._time, self.journal)
        if not self._keep_sessions:
            for session_id in self.machine.sessions:
                self.machine.expire(session_id)
        self._listen_everywhere()
        self._tick()
        self._later("containers", self.settings.container_check_interval_ms, self._check_containers)
        self.round_ended()
        log.info("Embedded ZooKeeper at %s, data in %s", self.address, self._data_dir or "memory")
        return self.port

    def _listen_everywhere(self) -> None:
        try:
            if self._has_plaintext:
                self.port = self._listen(_ClientProtocol, self.host, self.port, "clientPort and clientPortAddress")
            if self._secure is not None:
                names = "secureClientPort and secureClientPortAddress"
                self.secure_port = self._listen(_SecureClientProtocol, self._secure.host, self._secure.port, names)
        except AddressError:
            for listening in self._listening:
                listening.stopListening()
            self._close_files()
            raise

    def _listen(self, protocol: type[Protocol], host: str, port: int, names: str) -> int:
        factory = Factory.forProtocol(protocol)
        factory.noisy = False
        factory.server = self  # type: ignore[attr-defined]
        try:
            listening = self._reactor.listenTCP(port, factory, self.settings.backlog, host)
        except CannotListenError as error:
            advice = cause_and_remedy(error.socketError, names)
            raise AddressError(f"The embedded ZooKeeper can't listen at {host}:{port}: {advice}") from None
        self._listening.append(listening)
        found: int = listening.getHost().port
        return found

    @property
    def address(self) -> str:
        """The address `host:port`, for `zookeeper.connect`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def stop(self) -> Deferred[None]:
        """Stop; done when all sockets, timers and files are closed. Sessions live on in the data directory."""
        for timer in self._timers.values():
            if timer.active():
                timer.cancel()
        self._timers.clear()
        listening, self._listening = self._listening, []
        for connection in list(self._open):
            connection.abort()
        closed: Deferred[Any] = Deferred.fromCoroutine(_done(listening)) if listening else succeed(None)
        if self._writes is not None:
            writes = self._writes
            closed.addCallback(lambda _: writes)
        closed.addCallback(lambda _: self._close_files())
        return closed

    def _close_files(self) -> None:
        if self._directory is None:
            return
        if self._threads is not None:
            self._threads.stop()
        if self._commit is not None:
            zxid, entries = self._commit.take_unwritten()
            if entries:
                with contextlib.suppress(OSError):  # it has not been acknowledged
                    self._directory.transaction_log.write(zxid, entries)
        self._directory.close()
        self._directory = None

    # --- for tests and operators

    def sessions(self) -> list[int]:
        """Return the ids of all live sessions."""
        return [] if self.machine is None else list(self.machine.sessions)

    def expire_session(self, session_id: int) -> bool:
        """Expire a session now. Return False if there is none."""
        if self.machine is None:
            return False
        expired = self.machine.expire(session_id)
        self.round_ended()
        return expired

    # --- time

    def _tick(self) -> None:
        assert self.machine is not None
        next_ms = self.machine.tick()
        self.round_ended()
        self._later("tick", next_ms, self._tick)

    def _check_containers(self) -> None:
        assert self.machine is not None
        self.machine.remove_unused_nodes()
        self.round_ended()
        self._later("containers", self.settings.container_check_interval_ms, self._check_containers)

    def _later(self, name: str, delay_ms: int, function: Callable[[], None]) -> None:
        if self._listening:
            self._timers[name] = self._reactor.callLater(delay_ms / 1000, function)

    # --- the disk

    def round_ended(self) -> None:
        """Called after each round of the machine."""
        if self._commit is None:
            return
        self._commit.flush()
        if self._commit.since_roll >= self.settings.snap_count and not self._snapshotting:
            self._snapshot()

    def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Deferred[Any]:
        assert self._threads is not None
        result: Deferred[Any] = Deferred()
        # Twisted's `deferToThreadPool` creates a closure that refers to itself for each call.
        self._threads._team.do(partial(_run_for, result, self._reactor, partial(function, *arguments)))
        return result

    def _write(self, first_zxid: int, entries: bytes, roll: bool, done: Callable[[BaseException | None], None]) -> None:
        assert self._directory is not None
        transaction_log = self._directory.transaction_log

        def write() -> None:
            if roll:
                transaction_log.roll()
            transaction_log.write(first_zxid, entries)

        def written(result: object) -> None:
            self._writes = None
            done(result.value if isinstance(result, Failure) else None)
            self._resume()

        self._writes = Deferred()
        waiting = self._writes
        self._in_thread(write).addBoth(written).addBoth(lambda _: waiting.callback(None))

    def _failed(self, error: BaseException) -> None:
        """After a failed write neither it nor anything later can be answered."""
        sentence = f"The embedded ZooKeeper stops: its log in {self._log_dir} can't be written: {error}"
        log.critical("%s", sentence)
        self.stop()
        if self._on_failure is not None:
            self._on_failure(sentence)

    def _snapshot(self) -> None:
        directory, commit, machine = self._directory, self._commit, self.machine
        assert directory is not None and commit is not None and machine is not None
        self._snapshotting = True
        commit.roll()

        def finished(result: object) -> None:
            self._snapshotting = False
            if isinstance(result, Failure):
                log.error("The snapshot could not be written; the log goes on: %s", result.value)

        def safe(written: Path) -> Deferred[Any]:
            # It may contain transactions that are not on the disk yet.
            waiting: Deferred[Any] = Deferred()
            commit.when_durable(lambda: waiting.callback(None))
            return waiting.addCallback(lambda _: self._in_thread(directory.publish, written))

        self._in_thread(directory.snapshot, TreeCopy(machine.tree)).addCallback(safe).addBoth(finished)

    # --- connections

    def connected(self, connection: _ClientProtocol, host: str, port: int) -> ClientConnection | None:
        """Return None if that address has too many connections."""
        assert self.machine is not None
        if self.machine.is_full(host):
            log.warning(
                "Too many connections from %s: maxClientCnxns is %d", host, self.settings.max_client_connections
            )
            return None
        self._open.add(connection)
        return self.machine.connected(
            host,
            port,
            lambda data: self.journal.when_durable(partial(connection.write, data)),
            lambda: self.journal.when_durable(connection.close_after_send),
        )

    def disconnected(self, connection: _ClientProtocol, client: ClientConnection) -> None:
        assert self.machine is not None
        self._open.discard(connection)
        self._paused.discard(connection)
        self.machine.disconnected(client)

    def new_session(self) -> TlsSession:
        """Return the TLS session of a new connection, with the current stores."""
        assert self._stores is not None
        try:
            self._stores.refresh()
        except ConfigException as error:
            log.error("New stores are refused, the old ones stay: %s", error)
        from kafkapy.security.tls.session import TlsSession

        return TlsSession(self._stores.context, server_side=True)

    def answer_word(self, word: str) -> bytes:
        assert self.machine is not None
        place = four_letter_words.Place(self.host, self.port, self._data_dir, self._log_dir)
        return four_letter_words.answer(word, self.machine, place, self.journal.waiting)

    def hold_back(self, connection: _ClientProtocol) -> bool:
        """Return whether the connection must not read on until the disk has caught up."""
        if self.journal.waiting < MAX_WAITING:
            return False
        self._paused.add(connection)
        return True

    def _resume(self) -> None:
        if self._paused and self.journal.waiting < MAX_WAITING:
            paused, self._paused = self._paused, set()
            for connection in paused:
                connection.resume()


def _run_for(result: Deferred[Any], reactor: Any, function: Callable[[], Any]) -> None:
    try:
        value = function()
    except BaseException:
        reactor.callFromThread(result.errback, Failure())
    else:
        reactor.callFromThread(result.callback, value)


class AddressError(Exception):
    """The port cannot be bound; the message says why."""


async def _done(listening: list[Any]) -> None:
    for each in listening:
        await each.stopListening()


class _ClientProtocol(Protocol):
    """Splits the bytes into frames. The first four may be a word instead of a length."""

    factory: Any
    transport: Any

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._client: ClientConnection | None = None
        self._is_first = True
        self._held_back = False
        self._unsent: int | None = None
        """Bytes queued since the client stopped reading; None: it reads."""

    def connectionMade(self) -> None:
        self._server: EmbeddedZooKeeper = self.factory.server
        peer = self.transport.getPeer()
        self.transport.setTcpNoDelay(True)
        self._client = self._server.connected(self, peer.host, peer.port)
        if self._client is None:
            self.transport.abortConnection()
            return
        self.transport.registerProducer(self, True)

    def connectionLost(self, reason: Failure | None = None) -> None:
        client, self._client = self._client, None  # which refers to this connection
        if client is not None:
            self._server.disconnected(self, client)

    def dataReceived(self, data: bytes) -> None:
        client, buffer = self._client, self._buffer
        if client is None or client.closed:
            return
        buffer += data
        try:
            self._process_buffer(client, buffer)
        except MalformedError as error:
            log.warning("Hung up on %s:%d: %s", client.host, client.port, error)
            self._server.journal.when_durable(self.close_after_send)
            client.closed = True
        self._server.round_ended()
        if self._server.hold_back(self):
            self._held_back = True
            self.transport.pauseProducing()

    def _process_buffer(self, client: ClientConnection, buffer: bytearray) -> None:
        assert self._server.machine is not None
        position, most = 0, self._server.settings.jute_maxbuffer
        while len(buffer) - position >= 4 and not client.closed:
            if self._is_first and four_letter_words.is_word(bytes(buffer[:4])):
                self._answer_word(client, bytes(buffer[:4]).decode())
                return
            size = int.from_bytes(buffer[position : position + 4], "big", signed=True)
            if not 0 <= size <= most:
                raise MalformedError(f"it has announced {size} bytes, and jute.maxbuffer is {most}")
            end = position + 4 + size
            if len(buffer) < end:
                break
            self._is_first = False
            self._server.machine.received(client, bytes(buffer[position + 4 : end]))
            position = end
        del buffer[:position]

    def _answer_word(self, client: ClientConnection, word: str) -> None:
        client.stats.received += 1
        self.write(self._server.answer_word(word))
        client.closed = True
        self.close_after_send()

    # --- methods for the server

    def write(self, data: bytes) -> None:
        if self._unsent is not None:
            self._unsent += len(data)
            if self._unsent > MAX_UNSENT_BYTES:
                self.transport.abortConnection()
                return
        self.transport.write(data)

    def close_after_send(self) -> None:
        """Close after what was written."""
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def abort(self) -> None:
        self.transport.abortConnection()

    def resume(self) -> None:
        self._held_back = False
        if self._unsent is None:
            self.transport.resumeProducing()

    # --- callbacks of the transport: buffer full, empty again, closed

    def pauseProducing(self) -> None:
        self._unsent = 0
        self.transport.pauseProducing()

    def resumeProducing(self) -> None:
        self._unsent = None
        if not self._held_back:
            self.transport.resumeProducing()

    def stopProducing(self) -> None:
        return


class _SecureClientProtocol(_ClientProtocol):
    """The same over TLS. The client's certificate, if any, is an identity of its connection before its first request."""

    _plain = bytearray(_READ_BYTES)
    """Shared by all connections, because decrypted data is processed immediately."""

    def connectionMade(self) -> None:
        self._tls: TlsSession = self.factory.server.new_session()
        self._is_known = False
        super().connectionMade()

    def dataReceived(self, data: bytes) -> None:
        tls = self._tls
        tls.received(data)
        if tls.handshake_complete and not self._is_known:
            self._is_known = True
            self._identify()
        while count := tls.read_into(self._plain):
            super().dataReceived(bytes(memoryview(self._plain)[:count]))
        self._flush()
        if tls.failure is not None:
            self._refuse(str(tls.failure))
        elif tls.peer_closed:
            self.close_after_send()

    def _identify(self) -> None:
        client, machine = self._client, self._server.machine
        try:
            name = self._tls.peer_name()
        except DerError as error:
            self._refuse(f"its certificate has a name that cannot be read: {error}")
            return
        if name is not None and client is not None and machine is not None:
            machine.has_certificate(client, name)

    def _refuse(self, why: str) -> None:
        client = self._client
        if client is not None and not client.closed:
            log.warning("Hung up on %s:%d: %s", client.host, client.port, why)
            client.closed = True
        super().close_after_send()

    def write(self, data: bytes) -> None:
        if self._tls.handshake_complete:
            self._tls.write([data])
            self._flush()

    def close_after_send(self) -> None:
        self._tls.close()
        self._flush()
        super().close_after_send()

    def _flush(self) -> None:
        if self._tls.has_outgoing:
            super().write(self._tls.take_outgoing())


__all__ = ["AddressError", "EmbeddedZooKeeper", "StorageError"]
