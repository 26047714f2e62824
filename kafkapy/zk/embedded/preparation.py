"""Turns a write request into a transaction, or an error: ZooKeeper's PrepRequestProcessor.

The tree is not changed here. The operations of a multi see the effects of those before them (`_planned`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkapy.zk import paths
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import DEFAULT_SCHEMES, Acls, Identity, check, decode_acls, resolve_acls
from kafkapy.zk.embedded.codes import Code, KeeperError
from kafkapy.zk.embedded.data_tree import SPECIAL_PATHS, DataTree
from kafkapy.zk.embedded.jute import Decoder, MalformedError
from kafkapy.zk.embedded.transactions import (
    CheckVersionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    MultiTxn,
    Op,
    SetAclTxn,
    SetDataTxn,
)
from kafkapy.zk.embedded.znode import CONTAINER_OWNER, MAX_TTL, Znode, session_owner, ttl_owner


class CreateMode(NamedTuple):
    ephemeral: bool = False
    sequential: bool = False
    container: bool = False
    ttl: bool = False


MODES = {
    0: CreateMode(),
    1: CreateMode(ephemeral=True),
    2: CreateMode(sequential=True),
    3: CreateMode(ephemeral=True, sequential=True),
    4: CreateMode(container=True),
    5: CreateMode(ttl=True),
    6: CreateMode(ttl=True, sequential=True),
}


class Requester(NamedTuple):
    session_id: int
    identities: tuple[Identity, ...]
    schemes: frozenset[str] = DEFAULT_SCHEMES


class _PlannedNode:
    """The state of a node after the operations so far."""

    __slots__ = ("acls", "aversion", "child_count", "cversion", "data", "ephemeral_owner", "version")

    def __init__(
        self,
        data: bytes | None,
        acls: Acls,
        version: int = 0,
        cversion: int = 0,
        aversion: int = 0,
        child_count: int = 0,
        ephemeral_owner: int = 0,
    ) -> None:
        self.data = data
        self.acls = acls
        self.version = version
        self.cversion = cversion
        self.aversion = aversion
        self.child_count = child_count
        self.ephemeral_owner = ephemeral_owner

    @classmethod
    def of(cls, node: Znode) -> _PlannedNode:
        return cls(
            node.data,
            node.acls,
            node.version,
            node.cversion,
            node.aversion,
            node.child_count,
            node.ephemeral_owner,
        )


def validate_path(path: str) -> None:
    if not paths.is_valid(path):
        raise KeeperError(Code.BAD_ARGUMENTS, path)


class Preparation:
    """Prepares one request. Each `prepare_` reads its record and returns the transaction; it raises `KeeperError`, or
    `MalformedError` for a malformed record.
    """

    def __init__(self, tree: DataTree, requester: Requester) -> None:
        self._tree = tree
        self._requester = requester
        self._planned: dict[str, _PlannedNode | None] | None = None
        """In a multi, by path; None: it will be deleted."""

    def op(self, kind: int, decoder: Decoder) -> Op:
        if kind in (codes.CREATE, codes.CREATE2, codes.CREATE_CONTAINER, codes.CREATE_TTL):
            return self._create(_CreateRequest.read(kind, decoder))
        prepare = _PREPARE[kind]
        return prepare(self, decoder)

    # --- one operation each

    def _create(self, request: _CreateRequest) -> CreateTxn:
        mode, path = MODES.get(request.flags), request.path
        if mode is None:
            raise KeeperError(Code.BAD_ARGUMENTS, path)
        self._check_ttl(request, mode)
        if "/" not in path or "\0" in path:
            raise KeeperError(Code.BAD_ARGUMENTS, path)
        parent_path = path.rpartition("/")[0]
        acls = resolve_acls(request.acls, self._requester.identities, path, self._requester.schemes)
        parent = self._record(parent_path)
        check(parent.acls, codes.CREATE_PERM, self._requester.identities, path)
        if mode.sequential:
            path += f"{parent.cversion:010d}"
        validate_path(path)
        if self._find(path) is not None:
            raise KeeperError(Code.NODE_EXISTS, path)
        if session_owner(parent.ephemeral_owner, self._tree.extended_types):
            raise KeeperError(Code.NO_CHILDREN_FOR_EPHEMERALS, path)
        cversion = parent.cversion + 1
        kind = request.kind
        ephemeral = mode.ephemeral and kind in (codes.CREATE, codes.CREATE2)
        if self._planned is not None:
            owner = self._requester.session_id if ephemeral else 0
            if kind == codes.CREATE_CONTAINER:
                owner = CONTAINER_OWNER
            elif kind == codes.CREATE_TTL:
                owner = ttl_owner(request.ttl_ms)
            plan = self._plan(parent_path)
            plan.child_count, plan.cversion = plan.child_count + 1, cversion
            self._planned[path] = _PlannedNode(request.data, acls, ephemeral_owner=owner)
        return CreateTxn(kind, path, request.data, acls, cversion, ephemeral, request.ttl_ms)

    def _check_ttl(self, request: _CreateRequest, mode: CreateMode) -> None:
        """ZooKeeper accepts a TTL below 0 if the flags don't ask for a TTL node. It crashes when it applies that, and
        again at each start, when it reads it from its log.
        """
        if mode.ttl and not self._tree.extended_types:
            raise KeeperError(Code.UNIMPLEMENTED, request.path)
        if mode.ttl != (request.kind == codes.CREATE_TTL) or (mode.ttl and not 0 < request.ttl_ms <= MAX_TTL):
            raise KeeperError(Code.BAD_ARGUMENTS, request.path)

    def _delete(self, decoder: Decoder) -> DeleteTxn:
        path, expected = decoder.string(), decoder.int32()
        parent_path = _parent_of_ordinary(path)
        parent = self._record(parent_path)
        check(parent.acls, codes.DELETE_PERM, self._requester.identities, path)
        node = self._record(path)
        _next_version(node.version, expected, path)
        if node.child_count:
            raise KeeperError(Code.NOT_EMPTY, path)
        self._plan_deletion(path, parent_path)
        return DeleteTxn(codes.DELETE, path)

    def _delete_container(self, decoder: Decoder) -> DeleteTxn:
        """Delete an unused container or TTL node, at the request of the server itself."""
        path = decoder.string()
        parent_path = _parent_of_ordinary(path)
        node = self._record(path)
        if node.child_count:
            raise KeeperError(Code.NOT_EMPTY, path)
        if session_owner(node.ephemeral_owner, self._tree.extended_types) or not node.ephemeral_owner:
            raise KeeperError(Code.BAD_VERSION, path)
        self._plan_deletion(path, parent_path)
        return DeleteTxn(codes.DELETE_CONTAINER, path)

    def _plan_deletion(self, path: str, parent_path: str) -> None:
        if self._planned is not None:
            self._plan(parent_path).child_count -= 1
            self._planned[path] = None

    def _set_data(self, decoder: Decoder) -> SetDataTxn:
        path, data, expected = decoder.string(), decoder.buffer(), decoder.int32()
        validate_path(path)
        node = self._record(path)
        check(node.acls, codes.WRITE, self._requester.identities, path)
        version = _next_version(node.version, expected, path)
        if self._planned is not None:
            plan = self._plan(path)
            plan.version, plan.data = version, data
        return SetDataTxn(path, data, version)

    def _set_acl(self, decoder: Decoder) -> SetAclTxn:
        path, wanted, expected = decoder.string(), decode_acls(decoder), decoder.int32()
        validate_path(path)
        acls = resolve_acls(wanted, self._requester.identities, path, self._requester.schemes)
        node = self._record(path)
        check(node.acls, codes.ADMIN, self._requester.identities, path)
        return SetAclTxn(path, acls, _next_version(node.aversion, expected, path))

    def _check(self, decoder: Decoder) -> CheckVersionTxn:
        path, expected = decoder.string(), decoder.int32()
        validate_path(path)
        node = self._record(path)
        check(node.acls, codes.READ, self._requester.identities, path)
        return CheckVersionTxn(path, _next_version(node.version, expected, path))

    # --- many

    def multi(self, decoder: Decoder) -> MultiTxn:
        """Never raise `KeeperError`: the error of the first failed operation is in the transaction."""
        self._planned = {}
        ops: list[Op] = []
        failed = False
        for prepare in [self._multi_op(kind, decoder) for kind in multi_headers(decoder)]:
            if failed:
                ops.append(ErrorTxn(Code.RUNTIME_INCONSISTENCY))
                continue
            try:
                ops.append(prepare())
            except KeeperError as error:
                ops.append(ErrorTxn(error.code))
                failed = True
        return MultiTxn(tuple(ops))

    def _multi_op(self, kind: int, decoder: Decoder) -> Callable[[], Op]:
        """Read the record now, so that malformed ones are found before anything is prepared."""
        if kind in (codes.CREATE, codes.CREATE2, codes.CREATE_CONTAINER, codes.CREATE_TTL):
            request = _CreateRequest.read(kind, decoder).in_multi()
            return lambda: self._create(request)
        if kind not in (codes.DELETE, codes.SET_DATA, codes.CHECK):
            raise MalformedError(f"operation {kind} can't be part of a multi")
        start = decoder.position
        decoder.string()
        if kind == codes.SET_DATA:
            decoder.buffer()
        decoder.int32()
        prepare = _PREPARE[kind]
        return lambda: prepare(self, decoder.at(start))

    # --- planned nodes

    def _find(self, path: str) -> Znode | _PlannedNode | None:
        if self._planned and path in self._planned:
            return self._planned[path]
        return self._tree.nodes.get(path)

    def _record(self, path: str) -> Znode | _PlannedNode:
        found = self._find(path)
        if found is None:
            raise KeeperError(Code.NO_NODE, path)
        return found

    def _plan(self, path: str) -> _PlannedNode:
        """Return the plan of an existing node."""
        assert self._planned is not None
        found = self._record(path)
        plan = _PlannedNode.of(found) if isinstance(found, Znode) else found
        self._planned[path] = plan
        return plan


class _CreateRequest(NamedTuple):
    kind: int
    path: str
    data: bytes | None
    acls: Acls
    flags: int
    ttl_ms: int

    @classmethod
    def read(cls, kind: int, decoder: Decoder) -> _CreateRequest:
        path, data, acls, flags = decoder.string(), decoder.buffer(), decode_acls(decoder), decoder.int32()
        return cls(kind, path, data, acls, flags, decoder.int64() if kind == codes.CREATE_TTL else 0)

    def in_multi(self) -> _CreateRequest:
        """In a multi, the flags determine the node's kind. Unknown flags, or TTL flags without a TTL, are malformed."""
        mode = MODES.get(self.flags)
        if mode is None or (mode.ttl and self.kind != codes.CREATE_TTL):
            raise MalformedError(f"flags {self.flags} for a create in a multi")
        if mode.container:
            return self._replace(kind=codes.CREATE_CONTAINER)
        if self.kind == codes.CREATE_TTL and not mode.ttl:
            return self._replace(kind=codes.CREATE)
        return self


_PREPARE: dict[int, Callable[[Preparation, Decoder], Op]] = {
    codes.DELETE: Preparation._delete,
    codes.DELETE_CONTAINER: Preparation._delete_container,
    codes.SET_DATA: Preparation._set_data,
    codes.SET_ACL: Preparation._set_acl,
    codes.CHECK: Preparation._check,
}

WRITES = frozenset((*_PREPARE, codes.CREATE, codes.CREATE2, codes.CREATE_CONTAINER, codes.CREATE_TTL))


def multi_headers(decoder: Decoder) -> Iterator[int]:
    """Yield the types of a multi's operations; the caller reads each record before the next."""
    while True:
        kind, done = decoder.int32(), decoder.boolean()
        decoder.int32()
        if done:
            return
        yield kind


def _parent_of_ordinary(path: str) -> str:
    if "/" not in path or "\0" in path or path in SPECIAL_PATHS:
        raise KeeperError(Code.BAD_ARGUMENTS, path)
    return path.rpartition("/")[0]


def _next_version(current: int, expected: int, path: str) -> int:
    """Return the next version. `expected` -1: any."""
    if expected not in (-1, current):
        raise KeeperError(Code.BAD_VERSION, path)
    return current + 1
