"""A dict with ordered range queries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Final, Generic, TypeVar
from weakref import WeakSet

V = TypeVar("V")

_BLOCK: Final = 1024
_REBUILD_PART: Final = 8


class SortedBytes(Generic[V]):
    """Values by keys of bytes.

    Invariant: the keys of `_blocks` (sorted, in order, none empty), less `_stale`, plus `_new`, are those of `_values`;
    `_new` and the blocks are disjoint.

    Most stores are read only by key. So a put is as cheap as that of a dict, and keys are sorted by the next range
    query:
    inserted one by one if they are few, by one sort if they are many. sortedcontainers sorts at each put, and can't be
    compiled together with the stores.
    """

    __slots__ = ("_blocks", "_new", "_snapshots", "_stale", "_values")

    def __init__(self, values: dict[bytes, V] | None = None) -> None:
        # A cache passes its own dict, which it also needs in the order of use.
        self._values: dict[bytes, V] = {} if values is None else values
        self._blocks: list[list[bytes]] = []
        self._new: set[bytes] = set()
        self._stale: set[bytes] = set()
        self._snapshots: WeakSet[SnapshotIterator[V]] | None = None

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: bytes) -> bool:
        return key in self._values

    def get(self, key: bytes) -> V | None:
        return self._values.get(key)

    def put(self, key: bytes, value: V) -> None:
        if self._snapshots is not None:
            self._keep_for_snapshots(key)
        if key not in self._values:
            if key in self._stale:
                self._stale.remove(key)
            else:
                self._new.add(key)
        self._values[key] = value

    def pop(self, key: bytes) -> V | None:
        """Remove the key, and return its value."""
        if key not in self._values:
            return None
        if self._snapshots is not None:
            self._keep_for_snapshots(key)
        if key in self._new:
            self._new.remove(key)
        else:
            self._stale.add(key)
        return self._values.pop(key)

    def clear(self) -> None:
        # Iterators keep the previous dict.
        self._values = {}
        self._blocks = []
        self._new.clear()
        self._stale.clear()

    def first(self) -> bytes | None:
        """Return the smallest key."""
        self._sort()
        return self._blocks[0][0] if self._blocks else None

    def keys(
        self, key_from: bytes | None = None, key_to: bytes | None = None, forward: bool = True, include_to: bool = True
    ) -> list[bytes]:
        """Return the keys from one to another in order; a bound of None is open."""
        self._sort()
        blocks = self._blocks
        if not blocks or (key_from is not None and key_to is not None and key_from > key_to):
            return []
        first, start = (0, 0) if key_from is None else self._position(key_from, after=False)
        last, stop = (len(blocks) - 1, len(blocks[-1])) if key_to is None else self._position(key_to, after=include_to)
        if first == last:
            found = blocks[first][start:stop]
        else:
            found = blocks[first][start:]
            for block in blocks[first + 1 : last]:
                found += block
            found += blocks[last][:stop]
        if not forward:
            found.reverse()
        return found

    def items(
        self, key_from: bytes | None = None, key_to: bytes | None = None, forward: bool = True, include_to: bool = True
    ) -> SnapshotIterator[V]:
        """Return a snapshot of keys and values: later puts have no influence."""
        snapshot = SnapshotIterator(self._values, self.keys(key_from, key_to, forward, include_to))
        if self._snapshots is None:
            self._snapshots = WeakSet()
        self._snapshots.add(snapshot)
        return snapshot

    def _keep_for_snapshots(self, key: bytes) -> None:
        snapshots = self._snapshots
        if not snapshots:
            self._snapshots = None
            return
        if key in self._values:
            for snapshot in snapshots:
                snapshot.replaced.setdefault(key, self._values[key])

    def _position(self, key: bytes, after: bool) -> tuple[int, int]:
        """Return block and index of the first key that is not smaller than this one (`after`: that is greater)."""
        blocks = self._blocks
        low, high = 0, len(blocks) - 1
        while low < high:
            middle = (low + high) // 2
            if blocks[middle][-1] < key or (after and blocks[middle][-1] == key):
                low = middle + 1
            else:
                high = middle
        return low, (bisect_right if after else bisect_left)(blocks[low], key)

    def _sort(self) -> None:
        changed = len(self._new) + len(self._stale)
        if not changed:
            return
        if changed * _REBUILD_PART > len(self._values):
            ordered = sorted(self._values)
            self._blocks = [ordered[i : i + _BLOCK] for i in range(0, len(ordered), _BLOCK)]
        else:
            for key in self._stale:
                self._remove_key(key)
            for key in self._new:
                self._insert_key(key)
        self._new.clear()
        self._stale.clear()

    def _remove_key(self, key: bytes) -> None:
        index, position = self._position(key, after=False)
        block = self._blocks[index]
        del block[position]
        if not block:
            del self._blocks[index]

    def _insert_key(self, key: bytes) -> None:
        if not self._blocks:
            self._blocks.append([key])
            return
        index, _ = self._position(key, after=False)
        block = self._blocks[index]
        insort(block, key)
        if len(block) > 2 * _BLOCK:
            self._blocks[index : index + 1] = [block[:_BLOCK], block[_BLOCK:]]


class SnapshotIterator(Generic[V]):
    """Iterates over a `SortedBytes` as it was at the iterator's creation; values replaced since are kept for it."""

    __slots__ = ("__weakref__", "_index", "_keys", "_values", "replaced")

    def __init__(self, values: dict[bytes, V], keys: list[bytes]) -> None:
        self._values = values
        self._keys = keys
        self._index = 0
        self.replaced: dict[bytes, V] = {}

    def __iter__(self) -> Iterator[tuple[bytes, V]]:
        return self

    def __next__(self) -> tuple[bytes, V]:
        if self._index == len(self._keys):
            raise StopIteration
        key = self._keys[self._index]
        self._index += 1
        if key in self.replaced:
            return key, self.replaced[key]
        return key, self._values[key]
