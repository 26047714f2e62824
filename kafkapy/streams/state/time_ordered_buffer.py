"""The interface of buffers for processors that delay records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Record, RecordContext, ValueAndTimestamp
from kafkapy.streams.state.state_store import StateStore


class Eviction(NamedTuple):
    """A record evicted from a buffer."""

    key: Any
    value: Any
    """A `Change`, or the value."""
    record_context: RecordContext


class TimeOrderedKeyValueBuffer(StateStore):
    """Records by the time at which they were buffered."""

    @abstractmethod
    def set_serdes_if_null(self, context: TaskContext) -> None:
        """Set missing serdes to the configuration's defaults.

        Raises:
            ValueError: There is no default.
        """

    @abstractmethod
    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Eviction], Any]) -> None:
        """Evict the earliest records while the predicate is true, and call the callback with each."""

    @abstractmethod
    def prior_value_for_buffered(self, key: Any) -> tuple[bool, ValueAndTimestamp | None]:
        """Return a key's value in the downstream table.

        Returns:
            Whether the key is buffered, and if so the value, which may be None (Kafka's `Maybe`).
        """

    @abstractmethod
    def put(self, time: int, record: Record[Any, Any], record_context: RecordContext) -> bool:
        """Buffer a record.

        Returns:
            False if it is too late to be buffered.

        Raises:
            TypeError: Its value is None.
        """

    @abstractmethod
    def num_records(self) -> int:
        """Return the number of buffered keys."""

    @abstractmethod
    def buffer_size(self) -> int:
        """Return Kafka's estimate of the bytes in memory."""

    @abstractmethod
    def min_timestamp(self) -> int:
        """Return the earliest buffer time; the largest long if the buffer is empty."""
