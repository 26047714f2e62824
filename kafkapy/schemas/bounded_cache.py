"""A bounded LRU cache."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """An LRU cache of at most `capacity` values, each for `ttl_s` seconds (None: without expiry). Thread-safe."""

    def __init__(self, capacity: int, ttl_s: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        if capacity < 1:
            raise ValueError(f"A cache has room for at least one; this one was given {capacity}")
        self._capacity = capacity
        self._ttl_s = ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._values: OrderedDict[K, tuple[V, float]] = OrderedDict()

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            if self._ttl_s is not None and self._clock() >= found[1] + self._ttl_s:
                del self._values[key]
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V) -> V:
        with self._lock:
            self._values[key] = value, self._clock()
            self._values.move_to_end(key)
            if len(self._values) > self._capacity:
                self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)
