"""The session with ZooKeeper. Beside `kazoo_internals` the only file that knows kazoo.

kazoo keeps the connection, the session and the thread that reads and writes; what Kafka asks for beyond that is here:

* requests are pipelined, at most `max_in_flight_requests` unanswered;
* a watch survives a lost connection: kazoo forgets its watches then, so they are set again with the last zxid that was
  seen (ZooKeeper's SetWatches), and ZooKeeper at once reports what changed in between;
* after an expired session the state change handlers run in Kafka's order before requests may use the new session;
* a server that takes a connection and never answers does not keep us from trying again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooState
from kazoo.protocol import serialization as wire
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent
from kazoo.security import ACL, Id

from kafkapy.zk import errors
from kafkapy.zk.client_security import PLAINTEXT, ZkClientSecurity
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.kazoo_internals import OpenKazooClient, Watches
from kafkapy.zk.multi_read import MultiReadOperation, ReadResult
from kafkapy.zk.reachability import why_unreachable
from kafkapy.zk.requests import (
    Check,
    Create,
    Delete,
    Exists,
    GetAcl,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    Response,
    SetAcl,
    SetData,
    Stat,
)
from kafkapy.zk.session_closer import Session
from kafkapy.zk.znode_acls import CREATOR_ALL_ACL, OPEN_ACL, READ_ACL, Acl, Acls, default_acls

log = logging.getLogger("kafkapy.zk.ZooKeeperClient")

_MAX_IN_FLIGHT = 64
"""kazoo wakes its thread with one byte on a socket pair for each request; some 270 unread bytes block the sender."""

_WARN_AFTER_MS = 3000
"""A warning is logged if there is no connection after this time."""


def _of_kazoo(acls: Acls) -> list[Any]:
    return [ACL(acl.perms, Id(acl.scheme, acl.id)) for acl in acls]


_ACLS = {acls: _of_kazoo(acls) for acls in (OPEN_ACL, CREATOR_ALL_ACL, CREATOR_ALL_ACL + READ_ACL)}
"""The lists of Kafka's znodes, converted once, not for each request."""

CONNECTING, CONNECTED, EXPIRED, CLOSED = "CONNECTING", "CONNECTED", "EXPIRED", "CLOSED"


class SessionStats:
    """Statistics of sessions and requests."""

    def __init__(self) -> None:
        self.connects = 0
        self.disconnects = 0
        self.expires = 0
        self.requests = 0
        """Answered or failed."""
        self.request_seconds = 0.0


