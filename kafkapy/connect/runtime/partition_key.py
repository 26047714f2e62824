"""Converts source partitions to keys of dictionaries: maps with equal entries are the same partition."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

PartitionKey = Hashable


def partition_key(value: Any) -> PartitionKey:
    """Return a hashable form of a source partition, in which True and 1, which are equal in Python, differ.

    Example:
        >>> partition_key({"a": 1, "b": "x"}) == partition_key({"b": "x", "a": 1})
        True
        >>> partition_key({"a": 1}) == partition_key({"a": True})
        False
    """
    if isinstance(value, Mapping):
        return frozenset((name, partition_key(entry)) for name, entry in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(partition_key, value))
    return type(value).__name__, value
