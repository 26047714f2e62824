"""Which nodes belong together."""

from __future__ import annotations

from collections.abc import Iterable


class NodeGroups:
    """Sets of names that grow together (union-find).

    Invariant: following `_parent` from any name ends at the root of its set, which is its own parent.
    """

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def add(self, name: str, *others: str) -> None:
        """A new name, in one set with these."""
        self._parent[name] = name
        for other in others:
            self.unite(name, other)

    def unite(self, name: str, other: str) -> None:
        """The sets of the two are one from now on."""
        self._parent[self._root(name)] = self._root(other)

    def numbered(self, names: Iterable[str]) -> dict[int, list[str]]:
        """The sets, numbered in the order in which their first names come."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self._root(name), []).append(name)
        return dict(enumerate(groups.values()))

    def _root(self, name: str) -> str:
        while (parent := self._parent[name]) != name:
            self._parent[name] = self._parent[parent]
            name = parent
        return name
