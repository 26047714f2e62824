"""Executes the queries of `queries` on a store (Kafka's `StoreQueryUtils`, `MeteredKeyValueStore.query`)."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from kafkapy.streams.queries.position import Position
from kafkapy.streams.queries.queries import (
    KeyQuery,
    MultiVersionedKeyQuery,
    Query,
    RangeQuery,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)
from kafkapy.streams.queries.read_only_stores import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
    StorePart,
)
from kafkapy.streams.queries.state_query import FailureReason, QueryResult, StateQueryRequest
from kafkapy.streams.state.caching_store import CachingStore
from kafkapy.streams.state.state_store import (
    KeyValueStore,
    SessionStore,
    TimestampedKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)

LONG_MAX: Final = (1 << 63) - 1


def answer(request: StateQueryRequest, part: StorePart, partition: int, position: Position) -> QueryResult:
    """Return the result of one partition. The caller holds the part's lock. Entries of a range are read in pieces,
    each of which acquires the lock again.

    Args:
        request: The query.
        part: The store.
        partition: Its number.
        position: The store's position.
    """
    bound = request.position_bound
    if not request.is_require_active and not position.reaches(bound.position, partition):
        return QueryResult.for_failure(
            FailureReason.NOT_UP_TO_BOUND,
            f"For store partition {partition}, the current position {position} is not yet up to the bound {bound}",
        )
    started = time.perf_counter_ns()
    store = part.store
    handler = _handler(request.query, store)
    if handler is None:
        return QueryResult.for_failure(
            FailureReason.UNKNOWN_QUERY_TYPE,
            f"This store ({type(store).__name__}) doesn't know how to execute the given query ({request.query}). Contact the "
            "store maintainer if you need support for a new query type.",
        )
    try:
        result = QueryResult.for_result(handler(request.query, part))
    except Exception as error:
        return QueryResult.for_failure(FailureReason.STORE_EXCEPTION, f"{type(error).__name__}: {error}")
    result.position = position
    if request.is_execution_info_enabled:
        result.execution_info.append(f"Handled in {type(store).__name__} in {time.perf_counter_ns() - started}ns")
    return result


Handler = Callable[[Any, StorePart], Any]


def _handler(query: Query[Any], store: Any) -> Handler | None:
    for query_type, store_type, handler in _HANDLERS:
        if isinstance(query, query_type) and isinstance(store, store_type):
            return handler
    if isinstance(query, WindowRangeQuery):
        if query.key is None and query.time_from is not None and isinstance(store, WindowStore):
            return _windows_of_all
        if query.key is not None and isinstance(store, SessionStore):
            return _sessions
    return None


def _key(query: KeyQuery, part: StorePart) -> Any:
    return ReadOnlyKeyValueStore[Any, Any](lambda: [_maybe_below_cache(part, query.is_skip_cache)], True).get(query.key)


def _timestamped_key(query: TimestampedKeyQuery, part: StorePart) -> Any:
    return ReadOnlyKeyValueStore[Any, Any](lambda: [_maybe_below_cache(part, query.is_skip_cache)], False).get(
        query.key
    )


def _range(query: RangeQuery, part: StorePart) -> Iterator[Any]:
    return _entries(query, part, True)


def _timestamped_range(query: TimestampedRangeQuery, part: StorePart) -> Iterator[Any]:
    return _entries(query, part, False)


def _entries(query: RangeQuery | TimestampedRangeQuery, part: StorePart, plain: bool) -> Iterator[Any]:
    store = ReadOnlyKeyValueStore[Any, Any](lambda: [_maybe_below_cache(part, True)], plain)
    read = store.range if query.forward else store.reverse_range
    return read(query.lower, query.upper)


def _windows_of_key(query: WindowKeyQuery, part: StorePart) -> Iterator[Any]:
    below = _maybe_below_cache(part, True)
    return ReadOnlyWindowStore[Any, Any](lambda: [below], False).fetch(query.key, query.time_from, query.time_to)  # type: ignore[no-any-return]


def _windows_of_all(query: WindowRangeQuery, part: StorePart) -> Iterator[Any]:
    assert query.time_from is not None
    assert query.time_to is not None
    below = _maybe_below_cache(part, True)
    return ReadOnlyWindowStore[Any, Any](lambda: [below], False).fetch_all(query.time_from, query.time_to)


def _sessions(query: WindowRangeQuery, part: StorePart) -> Iterator[Any]:
    below = _maybe_below_cache(part, True)
    return ReadOnlySessionStore[Any, Any](lambda: [below], False).fetch(query.key)


def _version(query: VersionedKeyQuery, part: StorePart) -> Any:
    return part.store.get(query.key, query.as_of_timestamp)


def _versions(query: MultiVersionedKeyQuery, part: StorePart) -> Iterator[Any]:
    time_from = 0 if query.from_timestamp is None else query.from_timestamp
    time_to = LONG_MAX if query.to_timestamp is None else query.to_timestamp
    found = part.store.versions(query.key, time_from, time_to)
    return iter(found[::-1] if query.ascending else found)


_HANDLERS: Final[tuple[tuple[type[Any], type[Any], Handler], ...]] = (
    (KeyQuery, KeyValueStore, _key),
    (TimestampedKeyQuery, TimestampedKeyValueStore, _timestamped_key),
    (RangeQuery, KeyValueStore, _range),
    (TimestampedRangeQuery, TimestampedKeyValueStore, _timestamped_range),
    (WindowKeyQuery, WindowStore, _windows_of_key),
    (VersionedKeyQuery, VersionedKeyValueStore, _version),
    (MultiVersionedKeyQuery, VersionedKeyValueStore, _versions),
)


def _maybe_below_cache(part: StorePart, skip: bool) -> StorePart:
    """Return the store without its record cache, which Kafka's range queries also skip."""
    layer: Any = getattr(part.store, "wrapped", None)
    if not skip or not isinstance(layer, CachingStore):
        return part
    store = copy.copy(part.store)
    store.wrapped = store._layer = layer._layer
    return part._replace(store=store)
