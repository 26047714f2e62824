"""A ZooKeeper in memory, below the real KafkaZkClient: sessions, versions, watches, multis, and a log of all writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kafkapy.zk.errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    SessionExpiredError,
    ZooKeeperError,
)
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.requests import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    Response,
    SetData,
    Stat,
)


@dataclass
class Node:
    data: bytes | None
    czxid: int
    owner: int = 0
    version: int = 0
    cversion: int = 0
    children: dict[str, None] = field(default_factory=dict)

    def stat(self) -> Stat:
        size = len(self.data or b"")
        return Stat(self.czxid, 0, 0, 0, self.version, self.cversion, 0, self.owner, size, len(self.children), 0)


class FakeZooKeeper:
    """The server.

    `writes` has each write as `create|set|delete path data`, with `*` in front if the controller epoch guarded it.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"/": Node(None, 0)}
        self.zxid = 0
        self.writes: list[str] = []
        self.clients: list[FakeZooKeeperClient] = []
        self.reads = 0
        self.before_write: Callable[[str], object] = lambda path: None
        """Called with the path before each write: lets a test get in between."""

    def client(self) -> FakeZooKeeperClient:
        client = FakeZooKeeperClient(self)
        self.clients.append(client)
        return client

    def node(self, path: str) -> Node:
        if path not in self.nodes:
            raise NoNodeError(path=path)
        return self.nodes[path]

    def json(self, path: str) -> str:
        return (self.node(path).data or b"").decode()

    def take_writes(self) -> list[str]:
        writes, self.writes = self.writes, []
        return writes

    def apply(self, op: Create | Delete | SetData | Check, session: int, guarded: bool = False) -> Response:
        """Apply a write, or raise."""
        self.zxid += 1
        mark = "*" if guarded else ""
        if isinstance(op, Check):
            if self.node(op.path).version != op.version:
                raise BadVersionError(path=op.path)
            return Response()
        if isinstance(op, Create):
            path = self._create(op, session)
            self.writes.append(f"{mark}create {path} {(op.data or b'').decode()}".strip())
            return Response(path=path, stat=self.nodes[path].stat())
        node = self.node(op.path)
        if op.version not in (-1, node.version):
            raise BadVersionError(path=op.path)
        if isinstance(op, SetData):
            node.data, node.version = op.data, node.version + 1
            self.writes.append(f"{mark}set {op.path} {op.data.decode()}")
            self._fire(op.path, "data", "handle_data_change")
            return Response(stat=node.stat())
        if node.children:
            raise NotEmptyError(path=op.path)
        self._delete(op.path)
        self.writes.append(f"{mark}delete {op.path}")
        return Response()

    def _create(self, op: Create, session: int) -> str:
        parent_path, _, name = op.path.rpartition("/")
        parent = self.node(parent_path or "/")
        if op.sequential:
            name = f"{name}{parent.cversion:010d}"
        path = f"{parent_path}/{name}"
        if path in self.nodes:
            raise NodeExistsError(path=path)
        self.nodes[path] = Node(op.data, self.zxid, session if op.ephemeral else 0)
        parent.children[name] = None
        parent.cversion += 1
        self._fire(path, "data", "handle_creation")
        self._fire(parent_path or "/", "children", "handle_child_change")
        return path

    def _delete(self, path: str) -> None:
        parent_path, _, name = path.rpartition("/")
        del self.nodes[path]
        self.nodes[parent_path or "/"].children.pop(name)
        self._fire(path, "data", "handle_deletion")
        self._fire(parent_path or "/", "children", "handle_child_change")

    def end_session(self, session: int) -> None:
        """The session's ephemeral nodes go."""
        for path in [p for p, node in self.nodes.items() if node.owner == session]:
            self._delete(path)

    def _fire(self, path: str, kind: str, method: str) -> None:
        for client in self.clients:
            client.fire(path, kind, method)


