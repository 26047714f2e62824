"""Watches of connections on paths: ZooKeeper's WatchManager.

There are two tables, one for data and existence, one for children. In each, a connection watches a path in up to three
ways at a time: once (removed by the first event), persistently, or persistently and recursively (only in the table of
data).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kafkapy.zk.embedded.acls import Acls
from kafkapy.zk.embedded.codes import NodeEvent

ONCE, PERSISTENT, RECURSIVE = 1, 2, 4


class Watcher(Protocol):
    session_id: int

    def notify(self, event: NodeEvent, path: str, zxid: int, acls: Acls | None) -> None:
        """Send an event. `acls` of the node: watchers without read permission get nothing. None: all watchers get it."""
        ...


class WatchTable:
    """The watches of one kind.

    Invariant: `by_path[p][w] == by_watcher[w][p]`, the ways in which w watches p, never 0; no empty dictionaries.
    """

    def __init__(self) -> None:
        self.by_path: dict[str, dict[Watcher, int]] = {}
        self.by_watcher: dict[Watcher, dict[str, int]] = {}
        self._recursive = 0
        """The number of recursive watches: without any, ancestors need not be searched."""

    def __len__(self) -> int:
        return sum(map(len, self.by_path.values()))

    def add(self, path: str, watcher: Watcher, way: int) -> None:
        ways = self.by_path.get(path, {}).get(watcher, 0)
        if not ways & way:
            self._recursive += way == RECURSIVE
            self._put(path, watcher, ways | way)

    def has(self, path: str, watcher: Watcher, way: int | None) -> bool:
        """Return whether there is a watch. `way` None: any way."""
        ways = self.by_path.get(path, {}).get(watcher, 0)
        return bool(ways if way is None else ways & way)

    def remove(self, path: str, watcher: Watcher, way: int | None) -> bool:
        """Remove a watch; return whether there was one. `way` None: all ways."""
        ways = self.by_path.get(path, {}).get(watcher, 0)
        gone = ways if way is None else ways & way
        if gone:
            self._recursive -= bool(gone & RECURSIVE)
            self._put(path, watcher, ways & ~gone)
        return bool(gone)

    def remove_watcher(self, watcher: Watcher) -> None:
        for path in list(self.by_watcher.get(watcher, ())):
            self.remove(path, watcher, None)

    def trigger(
        self, event: NodeEvent, path: str, zxid: int, acls: Acls, but: frozenset[Watcher] | set[Watcher] = frozenset()
    ) -> set[Watcher]:
        """Send an event to all watchers of the path, except `but`, and remove one-time watches. Return the watchers."""
        found: dict[Watcher, None] = {}
        watchers = self.by_path.get(path)
        if watchers:
            for watcher, ways in list(watchers.items()):
                found[watcher] = None
                if ways & ONCE:
                    self._put(path, watcher, ways & ~ONCE)
        if self._recursive:
            for ancestor in _ancestors(path):
                for watcher, ways in self.by_path.get(ancestor, {}).items():
                    if ways & RECURSIVE:
                        found[watcher] = None
        for watcher in found:
            if watcher not in but:
                watcher.notify(event, path, zxid, acls)
        return set(found)

    def _put(self, path: str, watcher: Watcher, ways: int) -> None:
        if ways:
            self.by_path.setdefault(path, {})[watcher] = ways
            self.by_watcher.setdefault(watcher, {})[path] = ways
            return
        watchers, paths = self.by_path[path], self.by_watcher[watcher]
        del watchers[watcher], paths[path]
        if not watchers:
            del self.by_path[path]
        if not paths:
            del self.by_watcher[watcher]


def _ancestors(path: str) -> Iterator[str]:
    """Yield, for /a/b/c: /a/b, /a, /"""
    while path != "/":
        path = path[: path.rfind("/")] or "/"
        yield path
