"""Requests to ZooKeeper and their responses, as plain values (Kafka's `AsyncRequest` and `AsyncResponse`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kafkapy.common.stored_errors import raisable_copy
from kafkapy.zk.errors import ZooKeeperError
from kafkapy.zk.znode_acls import Acls


class Stat(NamedTuple):
    """ZooKeeper's record of a znode; times in ms since the epoch, `ephemeral_owner` 0 for persistent nodes."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class Create(NamedTuple):
    """`data` None means no data, which ZooKeeper distinguishes from empty data. The access list is the client's for the
    path.
    """

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False


class Delete(NamedTuple):
    path: str
    version: int = -1


class SetData(NamedTuple):
    path: str
    data: bytes
    version: int = -1


class Check(NamedTuple):
    """Only inside a `Multi`: fails it unless the node has `version`."""

    path: str
    version: int


class Exists(NamedTuple):
    path: str


class GetData(NamedTuple):
    path: str


class GetChildren(NamedTuple):
    """`watch` False does not set the registered handler's watch."""

    path: str
    watch: bool = True


class GetAcl(NamedTuple):
    path: str


class SetAcl(NamedTuple):
    """`version` is that of the access list (`aversion` of the stat); -1: any."""

    path: str
    acls: Acls
    version: int = -1


class Multi(NamedTuple):
    """Atomic. `path` is that of the main operation, for messages."""

    ops: tuple[Create | Delete | SetData | Check, ...]

    @property
    def path(self) -> str:
        return self.ops[-1].path


class MultiRead(NamedTuple):
    """The data of many nodes; no watches are set. `UnimplementedError` before ZooKeeper 3.6."""

    paths: tuple[str, ...]

    @property
    def path(self) -> str:
        return self.paths[-1]


Write = Create | Delete | SetData

Request = Create | Delete | SetData | Exists | GetData | GetChildren | GetAcl | SetAcl | Multi | MultiRead


@dataclass(slots=True)
class Response:
    """The response to one request: `error`, or the fields of the kind of request.

    Create: `path`, `stat`; SetData, SetAcl, Exists: `stat` (Exists of a missing node has a `NoNodeError`); GetData:
    `data`, `stat`; GetAcl: `acls`, `stat`; GetChildren: `children`, `stat`; Multi: `results`, one Response for each
    operation, even if it failed; MultiRead: `results`, one Response for each path.
    """

    error: ZooKeeperError | None = None
    path: str = ""
    data: bytes | None = None
    stat: Stat | None = None
    children: list[str] = field(default_factory=list)
    acls: Acls = ()
    results: list[Response] = field(default_factory=list)

    def raise_for_error(self) -> Response:
        """Return the response itself if it has no error."""
        if self.error is not None:
            raise raisable_copy(self.error)
        return self

    @property
    def version(self) -> int:
        """The znode's version; only of a response with a stat."""
        assert self.stat is not None
        return self.stat.version
