"""A node of the tree."""

from __future__ import annotations

import struct
from operator import attrgetter

from kafkapy.zk.embedded.acls import Acls

STAT = struct.Struct("!qqqqiiiqiiq")
PERSISTED_STAT = struct.Struct("!qqqqiiiqq")

CONTAINER_OWNER = -(1 << 63)
_EXTENDED, _EXTENDED_KIND = 0xFF << 56, 0xFFFF << 40
MAX_TTL = (1 << 40) - 1
"""In ms; some 34 years."""


def ttl_owner(ttl_ms: int) -> int:
    """Return the ephemeralOwner of a TTL node: 0xff, two zero bytes, the milliseconds in five bytes."""
    return (_EXTENDED | ttl_ms) - (1 << 64)


_PERSISTED = ("czxid", "mzxid", "ctime", "mtime", "version", "cversion", "aversion", "ephemeral_owner", "pzxid")
"""The fields of a node in `PERSISTED_STAT`, in order."""
_persisted = attrgetter(*_PERSISTED)


class Znode:
    """A node. `cversion` counts the children that were ever created; clients see creations and deletions.

    Invariant: `acls` and `data` are replaced, never changed, because another thread may be writing a snapshot.
    """

    __slots__ = ("acls", "children", "data", *_PERSISTED)

    def __init__(self, data: bytes | None, acls: Acls, zxid: int, time_ms: int, ephemeral_owner: int = 0) -> None:
        self.data = data
        self.acls = acls
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime = self.mtime = time_ms
        self.version = self.cversion = self.aversion = 0
        self.ephemeral_owner = ephemeral_owner
        self.children: dict[str, None] = {}

    @property
    def child_count(self) -> int:
        return len(self.children)

    def ttl_ms(self, extended_types: bool) -> int | None:
        """Return the TTL; None: not a TTL node."""
        owner = self.ephemeral_owner & (1 << 64) - 1
        is_ttl = extended_types and owner & _EXTENDED == _EXTENDED and not owner & _EXTENDED_KIND
        return owner & MAX_TTL if is_ttl else None

    def stat(self, extended_types: bool) -> bytes:
        """Return the stat as sent to clients."""
        children = len(self.children)
        return STAT.pack(
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            _int32(self.cversion * 2 - children),
            self.aversion,
            session_owner(self.ephemeral_owner, extended_types),
            0 if self.data is None else len(self.data),
            children,
            self.pzxid,
        )

    def persisted_stat(self) -> bytes:
        return PERSISTED_STAT.pack(*_persisted(self))

    def restore_stat(self, data: bytes, position: int) -> None:
        for name, value in zip(_PERSISTED, PERSISTED_STAT.unpack_from(data, position), strict=True):
            setattr(self, name, value)


def session_owner(ephemeral_owner: int, extended_types: bool) -> int:
    """Return the session that owns the node; 0 for other kinds of nodes."""
    if ephemeral_owner == CONTAINER_OWNER:
        return 0
    if extended_types and (ephemeral_owner & _EXTENDED) == _EXTENDED:
        return 0
    return ephemeral_owner


def _int32(value: int) -> int:
    return (value + (1 << 31) & 0xFFFFFFFF) - (1 << 31)