class ZooKeeperClient:
    """One session at a time, renewed when it expires (Kafka's `ZooKeeperClient`).

    Invariant: requests are sent only in state CONNECTED. CONNECTING: they wait. EXPIRED (from the loss of the session
    until every `before_initializing_session` has run): requests fail with `SessionExpiredError`, so that users of the
    lost session stop. CLOSED: they fail with `ZooKeeperClientClosedError`.
    """

    def __init__(
        self,
        connect: str,
        session_timeout_ms: int,
        max_in_flight_requests: int = 10,
        on_session: Callable[[Session | None], None] | None = None,
        security: ZkClientSecurity = PLAINTEXT,
        secure_acls: bool = False,
    ) -> None:
        """Create a client that `start` connects.

        Args:
            connect: `host:port[,host:port]...[/chroot]`; the chroot must exist.
            session_timeout_ms: Time-out of the session, ms.
            max_in_flight_requests: Limit of pipelined requests; default 10.
            on_session: Called with each new session before a request uses it, on kazoo's thread, and with None when
                `close` has closed it at the server.
            security: TLS and SASL; default: neither.
            secure_acls: Whether znodes are created with Kafka's access lists (`zookeeper.set.acl`); default: open to
                all.
        """
        self.connect = connect
        self.session_timeout_ms = session_timeout_ms
        self.security = security
        self.secure_acls = secure_acls
        self._auth_failure: str | None = None
        self._on_session = on_session
        self._reported_session: int | None = None
        self.past_session_ids: set[int] = set()
        self.stats = SessionStats()
        self._state = CONNECTING
        self._state_changed = threading.Condition()
        self._linked = False  # kazoo's view: connected, with any session
        self._in_flight = threading.BoundedSemaphore(min(max_in_flight_requests, _MAX_IN_FLIGHT))
        self._expirations: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._pending_expirations = 0
        self._state_change_handlers: dict[str, StateChangeHandler] = {}
        self._znode_handlers: dict[str, ZNodeChangeHandler] = {}
        self._child_handlers: dict[str, ZNodeChildChangeHandler] = {}
        self._kazoo = OpenKazooClient(
            security,
            self._authentication_failed,
            hosts=connect,
            timeout=session_timeout_ms / 1000,
            connection_retry={"max_tries": -1, "delay": 0.1, "backoff": 1.5, "max_delay": 1.0},
            logger=_QuietLogger(logging.getLogger("kazoo.client")),
        )
        self._watches = Watches(self._kazoo)
        self._kazoo.add_listener(self._connection_changed)
        self._session_thread = threading.Thread(target=self._renew_sessions, name="zk-session-expiry-handler")
        self._session_thread.daemon = True

    # --- the connection -------------------------------------------------------------------------------------------

    def start(self, connection_timeout_ms: int) -> None:
        """Connect. If there is no session after a moment, a warning says why each server does not give one.

        Raises:
            ZooKeeperClientTimeoutError: there is no session in time (then the client is closed); the message says why
                for each server.
            ZooKeeperClientAuthFailedError: a server refuses SASL.
        """
        self._kazoo.start_async()
        self._session_thread.start()
        try:
            self._wait_and_warn(connection_timeout_ms)
        except errors.ZooKeeperClientAuthFailedError:
            self.close()
            raise
        except errors.ZooKeeperClientTimeoutError:
            self.close()
            raise errors.ZooKeeperClientTimeoutError(
                f"{self._timed_out_after(connection_timeout_ms)}. {self._why_unreachable()}"
            ) from None

    def _why_unreachable(self) -> str:
        return why_unreachable(self.connect, security=self.security)

    def _wait_and_warn(self, timeout_ms: int) -> None:
        deadline = time.monotonic() + timeout_ms / 1000
        if timeout_ms > _WARN_AFTER_MS:
            try:
                self.wait_until_connected(_WARN_AFTER_MS)
            except errors.ZooKeeperClientTimeoutError:
                why = self._why_unreachable()
                left = max(deadline - time.monotonic(), 0)
                log.warning("No connection to ZooKeeper yet, trying for another %.0f s. %s", left, why)
        self.wait_until_connected(max(int((deadline - time.monotonic()) * 1000), 0))

    def wait_until_connected(self, timeout_ms: int | None = None) -> None:
        """Wait for the session to be usable; None: without limit. In the states EXPIRED and CLOSED it raises as a
        request would.
        """
        deadline = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        with self._state_changed:
            while self._state == CONNECTING:
                if self._auth_failure is not None and not self.stats.connects:
                    raise errors.ZooKeeperClientAuthFailedError(
                        f"ZooKeeper at {self.connect} refuses SASL as {self.security.user}: {self._auth_failure}"
                    )
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    raise errors.ZooKeeperClientTimeoutError(self._timed_out_after(timeout_ms))
                self._state_changed.wait(remaining)
            self._check_usable()

    def _timed_out_after(self, timeout_ms: int | None) -> str:
        return f"Timed out waiting for a connection to ZooKeeper at {self.connect} after {timeout_ms} ms"

    @property
    def state(self) -> str:
        """The state CONNECTING, CONNECTED, EXPIRED or CLOSED."""
        return self._state

    @property
    def session_id(self) -> int | None:
        """The current session's id; the last one while the connection is lost, None before the first."""
        return self._kazoo.session_id

    @property
    def session_password(self) -> bytes:
        """The secret with which another connection can resume this session."""
        return self._kazoo.session_password

    def close(self) -> None:
        """End the session at the server, if it can be reached, and fail all waiting requests."""
        with self._state_changed:
            if self._state == CLOSED:
                return
            self._state = CLOSED
            self._state_changed.notify_all()
        linked = self._linked
        self._expirations.put(False)
        self._kazoo.stop()
        self._kazoo.close()
        if linked and self._on_session:
            self._on_session(None)

    def _check_usable(self) -> None:
        if self._state == CLOSED:
            raise errors.ZooKeeperClientClosedError("The ZooKeeper client is closed")
        if self._state == EXPIRED:
            raise errors.SessionExpiredError("The ZooKeeper session has expired")

    def _authentication_failed(self, why: str) -> None:
        """Called on kazoo's connection thread. A client that has been connected before retries: passwords may be about
        to change.
        """
        with self._state_changed:
            if why != self._auth_failure:
                log.error("SASL with ZooKeeper at %s as %s fails: %s", self.connect, self.security.user, why)
            self._auth_failure = why
            self._state_changed.notify_all()

    def _connection_changed(self, kazoo_state: str) -> None:
        """kazoo's listener, on its connection thread: must not block."""
        with self._state_changed:
            self._linked = kazoo_state == KazooState.CONNECTED
            if self._state == CLOSED:
                return
            if kazoo_state == KazooState.CONNECTED:
                log.info("Connected to ZooKeeper at %s, session 0x%x", self.connect, self.session_id or 0)
                self.stats.connects += 1
                self._auth_failure = None
                self._report_session()
                if self._state == CONNECTING:
                    self._state = CONNECTED
                self._watches.set_again()
            elif kazoo_state == KazooState.SUSPENDED:
                log.warning("Lost the connection to ZooKeeper at %s, trying to get it back", self.connect)
                self.stats.disconnects += 1
                if self._state == CONNECTED:
                    self._state = CONNECTING
                self._watches.save()
            else:
                self.stats.expires += 1
                self._state = EXPIRED
                self._watches.forget()
                self.past_session_ids.add(self._kazoo.session_id or 0)
                self._pending_expirations += 1
                self._expirations.put(True)
            self._state_changed.notify_all()

    def _report_session(self) -> None:
        session_id = self.session_id
        if self._on_session and session_id is not None and session_id != self._reported_session:
            self._reported_session = session_id
            security = self.security.to_text()
            self._on_session(
                Session(session_id, self.session_password, self.session_timeout_ms, self.connect, security)
            )

    # --- a new session --------------------------------------------------------------------------------------------

    def _renew_sessions(self) -> None:
        """The session thread: for each expired session, call the handlers before, create the session, call the handlers
        after.
        """
        while self._expirations.get():
            log.warning("ZooKeeper session expired, a new one is being made")
            self._call_handlers("before_initializing_session")
            if self._reinitialize():
                self._call_handlers("after_initializing_session")

    def _reinitialize(self) -> bool:
        """Enable requests again and wait for the connection; return False if this session has ended meanwhile, too."""
        if self._kazoo.client_state == KeeperState.CLOSED and self._state != CLOSED:
            self._kazoo.stop()  # kazoo's thread has ended because of an error: restart it
            self._kazoo.start_async()
        with self._state_changed:
            self._pending_expirations -= 1
            if self._state == CLOSED or self._pending_expirations:
                return False
            self._state = CONNECTED if self._linked else CONNECTING
            self._state_changed.notify_all()
        try:
            self.wait_until_connected()
        except (errors.SessionExpiredError, errors.ZooKeeperClientClosedError):
            return False
        return True

    def _call_handlers(self, moment: str) -> None:
        for handler in list(self._state_change_handlers.values()):
            try:
                getattr(handler, moment)()
            except Exception:
                log.exception("State change handler %s failed in %s", handler.name, moment)

    # --- handlers and watches -------------------------------------------------------------------------------------

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        self._state_change_handlers[handler.name] = handler

    def unregister_state_change_handler(self, name: str) -> None:
        self._state_change_handlers.pop(name, None)

    def register_znode_change_handler(self, handler: ZNodeChangeHandler) -> None:
        """One handler per path; the next `Exists` or `GetData` of the path sets the watch."""
        self._znode_handlers[handler.path] = handler

    def unregister_znode_change_handler(self, path: str) -> None:
        self._znode_handlers.pop(path, None)

    def has_znode_change_handler(self, path: str) -> bool:
        return path in self._znode_handlers

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        """One handler per path; the next `GetChildren` of the path sets the watch."""
        self._child_handlers[handler.path] = handler

    def unregister_znode_child_change_handler(self, path: str) -> None:
        self._child_handlers.pop(path, None)

    def _znode_changed(self, event: WatchedEvent) -> None:
        handler = self._znode_handlers.get(event.path)
        if handler is None:
            return
        if event.type == EventType.CREATED:
            handler.handle_creation()
        elif event.type == EventType.DELETED:
            handler.handle_deletion()
        elif event.type == EventType.CHANGED:
            handler.handle_data_change()

    def _children_changed(self, event: WatchedEvent) -> None:
        handler = self._child_handlers.get(event.path)
        if handler is not None and event.type == EventType.CHILD:
            handler.handle_child_change()

    # --- requests -------------------------------------------------------------------------------------------------

    def handle_requests(self, requests: Sequence[Request]) -> list[Response]:
        """Send all requests, wait for all; return the responses in order. Each response has its error, including
        `ConnectionLossError`.

        Raises only if nothing can be sent: `SessionExpiredError`, `ZooKeeperClientClosedError`.
        """
        batch = _Batch(len(requests), self._in_flight.release)
        for index, request in enumerate(requests):
            waiting = _Waiting(self._kazoo, self._watches, self.stats, request, batch, index)
            self._in_flight.acquire()
            with self._state_changed:
                if self._state == CONNECTED:
                    self._kazoo.send(self._to_wire(request), waiting)
                    continue
                if index == 0:
                    self._in_flight.release()
                    if self._state == CONNECTING:
                        return [Response(errors.ConnectionLossError(path=r.path)) for r in requests]
                    self._check_usable()
            waiting.set_exception(kazoo_errors.ConnectionLoss())
        return batch.wait()

    def _full_path(self, path: str) -> str:
        chroot: str = self._kazoo.chroot
        return chroot + path if path != "/" else chroot or "/"

    def _to_wire(self, request: Request | Check) -> Any:
        path = self._full_path(request.path)
        match request:
            case Create():
                flags = (1 if request.ephemeral else 0) | (2 if request.sequential else 0)
                return wire.Create2(path, request.data, self._kazoo_acls(request.path), flags)
            case Delete():
                return wire.Delete(path, request.version)
            case SetData():
                return wire.SetData(path, request.data, request.version)
            case Check():
                return wire.CheckVersion(path, request.version)
            case Exists():
                return wire.Exists(path, self._znode_watcher(request.path))
            case GetData():
                return wire.GetData(path, self._znode_watcher(request.path))
            case GetAcl():
                return wire.GetACL(path)
            case SetAcl():
                return wire.SetACL(path, _of_kazoo(request.acls), request.version)
            case GetChildren():
                watch = request.watch and request.path in self._child_handlers
                return wire.GetChildren2(path, self._children_changed if watch else None)
            case Multi():
                return wire.Transaction([self._to_multi_op(op) for op in request.ops])
            case MultiRead():
                return MultiReadOperation([self._full_path(p) for p in request.paths])

    def _kazoo_acls(self, path: str) -> list[Any]:
        return _ACLS[default_acls(self.secure_acls, path)]

    def _to_multi_op(self, op: Create | Delete | SetData | Check) -> Any:
        operation = self._to_wire(op)
        return wire.Create(*operation) if isinstance(operation, wire.Create2) else operation

    def _znode_watcher(self, path: str) -> Callable[[WatchedEvent], None] | None:
        return self._znode_changed if path in self._znode_handlers else None


