"""A tree of znodes below a chroot, for tools: each operation is one request of a `PlainClient`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import OPEN_ACL, Acls, decode_acls, encode_acls
from kafkapy.zk.embedded.codes import Code
from kafkapy.zk.embedded.jute import INT, LONG, Decoder, buffer, string
from kafkapy.zk.embedded.plain_client import PlainClient
from kafkapy.zk.embedded.znode import STAT

EPHEMERAL, SEQUENTIAL, CONTAINER, WITH_TTL = 1, 2, 4, 5
"""Flags of `create`; a TTL node that is sequential has 6."""

_NO_WATCH = b"\0"


class TreeError(Exception):
    """An error from the server. `code`: its number, which need not be a `Code`; `path`: without the chroot."""

    def __init__(self, code: int, path: str) -> None:
        super().__init__(f"error {code} for {path}")
        self.code = code
        self.path = path


class NodeStat(NamedTuple):
    """ZooKeeper's `Stat` of a node, in the order of the wire."""

    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class PlainTree:
    """Raises `TreeError` if the server refuses, and `OSError` if it is not reachable any more."""

    def __init__(self, client: PlainClient, chroot: str = "") -> None:
        """`chroot`: `/a/b`, or nothing."""
        self._client = client
        self._chroot = chroot

    def data(self, path: str) -> tuple[bytes | None, NodeStat]:
        answer = self._ask(codes.GET_DATA, path, _NO_WATCH)
        return answer.buffer(), _stat(answer)

    def stat(self, path: str) -> NodeStat:
        return _stat(self._ask(codes.EXISTS, path, _NO_WATCH))

    def children(self, path: str) -> tuple[list[str], NodeStat]:
        """Return the names, sorted, and the stat."""
        answer = self._ask(codes.GET_CHILDREN2, path, _NO_WATCH)
        return sorted(answer.vector(answer.string)), _stat(answer)

    def descendants(self, path: str) -> Iterator[str]:
        """Yield all nodes below `path`, parents first, with siblings together. Nodes that are deleted meanwhile are
        omitted.
        """
        try:
            names, _ = self.children(path)
        except TreeError as error:
            if error.code == Code.NO_NODE:
                return
            raise
        paths = [f"{'' if path == '/' else path}/{name}" for name in names]
        yield from paths
        for each in paths:
            yield from self.descendants(each)

    def create(
        self, path: str, data: bytes | None, acls: Acls = OPEN_ACL, flags: int = 0, ttl_ms: int | None = None
    ) -> str:
        """Return the created path, which differs from `path` with `SEQUENTIAL`."""
        body = buffer(data) + encode_acls(acls)
        if ttl_ms is not None:
            kind, body = codes.CREATE_TTL, body + INT.pack(WITH_TTL + bool(flags & SEQUENTIAL)) + LONG.pack(ttl_ms)
        else:
            kind = codes.CREATE_CONTAINER if flags & CONTAINER else codes.CREATE
            body += INT.pack(flags)
        return self._without_chroot(self._ask(kind, path, body).string())

    def set_data(self, path: str, data: bytes | None, version: int = -1) -> NodeStat:
        return _stat(self._ask(codes.SET_DATA, path, buffer(data) + INT.pack(version)))

    def delete(self, path: str, version: int = -1) -> None:
        self._ask(codes.DELETE, path, INT.pack(version))

    def acls(self, path: str) -> tuple[Acls, NodeStat]:
        answer = self._ask(codes.GET_ACL, path)
        return decode_acls(answer), _stat(answer)

    def set_acls(self, path: str, acls: Acls, version: int = -1) -> NodeStat:
        return _stat(self._ask(codes.SET_ACL, path, encode_acls(acls) + INT.pack(version)))

    def sync(self, path: str) -> None:
        self._ask(codes.SYNC, path)

    def count_descendants(self, path: str) -> int:
        return self._ask(codes.GET_ALL_CHILDREN_NUMBER, path).int32()

    def ephemerals(self, prefix: str) -> list[str]:
        """Return the ephemeral nodes of this session whose path begins with `prefix`."""
        answer = self._ask(codes.GET_EPHEMERALS, prefix)
        return [self._without_chroot(path) for path in answer.vector(answer.string)]

    def who_am_i(self) -> list[tuple[str, str]]:
        """Return scheme and user of each identity of this session."""
        answer = self._client.ask(codes.WHO_AM_I)
        if answer.code:
            raise TreeError(answer.code, "/")
        body = Decoder(answer.body)
        return body.vector(lambda: (body.string(), body.string()))

    def authenticate(self, user_and_password: str) -> None:
        """Authenticate with the scheme digest."""
        if not self._client.authenticate(user_and_password):
            raise TreeError(Code.AUTH_FAILED, "/")

    def ping(self) -> None:
        self._client.ask(codes.PING)

    def _ask(self, kind: int, path: str, body: bytes = b"") -> Decoder:
        full = (self._chroot + path if path != "/" else self._chroot) or "/"
        answer = self._client.ask(kind, string(full) + body)
        if answer.code:
            raise TreeError(answer.code, path)
        return Decoder(answer.body)

    def _without_chroot(self, path: str) -> str:
        return path.removeprefix(self._chroot) or "/"


def _stat(answer: Decoder) -> NodeStat:
    return NodeStat(*STAT.unpack(answer.take(STAT.size)))
