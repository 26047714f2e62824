"""MurmurHash2 with the seed of Kafka's clients (`Utils.murmur2`), so that keys have the same partition in all
languages."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_BYTES_AT_ONCE = 1 << 18
"""Bytes of equally long keys that are hashed together."""


def murmur2(data: bytes) -> int:
    """Return the hash, 0 to 2^32 - 1.

    Args:
        data: The bytes of a key.
    """
    length = len(data)
    words = length >> 2
    h = _SEED ^ length
    for k in struct.unpack_from(f"<{words}I", data):
        k = k * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if length & 3:
        h = (h ^ int.from_bytes(data[words << 2 :], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@lru_cache(maxsize=1 << 14)
def _positive_hash(key: bytes) -> int:
    return murmur2(key) & 0x7FFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    """Return the Java client's partition of a key. Recent hashes are cached."""
    return _positive_hash(key) % partitions if len(key) <= 256 else (murmur2(key) & 0x7FFFFFFF) % partitions


def partitions_of(keys: Sequence[bytes], partitions: int) -> list[int]:
    """Return the partitions of many keys. With numpy, keys of equal length are hashed together."""
    try:
        import numpy as np
    except ImportError:
        return [partition_of(key, partitions) for key in keys]
    lengths = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
    data = np.frombuffer(b"".join(keys), dtype=np.uint8)
    found: list[int] = (hashes_of(data, np.cumsum(lengths) - lengths, lengths) % partitions).tolist()
    return found


def hashes_of(data: Any, starts: Any, lengths: Any) -> Any:
    """Return the positive hashes of keys in an uint8 array; all arguments are numpy arrays."""
    import numpy as np

    result = np.empty(len(starts), dtype=np.int64)
    for length in np.unique(lengths):
        alike: Any = np.flatnonzero(lengths == length)
        most = max(1, _BYTES_AT_ONCE // max(int(length), 1))
        for i in range(0, len(alike), most):
            at = alike[i : i + most]
            if len(at) < 8:
                result[at] = [murmur2(data[start : start + length].tobytes()) & 0x7FFFFFFF for start in starts[at]]
            else:
                result[at] = _hash_rows(np, data[starts[at][:, None] + np.arange(length)])
    return result


def _hash_rows(np: Any, rows: Any) -> Any:
    """Return the positive hashes of the rows of an uint8 matrix."""
    count, length = rows.shape
    words = length >> 2
    m = np.uint32(_M)
    h = np.full(count, (_SEED ^ length) & _MASK, dtype=np.uint32)
    columns = np.ascontiguousarray(rows[:, : words << 2]).view("<u4")
    for i in range(words):
        k = columns[:, i] * m
        k = (k ^ k >> np.uint32(24)) * m
        h = h * m ^ k
    if length & 3:
        tail = np.zeros((count, 4), dtype=np.uint8)
        tail[:, : length & 3] = rows[:, words << 2 :]
        h = (h ^ tail.view("<u4")[:, 0]) * m
    h = (h ^ h >> np.uint32(13)) * m
    h ^= h >> np.uint32(15)
    return (h & np.uint32(0x7FFFFFFF)).astype(np.int64)
