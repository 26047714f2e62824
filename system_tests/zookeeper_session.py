"""A look into ZooKeeper, and the end of somebody else's session."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from kazoo.client import KazooClient

_MASK = (1 << 48) - 1
_SUPER_SECRET = 0xB3415C00
"""ZooKeeper derives a session's password from its id and this constant (`ZooKeeperServer.generatePasswd`)."""


class ZooKeeperView:
    """A session of its own below `connect` (`host:port[/chroot]`); a context manager."""

    def __init__(self, connect: str) -> None:
        self._hosts = connect.partition("/")[0]
        self._client = KazooClient(connect, timeout=10)

    def __enter__(self) -> ZooKeeperView:
        self._client.start(30)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.stop()
        self._client.close()

    def owner(self, path: str) -> int:
        """The session that an ephemeral node belongs to; 0 if there is no such node."""
        stat = self._client.exists(path)
        return 0 if stat is None else int(stat.ephemeralOwner)

    def epoch(self, path: str) -> int:
        """The zxid that created the node (of a broker's: its epoch); -1 if there is no such node."""
        stat = self._client.exists(path)
        return -1 if stat is None else int(stat.czxid)

    def json(self, path: str) -> Any:
        """What the node holds."""
        return json.loads(self._client.get(path)[0])

    def end_session(self, session_id: int) -> None:
        """Claim the session with its id and password, then close it: its owner is told that it has expired."""
        assert session_id, "there is no such session"
        intruder = KazooClient(self._hosts, timeout=10, client_id=(session_id, session_password(session_id)))
        intruder.start(10)
        try:
            assert intruder.client_id[0] == session_id, "ZooKeeper did not accept the session's password"
        finally:
            intruder.stop()
            intruder.close()


def session_password(session_id: int) -> bytes:
    """16 bytes of `java.util.Random(session_id ^ secret).nextBytes`."""
    seed = (session_id ^ _SUPER_SECRET ^ 0x5DEECE66D) & _MASK
    password = b""
    for _ in range(4):
        seed = (seed * 0x5DEECE66D + 0xB) & _MASK
        password += (seed >> 16).to_bytes(4, "little")
    return password
