"""Schedules the emission of closed windows' results (`EmitStrategy.on_window_close`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext

NO_TIMESTAMP: Final = -1

EMIT_INTERVAL: Final = "__emit.interval.ms.kstreams.windowed.aggregation__"
"""An internal configuration of Kafka's, in ms."""

DEFAULT_EMIT_INTERVAL_MS: Final = 1000


def internal_long(config: Mapping[str, Any], name: str, default: int) -> int:
    """Return an internal configuration, which has no definition; its value is a number or a string of digits."""
    return int(config.get(name, default))


class FinalResultsSchedule:
    """Determines whether to search for closed windows now.

    Invariant: all windows that were closed at `last_close_time` have been emitted. The task commits that time with its
    offsets (in the processor's metadata, under the name of its store), and restores it after a restart.

    Attributes:
        last_close_time: `NO_TIMESTAMP` before the first emission.
    """

    def __init__(self, context: TaskContext, store_name: str) -> None:
        self._context = context
        self._store_name = store_name
        self._interval_ms = internal_long(context.config, EMIT_INTERVAL, DEFAULT_EMIT_INTERVAL_MS)
        self._next_time_to_emit = 0
        committed = context.processor_metadata_for_key(store_name)
        self.last_close_time: int = NO_TIMESTAMP if committed is None else committed

    def is_due(self, close_time: int) -> bool:
        """Return whether the interval of wall-clock time is over, and windows may have closed since the last
        emission."""
        now = self._context.current_system_time_ms()
        if now < self._next_time_to_emit:
            return False
        self._next_time_to_emit = now + self._interval_ms
        return self.last_close_time == NO_TIMESTAMP or self.last_close_time < close_time

    def emitted(self, close_time: int) -> None:
        """Record that all windows that end before this time have been emitted."""
        self.last_close_time = close_time
        self._context.add_processor_metadata_key_value(self._store_name, close_time)
