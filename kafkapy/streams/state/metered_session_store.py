"""The outermost layer of session stores, with the serdes, which processors use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Change, Record, SessionWindow, Windowed
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.bytes_stores import SessionBytesStore, SessionEntry, WrappedStore
from kafkapy.streams.state.metered_key_value_store import ChangeDeserializer, null_key
from kafkapy.streams.state.session_key_schema import from_session_key
from kafkapy.streams.state.state_serdes import StateSerdes, prepare_serdes
from kafkapy.streams.state.state_store import SessionStore, StateStore
from kafkapy.streams.state.window_key_schema import LONG_MAX

K = TypeVar("K")
V = TypeVar("V")


class MeteredSessionStore(WrappedStore, SessionStore[K, V]):
    """Converts keys, sessions and aggregates to bytes and back."""

    def __init__(
        self, wrapped: SessionBytesStore, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self._key_serde = key_serde
        self._value_serde = value_serde
        self.serdes: StateSerdes

    def init(self, context: TaskContext, root: StateStore) -> None:
        self.serdes = prepare_serdes(context, self.name(), self._key_serde, self._value_serde)
        self.wrapped.init(context, root)

    def set_flush_listener(self, listener: Callable[[Record[Any, Change]], Any], send_old_values: bool) -> bool:
        """Like `MeteredKeyValueStore.set_flush_listener`; the keys are `Windowed`."""
        return self.wrapped.set_flush_listener(SessionChangeDeserializer(self, listener), send_old_values)

    def put(self, session_key: Windowed[K], aggregate: V | None) -> None:
        raw = self._raw_key(session_key)
        window = session_key.window
        self.wrapped.put(raw, window.start, window.end, self.serdes.raw_value(aggregate))

    def remove(self, session_key: Windowed[K]) -> None:
        raw = self._raw_key(session_key)
        window = session_key.window
        self.wrapped.remove(raw, window.start, window.end)

    def fetch_session(self, key: K, session_start: int, session_end: int) -> V | None:
        if key is None:
            raise null_key()
        raw = self.wrapped.fetch_session(self.serdes.raw_key(key), session_start, session_end)
        return None if raw is None else self.serdes.value_from(raw)

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        if key is None:
            raise null_key()
        return self._typed(self.wrapped.fetch(self.serdes.raw_key(key), True))

    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        if key is None:
            raise null_key()
        return self._typed(self.wrapped.fetch(self.serdes.raw_key(key), False))

    def fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        return self._typed(self.wrapped.fetch_range(self._end(key_from), self._end(key_to), True))

    def backward_fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        return self._typed(self.wrapped.fetch_range(self._end(key_from), self._end(key_to), False))

    def find_sessions(
        self, key: K, earliest_session_end: int, latest_session_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        if key is None:
            raise null_key()
        raw = self.serdes.raw_key(key)
        return self._typed(self.wrapped.find_sessions(raw, earliest_session_end, latest_session_start, True))

    def backward_find_sessions(
        self, key: K, earliest_session_end: int, latest_session_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        if key is None:
            raise null_key()
        raw = self.serdes.raw_key(key)
        return self._typed(self.wrapped.find_sessions(raw, earliest_session_end, latest_session_start, False))

    def find_sessions_range(
        self, key_from: K | None, key_to: K | None, earliest_session_end: int, latest_session_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Like `find_sessions`, for keys in a span; a bound of None is open."""
        ends = self._end(key_from), self._end(key_to)
        return self._typed(self.wrapped.find_sessions_range(*ends, earliest_session_end, latest_session_start, True))

    def find_sessions_by_end(
        self, earliest_session_end: int, latest_session_end: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        return self._typed(self.wrapped.find_sessions_by_end(earliest_session_end, latest_session_end))

    def _end(self, key: K | None) -> bytes | None:
        return None if key is None else self.serdes.raw_key(key)

    def _raw_key(self, session_key: Windowed[K]) -> bytes:
        if session_key is None:
            raise TypeError("sessionKey can't be null")
        if session_key.key is None:
            raise TypeError("sessionKey.key() can't be null")
        if session_key.window is None:
            raise TypeError("sessionKey.window() can't be null")
        return self.serdes.raw_key(session_key.key)

    def _typed(self, entries: Iterator[SessionEntry]) -> Iterator[tuple[Windowed[K], V]]:
        serdes = self.serdes
        for key, start, end, value in entries:
            yield Windowed(serdes.key_from(key), SessionWindow(start, end)), serdes.value_from(value)


ALL_TIMES = (0, LONG_MAX)
"""Earliest end and latest start that include all sessions."""


class SessionChangeDeserializer(ChangeDeserializer):
    """Converts flushed records with keys of session stores."""

    __slots__ = ()

    def _key(self, raw: bytes) -> Any:
        key, start, end = from_session_key(raw)
        return Windowed(self._store.serdes.key_from(key), SessionWindow(start, end))