class _QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """kazoo warns of every failed connection attempt, each second; one line when the connection is lost is enough."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        super().log(logging.DEBUG if level == logging.WARNING else level, msg, *args, **kwargs)


class _Batch:
    """Responses of requests that were sent together; the waiting thread is woken when all are complete."""

    def __init__(self, size: int, answered: Callable[[], None]) -> None:
        self.responses = [Response() for _ in range(size)]
        self._answered = answered
        self._missing = size
        self._lock = threading.Lock()
        self._complete = threading.Event()
        if not size:
            self._complete.set()

    def put(self, index: int, response: Response) -> None:
        self.responses[index] = response
        self._answered()
        with self._lock:
            self._missing -= 1
            if not self._missing:
                self._complete.set()

    def wait(self) -> list[Response]:
        self._complete.wait()
        return self.responses


class _Waiting:
    """One unanswered request: kazoo's async result. Called on kazoo's thread, or on the sender's if it cannot be sent."""

    __slots__ = ("batch", "done", "index", "kazoo", "request", "sent", "stats", "watches")

    def __init__(
        self,
        kazoo: OpenKazooClient,
        watches: Watches,
        stats: SessionStats,
        request: Request,
        batch: _Batch,
        index: int,
    ) -> None:
        self.stats = stats
        self.sent = time.monotonic()
        self.kazoo = kazoo
        self.watches = watches
        self.request = request
        self.batch = batch
        self.index = index
        self.done = False

    def set(self, value: Any) -> None:
        if isinstance(self.request, Exists | GetData):
            self.watches.record_read(self.kazoo.chroot + self.request.path, value is not None)
        self._put(_to_response(self.request, value, self.kazoo))

    def set_exception(self, exception: Exception) -> None:
        self._put(Response(_to_error(exception, self.request.path)))

    def _put(self, response: Response) -> None:
        if not self.done:  # kazoo may report a request twice when it is closed
            self.done = True
            self.stats.requests += 1
            self.stats.request_seconds += time.monotonic() - self.sent
            self.batch.put(self.index, response)


