"""Keys of window stores and their changelogs: key, start (8 bytes), sequence number (4); of windowed topics: key, start."""

from __future__ import annotations

from typing import Final

from kafkapy.streams.records import TimeWindow, Window

LONG_MAX: Final = 2**63 - 1
MAX_SEQUENCE: Final = 2**31 - 1
TIMESTAMP_SIZE: Final = 8
SEQUENCE_SIZE: Final = 4
_SUFFIX_SIZE: Final = TIMESTAMP_SIZE + SEQUENCE_SIZE
_NO_SEQUENCE: Final = bytes(SEQUENCE_SIZE)


def time_window_for_size(start: int, size: int) -> TimeWindow:
    """Return a window of a size; its end is at most the largest long."""
    return TimeWindow(start, min(start + size, LONG_MAX))


def to_store_key(key: bytes, start: int, sequence: int) -> bytes:
    """The key in a store."""
    if not sequence:
        return key + start.to_bytes(8, "big", signed=True) + _NO_SEQUENCE
    return key + start.to_bytes(8, "big", signed=True) + sequence.to_bytes(4, "big")


def store_key(data: bytes) -> bytes:
    """The key in a store's key."""
    return data[:-_SUFFIX_SIZE]


def store_start(data: bytes) -> int:
    """The start in a store's key."""
    return int.from_bytes(data[-_SUFFIX_SIZE:-SEQUENCE_SIZE], "big", signed=True)


def store_sequence(data: bytes) -> int:
    """The sequence number in a store's key."""
    return int.from_bytes(data[-SEQUENCE_SIZE:], "big")


def to_topic_key(key: bytes, window: Window) -> bytes:
    """The key in a topic that is not a changelog."""
    return key + window.start.to_bytes(8, "big", signed=True)


def from_topic_key(data: bytes) -> tuple[bytes, int]:
    """Key and start of a topic's key."""
    return data[:-TIMESTAMP_SIZE], int.from_bytes(data[-TIMESTAMP_SIZE:], "big", signed=True)


class WindowKeySchema:
    """Ranges of such keys in a segment, and the test of whether a key in them is requested."""

    is_window = True

    def lower_range_fixed_size(self, key: bytes, time_from: int) -> bytes:
        return to_store_key(key, max(0, time_from), 0)

    def upper_range_fixed_size(self, key: bytes, time_to: int) -> bytes:
        return to_store_key(key, time_to, MAX_SEQUENCE)

    def lower_range(self, key: bytes | None, time_from: int) -> bytes | None:
        return None if key is None else key + bytes(_SUFFIX_SIZE)

    def upper_range(self, key: bytes | None, time_to: int) -> bytes | None:
        if key is None:
            return None
        return upper_range(key, time_to.to_bytes(8, "big", signed=True) + MAX_SEQUENCE.to_bytes(4, "big"))

    def segment_timestamp(self, data: bytes) -> int:
        return store_start(data)

    def matches(self, data: bytes, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> bool:
        """Return whether the entry is in the ranges. Keys differ in length, so a range of bytes contains other keys,
        too."""
        if not time_from <= store_start(data) <= time_to:
            return False
        key = data[:-_SUFFIX_SIZE]
        return (key_from is None or key >= key_from) and (key_to is None or key <= key_to)

    def last_time_to_search(self, time_to: int) -> int:
        return time_to


def upper_range(key: bytes, max_suffix: bytes) -> bytes:
    """Return the largest store key of all keys up to this one, of any length.

    A longer key continues with bytes smaller than the first one of the suffix, or it would be greater than this one.
    """
    first = max_suffix[0]
    if not first:
        return key + max_suffix
    end = 0
    while end < len(key) and (end < 1 or key[end] >= first):
        end += 1
    return key[:end] + max_suffix
