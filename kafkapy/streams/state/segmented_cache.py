"""Keys of window and session stores in the cache: the segment's number (8 bytes) before the store's key."""

from __future__ import annotations

from typing import Final, Protocol

SEGMENT_ID_SIZE: Final = 8


class KeySchema(Protocol):
    """The methods of a schema that the caches use."""

    def segment_timestamp(self, data: bytes) -> int: ...


class SegmentedCacheFunction:
    """Converts store keys to cache keys and back; in-memory stores have segments of 1 ms."""

    def __init__(self, schema: KeySchema, segment_interval: int) -> None:
        self._schema = schema
        self.segment_interval = segment_interval

    def segment_id(self, timestamp: int) -> int:
        if timestamp < 0:
            return -(-timestamp // self.segment_interval)
        return timestamp // self.segment_interval

    def cache_key(self, data: bytes) -> bytes:
        return self.cache_key_in(data, self.segment_id(self._schema.segment_timestamp(data)))

    def cache_key_in(self, data: bytes, segment_id: int) -> bytes:
        """Return the cache key of a bound in a segment, which need not be that of its time."""
        return segment_id.to_bytes(SEGMENT_ID_SIZE, "big", signed=True) + data