def _to_response(request: Request, value: Any, kazoo: OpenKazooClient) -> Response:
    match request:
        case Create():
            path, stat = value
            return Response(path=kazoo.unchroot(path), stat=Stat(*stat))
        case Delete():
            return Response()
        case SetData() | SetAcl():
            return Response(stat=Stat(*value))
        case GetAcl():
            entries, stat = value
            return Response(
                acls=tuple(Acl(each.perms, each.id.scheme, each.id.id or "") for each in entries), stat=Stat(*stat)
            )
        case Exists():
            if value is None:
                return Response(errors.NoNodeError(path=request.path))
            return Response(stat=Stat(*value))
        case GetData():
            data, stat = value
            return Response(data=data, stat=Stat(*stat))
        case GetChildren():
            children, stat = value
            return Response(children=children, stat=Stat(*stat))
        case Multi():
            return _to_multi_response(request, value)
        case MultiRead():
            return Response(results=[_to_read_response(*pair) for pair in zip(request.paths, value, strict=True)])


def _to_read_response(path: str, result: ReadResult) -> Response:
    if result.error:
        return Response(_to_error(kazoo_errors.EXCEPTIONS[result.error](), path))
    return Response(data=result.data, stat=Stat(*result.stat))


def _to_multi_response(request: Multi, values: Sequence[Any]) -> Response:
    results = []
    for op, value in zip(request.ops, values, strict=True):
        if isinstance(value, Exception):
            results.append(Response(_to_error(value, op.path)))
        elif isinstance(op, SetData):
            results.append(Response(stat=Stat(*value)))
        else:
            results.append(Response(path=value if isinstance(op, Create) else op.path))
    failed = [r.error for r in results if r.error and not isinstance(r.error, errors.RolledBackError)]
    return Response(failed[0] if failed else None, results=results)


