"""The iteration order of a Java HashSet of `Bytes`, which is the order of writes to a suppression's changelog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_MASK: Final = 0xFFFFFFFF
_FIRST_SIZE: Final = 16
_LOAD_NUMERATOR: Final = 3
_LOAD_DENOMINATOR: Final = 4


def java_hash(data: bytes) -> int:
    """Return the hash code of `Bytes` (that of a Java byte array) as an unsigned number."""
    code = 1
    for byte in data:
        code = (31 * code + (byte if byte < 128 else byte - 256)) & _MASK
    return code


class JavaHashSet:
    """A set in the order of buckets, and within a bucket in insertion order.

    As in Java, the number of buckets never decreases, not even when cleared. Java's trees for buckets of eight and
    more keys are not modelled.
    """

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}
        self._buckets = _FIRST_SIZE

    def add(self, key: bytes) -> None:
        self._keys[key] = None
        if len(self._keys) * _LOAD_DENOMINATOR > self._buckets * _LOAD_NUMERATOR:
            self._buckets *= 2

    def clear(self) -> None:
        self._keys.clear()

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[bytes]:
        if len(self._keys) < 2:
            return iter(list(self._keys))
        return iter(sorted(self._keys, key=self._bucket))

    def _bucket(self, key: bytes) -> int:
        code = java_hash(key)
        return (code ^ (code >> 16)) & (self._buckets - 1)
