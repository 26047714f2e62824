"""The cleaner's memory of the last offset of each key (Kafka's `SkimpyOffsetMap`)."""

from __future__ import annotations

from hashlib import md5

_HASH_SIZE = 16
_ENTRY_SIZE = 24
_BUCKET_ENTRIES = 48


class OffsetMap:
    """A map from keys to offsets in 24 bytes an entry: the key's MD5 hash and its last offset.

    Entries lie in buckets, byte arrays that are searched as a whole (at C speed) and grow as they fill; so the map
    takes the memory of the entries it holds, and never more than a tenth above `memory`.

    Invariants: an entry is in the bucket that its hash gives, at a multiple of 24; `size` counts them;
    `latest_offset` is the last offset put, or further on if `update_latest_offset` said so. As in Kafka, two keys
    with one hash are one key.
    """

    def __init__(self, memory: int) -> None:
        """`memory`: bytes, Kafka's log.cleaner.dedupe.buffer.size of one thread."""
        self.slots = memory // _ENTRY_SIZE
        """How many entries fit the memory."""
        self.clear()

    def clear(self, expected: int | None = None) -> None:
        """Forget everything. `expected`: an upper bound of the keys to come, if one is known."""
        entries = self.slots if expected is None else min(self.slots, expected)
        self._buckets: list[bytearray | None] = [None] * (entries // _BUCKET_ENTRIES + 1)
        self._bucket_count = len(self._buckets)
        self.size = 0
        self.latest_offset = -1

    @property
    def utilization(self) -> float:
        return self.size / self.slots

    def put(self, key: bytes, offset: int) -> None:
        """Note the offset of a key, in place of an earlier one. `ValueError` if the map is full."""
        digest = md5(key, usedforsecurity=False).digest()
        slot = hash(digest) % self._bucket_count
        bucket = self._buckets[slot]
        self.latest_offset = offset
        at = -1
        if bucket is None:
            bucket = self._buckets[slot] = bytearray()
        else:
            at = bucket.find(digest)
            if at % _ENTRY_SIZE and at >= 0:
                at = _find_entry(bucket, digest)
        if at < 0:
            if self.size >= self.slots:
                raise ValueError(f"Attempted to add a new entry to a full offset map of {self.slots} slots")
            self.size += 1
            bucket += digest + offset.to_bytes(8, "big")
        else:
            bucket[at + _HASH_SIZE : at + _ENTRY_SIZE] = offset.to_bytes(8, "big")

    def get(self, key: bytes) -> int:
        """The last offset put for a key, -1 if there is none."""
        digest = md5(key, usedforsecurity=False).digest()
        bucket = self._buckets[hash(digest) % self._bucket_count]
        if bucket is None:
            return -1
        at = bucket.find(digest)
        if at % _ENTRY_SIZE and at >= 0:
            at = _find_entry(bucket, digest)
        return -1 if at < 0 else int.from_bytes(bucket[at + _HASH_SIZE : at + _ENTRY_SIZE], "big")

    def update_latest_offset(self, offset: int) -> None:
        """The log was read up to `offset`, though no key may have been there."""
        self.latest_offset = offset


def _find_entry(bucket: bytearray, digest: bytes) -> int:
    """Where the entry of a hash begins, if the same bytes appear across entries as well; -1 if it is not there."""
    for at in range(0, len(bucket), _ENTRY_SIZE):
        if bucket[at : at + _HASH_SIZE] == digest:
            return at
    return -1