_ERRORS: list[tuple[type[Exception], type[errors.ZooKeeperError]]] = [
    (kazoo_errors.NoNodeError, errors.NoNodeError),
    (kazoo_errors.NodeExistsError, errors.NodeExistsError),
    (kazoo_errors.BadVersionError, errors.BadVersionError),
    (kazoo_errors.NotEmptyError, errors.NotEmptyError),
    (kazoo_errors.NoAuthError, errors.NoAuthError),
    (kazoo_errors.InvalidACLError, errors.InvalidAclError),
    (kazoo_errors.UnimplementedError, errors.UnimplementedError),
    (kazoo_errors.RolledBackError, errors.RolledBackError),
    (kazoo_errors.RuntimeInconsistency, errors.RolledBackError),
    (kazoo_errors.ConnectionLoss, errors.ConnectionLossError),
    (kazoo_errors.ConnectionClosedError, errors.ConnectionLossError),  # before its base class SessionExpiredError
    (kazoo_errors.SessionMovedError, errors.ConnectionLossError),
    (kazoo_errors.SessionExpiredError, errors.SessionExpiredError),
]


def _to_error(exception: Exception, path: str) -> errors.ZooKeeperError:
    for kazoo_type, our_type in _ERRORS:
        if isinstance(exception, kazoo_type):
            return our_type(path=path)
    return errors.ZooKeeperError(f"{type(exception).__name__} {exception} for {path}".replace("  ", " "), path)
