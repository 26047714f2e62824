"""Caches values derived from schemas, so that they are not computed for each record."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SchemaCache(Generic[K, V]):
    """An LRU cache.

    Invariant: it holds `most` values at most; `_last` is the entry that was asked for last.

    Args:
        most: How many values are kept.

    Example:
        >>> cache = SchemaCache(16)
        >>> cache.get("a", str.upper), len(cache)
        ('A', 1)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._last: tuple[K | None, V] | None = None

    def get(self, key: K, make: Callable[[K], V]) -> V:
        """Return the value of a key; create it if it is not cached.

        Args:
            key: Such as a schema.
            make: Returns the value of a key.
        """
        last = self._last
        if last is not None and last[0] is key:  # as for most records, at no cost of a hash
            return last[1]
        if key in self._values:
            self._values.move_to_end(key)
            value = self._values[key]
        else:
            value = self._values[key] = make(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)
        self._last = key, value
        return value

    def __len__(self) -> int:
        return len(self._values)
