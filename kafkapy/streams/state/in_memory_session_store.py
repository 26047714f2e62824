"""A session store in memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import SessionBytesStore, SessionEntry, is_empty_range
from kafkapy.streams.state.metered_key_value_store import null_key
from kafkapy.streams.state.session_key_schema import from_session_key
from kafkapy.streams.state.sorted_bytes import SortedBytes
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.window_key_schema import LONG_MAX

_Starts = dict[int, bytes]
_Keys = SortedBytes[_Starts]


class InMemorySessionStore(SessionBytesStore):
    """Aggregates by end, then by key, then by start, the latest start first.

    Invariant: `_ends` holds the keys of `_sessions` in order; no map is empty. Sessions that are out of retention are removed
    by the next call.
    """

    def __init__(self, name: str, retention_period: int) -> None:
        self._name = name
        self._retention_period = retention_period
        self._sessions: dict[int, _Keys] = {}
        self._ends: list[int] = []
        self._observed_stream_time = -1
        self._open = False
        self._context: TaskContext

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        context.register_store(root, self._restore)
        self._open = True

    def _restore(self, records: list[Any]) -> None:
        for record in records:
            self.put(*from_session_key(record.key), record.value)

    def put(self, key: bytes, start: int, end: int, aggregate: bytes | None) -> None:
        self._remove_expired()
        if end > self._observed_stream_time:
            self._observed_stream_time = end
        if end <= self._observed_stream_time - self._retention_period:
            self._context.record_dropped()
        elif aggregate is None:
            self.remove(key, start, end)
        else:
            self._add(key, start, end, aggregate)

    def _add(self, key: bytes, start: int, end: int, aggregate: bytes) -> None:
        keys = self._sessions.get(end)
        if keys is None:
            keys = self._sessions[end] = SortedBytes()
            insort(self._ends, end)
        starts = keys.get(key)
        if starts is None:
            keys.put(key, {start: aggregate})
        else:
            starts[start] = aggregate

    def remove(self, key: bytes, start: int, end: int) -> None:
        keys = self._sessions.get(end)
        starts = None if keys is None else keys.get(key)
        if keys is None or starts is None:
            return
        starts.pop(start, None)
        if not starts:
            keys.pop(key)
            if not len(keys):
                del self._sessions[end]
                del self._ends[bisect_left(self._ends, end)]

    def _remove_expired(self) -> None:
        first_live = max(0, self._observed_stream_time - self._retention_period + 1)
        ends = self._ends
        if not ends or ends[0] >= first_live:
            return
        expired = bisect_left(ends, first_live)
        for end in ends[:expired]:
            del self._sessions[end]
        del ends[:expired]

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        self._remove_expired()
        if end <= self._observed_stream_time - self._retention_period:
            return None
        keys = self._sessions.get(end)
        starts = None if keys is None else keys.get(key)
        return None if starts is None else starts.get(start)

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Iterator[SessionEntry]:
        if key is None:
            raise null_key()
        return self._entries(key, key, latest_start, self._maps(earliest_end, LONG_MAX, forward), forward)

    def find_sessions_range(
        self, key_from: bytes | None, key_to: bytes | None, earliest_end: int, latest_start: int, forward: bool
    ) -> Iterator[SessionEntry]:
        maps = self._maps(earliest_end, LONG_MAX, forward)
        if is_empty_range(key_from, key_to):
            return iter(())
        return self._entries(key_from, key_to, latest_start, maps, forward)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        return self._entries(None, None, LONG_MAX, self._maps(earliest_end, latest_end, True), True)

    def fetch(self, key: bytes, forward: bool) -> Iterator[SessionEntry]:
        return self._entries(key, key, LONG_MAX, self._maps(None, LONG_MAX, forward), forward)

    def fetch_range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[SessionEntry]:
        return self._entries(key_from, key_to, LONG_MAX, self._maps(None, LONG_MAX, forward), forward)

    def _maps(self, earliest_end: int | None, latest_end: int, forward: bool) -> list[tuple[int, _Keys]]:
        self._remove_expired()
        first = 0 if earliest_end is None else bisect_left(self._ends, earliest_end)
        found = [(end, self._sessions[end]) for end in self._ends[first : bisect_right(self._ends, latest_end)]]
        if not forward:
            found.reverse()
        return found

    def _entries(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        latest_start: int,
        maps: list[tuple[int, _Keys]],
        forward: bool,
    ) -> Iterator[SessionEntry]:
        one_key = key_from is not None and key_from == key_to
        for end, by_key in maps:
            keys = [key_from] if one_key else by_key.keys(key_from, key_to, forward)
            for key in keys:
                starts = by_key.get(key)  # type: ignore[arg-type]  # of one key, it is not None
                if starts is None:
                    continue
                for start in sorted(starts, reverse=forward):
                    aggregate = starts.get(start)
                    if start <= latest_start and aggregate is not None:
                        yield key, start, end, aggregate  # type: ignore[misc]

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._sessions.clear()
        self._ends.clear()
        self._open = False

    def persistent(self) -> bool:
        return False

    def is_open(self) -> bool:
        return self._open
