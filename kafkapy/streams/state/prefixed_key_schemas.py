"""Keys of stores ordered by time: a byte 0, the times, the key. An index has further keys: a byte 1, the store's usual
key.

Both are in one segment, so that closed windows are found by time, and windows of a key by the index.
"""

from __future__ import annotations

from typing import Final, Protocol

from kafkapy.streams.state.session_key_schema import SessionKeySchema
from kafkapy.streams.state.window_key_schema import (
    LONG_MAX,
    MAX_SEQUENCE,
    SEQUENCE_SIZE,
    WindowKeySchema,
)

TIME_FIRST: Final = b"\x00"
KEY_FIRST: Final = b"\x01"
_AFTER_TIME_FIRST: Final = b"\x01"
_AFTER_KEY_FIRST: Final = b"\x02"
_SESSION_HEAD: Final = 17
_WINDOW_HEAD: Final = 9


def _long(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def time_first_window_key(key: bytes, start: int, sequence: int) -> bytes:
    return TIME_FIRST + _long(start) + key + sequence.to_bytes(SEQUENCE_SIZE, "big")


def key_of_time_first_window(data: bytes) -> bytes:
    return data[_WINDOW_HEAD:-SEQUENCE_SIZE]


def start_of_time_first_window(data: bytes) -> int:
    return int.from_bytes(data[1:_WINDOW_HEAD], "big", signed=True)


def time_first_session_key(key: bytes, start: int, end: int) -> bytes:
    return TIME_FIRST + _long(end) + _long(start) + key


def from_time_first_session_key(data: bytes) -> tuple[bytes, int, int]:
    """Key, start, end."""
    return (
        data[_SESSION_HEAD:],
        int.from_bytes(data[9:_SESSION_HEAD], "big", signed=True),
        int.from_bytes(data[1:9], "big", signed=True),
    )


class PrefixedKeySchema(Protocol):
    """Ranges of such keys, and the test of whether a key in them is requested."""

    def lower_range_fixed_size(self, key: bytes, time_from: int) -> bytes: ...

    def upper_range_fixed_size(self, key: bytes, time_to: int) -> bytes: ...

    def lower_range(self, key: bytes | None, time_from: int) -> bytes: ...

    def upper_range(self, key: bytes | None, time_to: int) -> bytes: ...

    def segment_timestamp(self, data: bytes) -> int: ...

    def matches(
        self, data: bytes, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int
    ) -> bool: ...

    def last_time_to_search(self, time_to: int) -> int: ...


class TimeFirstWindowKeySchema:
    """Prefix, start, key, sequence number."""

    def lower_range_fixed_size(self, key: bytes, time_from: int) -> bytes:
        return time_first_window_key(key, max(0, time_from), 0)

    def upper_range_fixed_size(self, key: bytes, time_to: int) -> bytes:
        return time_first_window_key(key, time_to, MAX_SEQUENCE)

    def lower_range(self, key: bytes | None, time_from: int) -> bytes:
        return TIME_FIRST + _long(time_from) + (b"" if key is None else key)

    def upper_range(self, key: bytes | None, time_to: int) -> bytes:
        if key is None:
            return _AFTER_TIME_FIRST
        return time_first_window_key(b"\xff" * len(key), time_to, MAX_SEQUENCE)

    def segment_timestamp(self, data: bytes) -> int:
        return start_of_time_first_window(data)

    def matches(self, data: bytes, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> bool:
        if data[:1] != TIME_FIRST or not time_from <= start_of_time_first_window(data) <= time_to:
            return False
        key = key_of_time_first_window(data)
        return (key_from is None or key >= key_from) and (key_to is None or key <= key_to)

    def last_time_to_search(self, time_to: int) -> int:
        return time_to


class TimeFirstSessionKeySchema:
    """Prefix, end, start, key."""

    def lower_range_fixed_size(self, key: bytes, time_from: int) -> bytes:
        return time_first_session_key(key, 0, max(0, time_from))

    def upper_range_fixed_size(self, key: bytes, time_to: int) -> bytes:
        return time_first_session_key(key, time_to, LONG_MAX)

    def lower_range(self, key: bytes | None, time_from: int) -> bytes:
        if key is None:
            return TIME_FIRST + _long(time_from)
        return time_first_session_key(key, 0, time_from)

    def upper_range(self, key: bytes | None, time_to: int) -> bytes:
        return _AFTER_TIME_FIRST if key is None else time_first_session_key(key, time_to, LONG_MAX)

    def segment_timestamp(self, data: bytes) -> int:
        return int.from_bytes(data[1:9], "big", signed=True)

    def matches(self, data: bytes, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> bool:
        if data[:1] != TIME_FIRST:
            return False
        key, start, end = from_time_first_session_key(data)
        return (
            end >= time_from
            and start <= time_to
            and (key_from is None or key >= key_from)
            and (key_to is None or key <= key_to)
        )

    def last_time_to_search(self, time_to: int) -> int:
        return LONG_MAX


class KeyFirstSchema:
    """Keys of an index: a prefix before the store's usual key."""

    def __init__(self, plain: WindowKeySchema | SessionKeySchema) -> None:
        self._plain = plain

    def lower_range_fixed_size(self, key: bytes, time_from: int) -> bytes:
        return KEY_FIRST + self._plain.lower_range_fixed_size(key, time_from)

    def upper_range_fixed_size(self, key: bytes, time_to: int) -> bytes:
        return KEY_FIRST + self._plain.upper_range_fixed_size(key, time_to)

    def lower_range(self, key: bytes | None, time_from: int) -> bytes:
        lower = self._plain.lower_range(key, time_from)
        return KEY_FIRST if lower is None else KEY_FIRST + lower

    def upper_range(self, key: bytes | None, time_to: int) -> bytes:
        upper = self._plain.upper_range(key, time_to)
        return _AFTER_KEY_FIRST if upper is None else KEY_FIRST + upper

    def segment_timestamp(self, data: bytes) -> int:
        return self._plain.segment_timestamp(data)

    def matches(self, data: bytes, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> bool:
        return data[:1] == KEY_FIRST and self._plain.matches(data[1:], key_from, key_to, time_from, time_to)

    def last_time_to_search(self, time_to: int) -> int:
        return self._plain.last_time_to_search(time_to)


def window_base_key(plain: bytes) -> bytes:
    """The time-first key of a window store's usual key."""
    return TIME_FIRST + plain[-12:-4] + plain[:-12] + plain[-4:]


def window_plain_key(base: bytes) -> bytes:
    """The usual key of a time-first one."""
    return base[_WINDOW_HEAD:-4] + base[1:_WINDOW_HEAD] + base[-4:]


def session_base_key(plain: bytes) -> bytes:
    """The time-first key of a session store's usual key."""
    return TIME_FIRST + plain[-16:] + plain[:-16]


def session_plain_key(base: bytes) -> bytes:
    """The usual key of a time-first one."""
    return base[_SESSION_HEAD:] + base[1:_SESSION_HEAD]