class FakeZooKeeperClient:
    """One broker's session; offers what KafkaZkClient needs of ZooKeeperClient."""

    session_timeout_ms = 0

    def __init__(self, server: FakeZooKeeper) -> None:
        self.server = server
        self.past_session_ids: set[int] = set()
        self.session_id = len(server.clients) * 1000 + 1
        self.expired = False
        self._watches: set[tuple[str, str]] = set()
        self._handlers: dict[tuple[str, str], ZNodeChangeHandler | ZNodeChildChangeHandler] = {}
        self._state_change_handlers: dict[str, StateChangeHandler] = {}

    # --- handlers ---

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        self._state_change_handlers[handler.name] = handler

    def unregister_state_change_handler(self, name: str) -> None:
        self._state_change_handlers.pop(name, None)

    def register_znode_change_handler(self, handler: ZNodeChangeHandler) -> None:
        self._handlers[handler.path, "data"] = handler

    def unregister_znode_change_handler(self, path: str) -> None:
        self._handlers.pop((path, "data"), None)

    def has_znode_change_handler(self, path: str) -> bool:
        return (path, "data") in self._handlers

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        self._handlers[handler.path, "children"] = handler

    def unregister_znode_child_change_handler(self, path: str) -> None:
        self._handlers.pop((path, "children"), None)

    @property
    def registered_paths(self) -> set[str]:
        return {path for path, _ in self._handlers}

    def fire(self, path: str, kind: str, method: str) -> None:
        """Watches are one-shot, as ZooKeeper's."""
        if (path, kind) in self._watches:
            self._watches.discard((path, kind))
            handler = self._handlers.get((path, kind))
            if handler is not None:
                getattr(handler, method)()

    # --- session ---

    def lose_session(self) -> None:
        """What a client that expires goes through."""
        self._watches.clear()
        self.expired = True
        self.past_session_ids.add(self.session_id)
        self.server.end_session(self.session_id)
        for handler in list(self._state_change_handlers.values()):
            handler.before_initializing_session()
        self.session_id += 1
        self.expired = False
        for handler in list(self._state_change_handlers.values()):
            handler.after_initializing_session()

    def close(self) -> None:
        self._watches.clear()
        self.server.end_session(self.session_id)

    # --- requests ---

    def handle_requests(self, requests: Sequence[Request]) -> list[Response]:
        if self.expired:
            raise SessionExpiredError
        return [self._handle(request) for request in requests]

    def _handle(self, request: Request) -> Response:
        if isinstance(request, Multi):
            return self._multi(request)
        if isinstance(request, MultiRead):
            return Response(results=[self._handle(GetData(path)) for path in request.paths])
        try:
            if isinstance(request, Create | SetData | Delete):
                self.server.before_write(request.path)
                return self.server.apply(request, self.session_id)
            assert isinstance(request, Exists | GetData | GetChildren), request
            return self._read(request)
        except ZooKeeperError as error:
            return Response(error)

    def _read(self, request: Request) -> Response:
        assert isinstance(request, Exists | GetData | GetChildren)
        self.server.reads += 1
        kind = "children" if isinstance(request, GetChildren) else "data"
        watched = (request.path, kind) in self._handlers and (not isinstance(request, GetChildren) or request.watch)
        if watched and not (isinstance(request, GetData | GetChildren) and request.path not in self.server.nodes):
            self._watches.add((request.path, kind))
        node = self.server.node(request.path)
        return Response(data=node.data, stat=node.stat(), children=list(node.children))

    def _multi(self, request: Multi) -> Response:
        """All checks come first in what Kafka sends, so nothing has to be rolled back but what `_undo` knows."""
        self.server.before_write(request.path)
        guarded = isinstance(request.ops[0], Check) and request.ops[0].path == "/controller_epoch"
        results: list[Response] = []
        for op in request.ops:
            try:
                results.append(self.server.apply(op, self.session_id, guarded))
            except ZooKeeperError as error:
                self._undo(request.ops[: len(results)])
                rolled_back = [Response(RolledBackError(path=o.path)) for o in request.ops]
                rolled_back[len(results)] = Response(error)
                return Response(error, results=rolled_back)
        return Response(results=results)

    def _undo(self, ops: Sequence[Create | Delete | SetData | Check]) -> None:
        for op in ops:
            if not isinstance(op, Check):
                assert isinstance(op, Create)
                self.server._delete(op.path)
                self.server.writes.pop()
