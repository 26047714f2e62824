"""Keys of session stores, their changelogs and topics: key, end (8 bytes), start (8)."""

from __future__ import annotations

from typing import Final

from kafkapy.streams.state.window_key_schema import LONG_MAX, upper_range

_SUFFIX_SIZE: Final = 16


def to_session_key(key: bytes, start: int, end: int) -> bytes:
    """The bytes of a key in a session."""
    return key + end.to_bytes(8, "big", signed=True) + start.to_bytes(8, "big", signed=True)


def from_session_key(data: bytes) -> tuple[bytes, int, int]:
    """Key, start, end."""
    return (
        data[:-_SUFFIX_SIZE],
        int.from_bytes(data[-8:], "big", signed=True),
        int.from_bytes(data[-_SUFFIX_SIZE:-8], "big", signed=True),
    )


def session_end(data: bytes) -> int:
    """The end of the session in such a key."""
    return int.from_bytes(data[-_SUFFIX_SIZE:-8], "big", signed=True)


class SessionKeySchema:
    """Ranges of such keys in a segment, and the test of requested ones: ends from `time_from`, starts up to
    `time_to`."""

    is_window = False

    def lower_range_fixed_size(self, key: bytes, time_from: int) -> bytes:
        return to_session_key(key, 0, max(0, time_from))

    def upper_range_fixed_size(self, key: bytes, time_to: int) -> bytes:
        return to_session_key(key, time_to, LONG_MAX)

    def lower_range(self, key: bytes | None, time_from: int) -> bytes | None:
        return None if key is None else key + bytes(_SUFFIX_SIZE)

    def upper_range(self, key: bytes | None, time_to: int) -> bytes | None:
        if key is None:
            return None
        return upper_range(key, LONG_MAX.to_bytes(8, "big") + time_to.to_bytes(8, "big", signed=True))

    def segment_timestamp(self, data: bytes) -> int:
        return session_end(data)

    def matches(self, data: bytes, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> bool:
        """Return whether the entry is in the ranges."""
        key, start, end = from_session_key(data)
        return (
            end >= time_from
            and start <= time_to
            and (key_from is None or key >= key_from)
            and (key_to is None or key <= key_to)
        )

    def last_time_to_search(self, time_to: int) -> int:
        """Return the largest time: segments are those of ends, which may be much later than starts."""
        return LONG_MAX
