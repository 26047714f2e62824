"""The iteration order of strings in Java's hash tables.

It decides which entry of a key store a Java broker presents (`SunX509KeyManagerImpl` has a `HashMap` of aliases), the
order of `KeyStore.aliases` (a `Hashtable` for JKS, a `HashSet` for PKCS12), and the order in which Streams flushes the
stores of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable


def java_string_hash(text: str) -> int:
    """Return `String.hashCode`, as an unsigned 32-bit number.

    Example:
        >>> java_string_hash("kafka")
        101807910
    """
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        value = (value * 31 + (encoded[at] << 8 | encoded[at + 1])) & 0xFFFFFFFF
    return value


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """Return the keys in the iteration order of a `HashMap` or `HashSet` into which they are inserted in this order."""
    found = list(dict.fromkeys(keys))
    capacity = 16
    while len(found) > capacity * 3 // 4:
        capacity *= 2

    def bucket(key: str) -> int:
        value = java_string_hash(key)
        return (value ^ value >> 16) & (capacity - 1)

    return sorted(found, key=bucket)  # sorted() is stable: it keeps the order within a bucket, as a growing table does


def hashtable_order(keys: Iterable[str]) -> list[str]:
    """Return the keys in the iteration order of a `Hashtable` into which they are inserted in this order."""
    buckets: list[list[str]] = [[] for _ in range(11)]
    for count, key in enumerate(dict.fromkeys(keys)):
        if count >= len(buckets) * 3 // 4:
            buckets = _rehashed(buckets)
        buckets[_index(key, len(buckets))].insert(0, key)
    return [key for bucket in reversed(buckets) for key in bucket]


def _rehashed(buckets: list[list[str]]) -> list[list[str]]:
    larger: list[list[str]] = [[] for _ in range(len(buckets) * 2 + 1)]
    for bucket in reversed(buckets):
        for key in bucket:
            larger[_index(key, len(larger))].insert(0, key)
    return larger


def _index(key: str, capacity: int) -> int:
    return (java_string_hash(key) & 0x7FFFFFFF) % capacity


def hash_map_copy_order(keys: Iterable[str]) -> list[str]:
    """Return the keys in the iteration order of a `HashMap` that is made as a copy of another map: its table is sized
    for them at once, and may be larger than one that has grown.

    Args:
        keys: In the iteration order of the other map.
    """
    found = list(dict.fromkeys(keys))
    capacity = 1
    while capacity < int(len(found) / 0.75 + 1.0):
        capacity *= 2

    def bucket(key: str) -> int:
        value = java_string_hash(key)
        return (value ^ value >> 16) & (capacity - 1)

    return sorted(found, key=bucket)
