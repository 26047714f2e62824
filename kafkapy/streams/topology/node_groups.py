"""Finds connected nodes."""

from __future__ import annotations

from collections.abc import Iterable


class NodeGroups:
    """Disjoint sets of names (union-find).

    Invariant: following `_parent` from any name ends at the root of its set, which is its own parent.
    """

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def add(self, name: str, *others: str) -> None:
        """Add a new name to the set of these names."""
        self._parent[name] = name
        for other in others:
            self.unite(name, other)

    def unite(self, name: str, other: str) -> None:
        """Merge the sets of the two names."""
        self._parent[self._root(name)] = self._root(other)

    def numbered(self, names: Iterable[str]) -> dict[int, list[str]]:
        """Return the sets, numbered in the order of their first names."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self._root(name), []).append(name)
        return dict(enumerate(groups.values()))

    def _root(self, name: str) -> str:
        while (parent := self._parent[name]) != name:
            self._parent[name] = self._parent[parent]
            name = parent
        return name
