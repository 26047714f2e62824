"""Forwards updates of a store downstream: at once, or when its cache is flushed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.streams.records import Change, Headers, Record

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext


class TimestampedCacheFlushListener:
    """Forwards entries that a cache flushes to a timestamped store, as output of the node that wrote them."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._node = context.current_node

    def __call__(self, record: Record[Any, Change]) -> None:
        """Called by the cache for each of its entries.

        Args:
            record: With a `Change` of two `ValueAndTimestamp`, either may be None.
        """
        context = self._context
        before = context.current_node
        context.set_current_node(self._node)
        try:
            new, old, is_latest = record.value
            change = Change(None if new is None else new.value, None if old is None else old.value, is_latest)
            timestamp = record.timestamp if new is None else new.timestamp
            context.forward(Record(record.key, change, timestamp, record.headers))
        finally:
            context.set_current_node(before)


class SessionCacheFlushListener:
    """Forwards entries that a cache flushes to a session store; their timestamp is the session's end."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._node = context.current_node

    def __call__(self, record: Record[Any, Change]) -> None:
        """Called by the cache for each of its entries.

        Args:
            record: Its key is a `Windowed`, its value a `Change`.
        """
        context = self._context
        before = context.current_node
        context.set_current_node(self._node)
        try:
            context.forward(record.with_timestamp(record.key.window.end))
        finally:
            context.set_current_node(before)


class TimestampedTupleForwarder:
    """Forwards updates of a store unless its cache will.

    Args:
        context: The context to forward with.
        send_old_values: Whether to keep the old value in a `Change`.
        store: The store, with or without cache; None: there is none.
        flush_listener: Listener of the cache.
    """

    def __init__(
        self,
        context: TaskContext,
        send_old_values: bool,
        store: Any = None,
        flush_listener: TimestampedCacheFlushListener | SessionCacheFlushListener | None = None,
    ) -> None:
        self._context = context
        self._send_old_values = send_old_values
        self._caching = store is not None and bool(store.set_flush_listener(flush_listener, send_old_values))

    def maybe_forward(
        self, key: Any, new_value: Any, old_value: Any, is_latest: bool, timestamp: int, headers: Headers
    ) -> None:
        """Forward an update, unless a cache will forward it."""
        if not self._caching:
            change = Change(new_value, old_value if self._send_old_values else None, is_latest)
            self._context.forward(Record(key, change, timestamp, headers))


def timestamped_forwarder(context: TaskContext, store: Any, send_old_values: bool) -> TimestampedTupleForwarder:
    """Return a forwarder for a timestamped or versioned store; called in a processor's `init`."""
    return TimestampedTupleForwarder(context, send_old_values, store, TimestampedCacheFlushListener(context))
