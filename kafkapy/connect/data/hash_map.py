"""Dictionaries in the order in which Java's `HashMap` iterates, which decides the bytes of data without a schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from kafkapy.common.java_hash_order import java_string_hash

_FEW = 64
"""Maps with more keys than this keep their own order."""


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
    return sorted(range(len(keys)), key=buckets.__getitem__)


def _spread(key: Any) -> int:
    if isinstance(key, bool):
        value = 1231 if key else 1237
    elif isinstance(key, int):
        value = (key ^ (key >> 32) if type(key).__name__ in ("int", "Int64") else key) & 0xFFFFFFFF
    else:
        value = java_string_hash(key)
    return value ^ (value >> 16)
