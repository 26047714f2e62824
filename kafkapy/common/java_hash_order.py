"""The iteration order of Java's hash tables.

It decides which entry of a key store a Java broker presents (`SunX509KeyManagerImpl` has a `HashMap` of aliases), the
order of `KeyStore.aliases` (a `Hashtable` for JKS, a `HashSet` for PKCS12), the order in which Streams flushes the
stores of nodes, and the bytes of Connect's data without a schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

_FEW: Final = 64
"""The order of so many keys is cached."""


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
    return list(hash_map(dict.fromkeys(keys)))


def hash_map_copy_order(keys: Iterable[str]) -> list[str]:
    """Return the keys in the iteration order of a `HashMap` that is made as a copy of another map: its table is sized
    for them at once, and may be larger than one that has grown.

    Args:
        keys: In the iteration order of the other map.
    """
    return list(hash_map_copy(dict.fromkeys(keys)))


def hash_map(entries: Mapping[Any, Any], capacity: int = 16) -> dict[Any, Any]:
    """Return the entries in the order of a `HashMap` to which they are added one by one.

    Args:
        entries: If a key is neither text, nor an integer or a boolean, their order stays.
        capacity: How many buckets it begins with. Default: Java's.

    Example:
        >>> list(hash_map({"b": 1, "a": 2}))
        ['a', 'b']
    """
    keys = tuple(entries)
    if len(keys) < 2 or not all(isinstance(key, str | int) for key in keys):
        return dict(entries)
    order = _order(keys, capacity) if len(keys) <= _FEW else _sorted(keys, capacity)
    return {keys[index]: entries[keys[index]] for index in order}


def hash_map_copy(entries: Mapping[Any, Any], changes: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
    """Return entries in the order of `new HashMap<>(entries)` to which others are added afterwards.

    Args:
        entries: The first ones.
        changes: Added one by one, or put in the place of others. Default: none.

    Example:
        >>> hash_map_copy({"b": 1}, {"a": 2, "b": 3})
        {'a': 2, 'b': 3}
    """
    return hash_map({**entries, **(changes or {})}, power_of_two(int(len(entries) / 0.75 + 1)))


def power_of_two(number: int) -> int:
    """Return the least power of two that is not below a number.

    Example:
        >>> power_of_two(5), power_of_two(0)
        (8, 1)
    """
    return 1 << max(number - 1, 0).bit_length()


@lru_cache(512)
def _order(keys: tuple[Any, ...], capacity: int) -> tuple[int, ...]:
    return tuple(_sorted(keys, capacity))


def _sorted(keys: tuple[Any, ...], capacity: int) -> Iterable[int]:
    while len(keys) > int(capacity * 0.75):
        capacity *= 2
    buckets = [_spread(key) & (capacity - 1) for key in keys]
    # sorted() is stable: it keeps the order within a bucket, as a growing table does.
    return sorted(range(len(keys)), key=buckets.__getitem__)


def _spread(key: Any) -> int:
    if isinstance(key, bool):
        value = 1231 if key else 1237
    elif isinstance(key, int):  # a Long, or one of the shorter types that Connect's data have
        value = (key ^ (key >> 32) if type(key).__name__ in ("int", "Int64") else key) & 0xFFFFFFFF
    else:
        value = java_string_hash(key)
    return value ^ (value >> 16)


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
