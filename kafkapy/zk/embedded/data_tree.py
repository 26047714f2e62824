"""The tree of nodes, to which transactions are applied: ZooKeeper's DataTree."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import OPEN_ACL, READ_ACL, Acls
from kafkapy.zk.embedded.codes import Code, NodeEvent
from kafkapy.zk.embedded.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    MultiTxn,
    Op,
    SetAclTxn,
    SetDataTxn,
    Txn,
    TxnHeader,
)
from kafkapy.zk.embedded.watches import WatchTable
from kafkapy.zk.embedded.znode import CONTAINER_OWNER, Znode, session_owner, ttl_owner

SPECIAL_PATHS = frozenset(("/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"))
"""Nodes that always exist."""


class TxnResult(NamedTuple):
    """The result of a transaction, or of an operation of a multi. `stat`: as sent to the client."""

    type: int
    path: str = ""
    stat: bytes = b""
    code: int = Code.OK


class DataTree:
    """The tree.

    Invariants: in `nodes` each node comes after its parent, and the root is present as "" (for parents) and as "/".
    `ephemerals` has exactly the nodes of sessions, `expiring` exactly the container and TTL nodes. `data_size` is the
    bytes of all data and paths.

    Applying a transaction again has no effect: existing or deleted nodes are ignored. So a snapshot may contain more
    than its zxid says.
    """

    def __init__(self, extended_types: bool = False) -> None:
        self.extended_types = extended_types
        self.nodes: dict[str, Znode] = {}
        self.ephemerals: dict[int, dict[str, None]] = {}
        self.expiring: dict[str, None] = {}
        self.sessions: dict[int, int] = {}
        """Time-outs in ms by session, from the log."""
        self.data_watches = WatchTable()
        self.child_watches = WatchTable()
        self.last_zxid = 0
        self.data_size = 0
        self._acls: dict[Acls, Acls] = {}
        for path in ("", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"):
            self.add_loaded(path, Znode(b"", READ_ACL if path == "/zookeeper/config" else OPEN_ACL, 0, 0))
        self.nodes["/zookeeper/config"].aversion = -1

    # --- loading a snapshot

    def clear(self) -> None:
        for table in (self.nodes, self.ephemerals, self.expiring, self.sessions, self._acls):
            table.clear()
        self.data_size = 0

    def add_loaded(self, path: str, node: Znode) -> None:
        """Add a node of a snapshot; `KeyError` if its parent does not exist."""
        node.acls = self._same(node.acls)
        self.nodes[path] = node
        if path:
            parent, _, name = path.rpartition("/")
            self.nodes[parent].children[name] = None
            self._note_kind(path, node)
        else:
            self.nodes["/"] = node
        self.data_size += _size(path, node.data)

    # --- reading

    @property
    def count(self) -> int:
        """Return the number of nodes as ZooKeeper counts: the root twice."""
        return len(self.nodes)

    def all_children_count(self, path: str) -> int:
        """Return the number of all descendants."""
        if path == "/":
            return len(self.nodes) - 2
        start = path + "/"
        return sum(other.startswith(start) for other in self.nodes)

    # --- transactions

    def apply(self, header: TxnHeader, txn: Txn) -> list[TxnResult]:
        """Apply a transaction and return its result; for a multi one for each operation."""
        if isinstance(txn, MultiTxn):
            results = _failed_results(txn) if txn.failed else [self._apply_op(header, op) for op in txn.ops]
        else:
            results = [self._apply_op(header, txn)]
        if header.zxid > self.last_zxid:
            self.last_zxid = header.zxid
        return results

    def _apply_op(self, header: TxnHeader, op: Op) -> TxnResult:
        match op:
            case CreateTxn():
                return self._create(header, op)
            case DeleteTxn():
                return TxnResult(op.type, op.path, b"", self._delete(op.path, header.zxid))
            case SetDataTxn():
                return self._set_data(header, op)
            case SetAclTxn():
                return self._set_acl(op)
            case CheckVersionTxn():
                return TxnResult(op.type, op.path)
            case CreateSessionTxn():
                self.sessions[header.session_id] = op.timeout_ms
            case CloseSessionTxn():
                self.sessions.pop(header.session_id, None)
                for path in dict.fromkeys((*op.paths, *self.ephemerals.pop(header.session_id, ()))):
                    self._delete(path, header.zxid)
            case ErrorTxn():
                return TxnResult(op.type, code=op.code)
        return TxnResult(op.type)

    def _create(self, header: TxnHeader, txn: CreateTxn) -> TxnResult:
        path = txn.path
        parent_path, _, name = path.rpartition("/")
        parent = self.nodes.get(parent_path)
        if parent is None:
            return TxnResult(txn.type, path, b"", Code.NO_NODE)
        cversion = parent.cversion + 1 if txn.parent_cversion == -1 else txn.parent_cversion
        if cversion > parent.cversion:
            parent.cversion, parent.pzxid = cversion, header.zxid
        existing = self.nodes.get(path)
        if existing is not None:
            existing.acls = self._same(txn.acls)
            return TxnResult(txn.type, path, b"", Code.NODE_EXISTS)
        node = Znode(txn.data, self._same(txn.acls), header.zxid, header.time_ms, _owner(header, txn))
        parent.children[name] = None
        self.nodes[path] = node
        self.data_size += _size(path, txn.data)
        self._note_kind(path, node)
        stat = node.stat(self.extended_types)
        self.data_watches.trigger(NodeEvent.NODE_CREATED, path, header.zxid, node.acls)
        self.child_watches.trigger(NodeEvent.NODE_CHILDREN_CHANGED, parent_path or "/", header.zxid, parent.acls)
        return TxnResult(txn.type, path, stat)

    def _delete(self, path: str, zxid: int) -> Code:
        parent_path, _, name = path.rpartition("/")
        parent = self.nodes.get(parent_path)
        if parent is None:
            return Code.NO_NODE
        parent.children.pop(name, None)
        if zxid > parent.pzxid:
            parent.pzxid = zxid
        node = self.nodes.pop(path, None)
        if node is None:
            return Code.NO_NODE
        self.data_size -= _size(path, node.data)
        self.expiring.pop(path, None)
        owned = self.ephemerals.get(node.ephemeral_owner)
        if owned is not None:
            owned.pop(path, None)
            if not owned:
                del self.ephemerals[node.ephemeral_owner]
        told = self.data_watches.trigger(NodeEvent.NODE_DELETED, path, zxid, node.acls)
        self.child_watches.trigger(NodeEvent.NODE_DELETED, path, zxid, node.acls, but=told)
        self.child_watches.trigger(NodeEvent.NODE_CHILDREN_CHANGED, parent_path or "/", zxid, parent.acls)
        return Code.OK

    def _set_data(self, header: TxnHeader, txn: SetDataTxn) -> TxnResult:
        node = self.nodes.get(txn.path)
        if node is None:
            return TxnResult(txn.type, txn.path, b"", Code.NO_NODE)
        self.data_size += _size(txn.path, txn.data) - _size(txn.path, node.data)
        node.data = txn.data
        node.version, node.mzxid, node.mtime = txn.version, header.zxid, header.time_ms
        stat = node.stat(self.extended_types)
        self.data_watches.trigger(NodeEvent.NODE_DATA_CHANGED, txn.path, header.zxid, node.acls)
        return TxnResult(txn.type, txn.path, stat)

    def _set_acl(self, txn: SetAclTxn) -> TxnResult:
        node = self.nodes.get(txn.path)
        if node is None:
            return TxnResult(txn.type, txn.path, b"", Code.NO_NODE)
        node.acls, node.aversion = self._same(txn.acls), txn.version
        return TxnResult(txn.type, txn.path, node.stat(self.extended_types))

    def _same(self, acls: Acls) -> Acls:
        """Share equal lists: most nodes have the same."""
        return self._acls.setdefault(acls, acls)

    def _note_kind(self, path: str, node: Znode) -> None:
        if session_owner(node.ephemeral_owner, self.extended_types):
            self.ephemerals.setdefault(node.ephemeral_owner, {})[path] = None
        elif node.ephemeral_owner:
            self.expiring[path] = None


def _owner(header: TxnHeader, txn: CreateTxn) -> int:
    if txn.type == codes.CREATE_CONTAINER:
        return CONTAINER_OWNER
    if txn.type == codes.CREATE_TTL:
        return ttl_owner(txn.ttl_ms)
    return header.session_id if txn.ephemeral else 0


def _failed_results(txn: MultiTxn) -> list[TxnResult]:
    """Return OK for the operations before the failed one, its error, and RUNTIME_INCONSISTENCY for later ones."""
    results, failed = [], False
    for op in txn.ops:
        if isinstance(op, ErrorTxn):
            code, failed = op.code, True
        else:
            code = Code.RUNTIME_INCONSISTENCY if failed else Code.OK
        results.append(TxnResult(codes.ERROR, code=code))
    return results


def _size(path: str, data: bytes | None) -> int:
    return len(path) + (0 if data is None else len(data))
