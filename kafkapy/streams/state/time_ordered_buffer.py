"""What a processor that holds records back sees of its buffer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Record, RecordContext, ValueAndTimestamp
from kafkapy.streams.state.state_store import StateStore


class Eviction(NamedTuple):
    """What leaves a buffer."""

    key: Any
    value: Any
    """A `Change`, or the value."""
    record_context: RecordContext


class TimeOrderedKeyValueBuffer(StateStore):
    """Records by the time at which they were buffered."""

    @abstractmethod
    def set_serdes_if_null(self, context: TaskContext) -> None:
        """Take the configuration's defaults for serdes that the buffer was not made with.

        Raises:
            ValueError: There are none.
        """

    @abstractmethod
    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Eviction], Any]) -> None:
        """Hand over the earliest records, as long as the predicate is true."""

    @abstractmethod
    def prior_value_for_buffered(self, key: Any) -> tuple[bool, ValueAndTimestamp | None]:
        """What the table downstream has for a key.

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
        """How many keys are buffered."""

    @abstractmethod
    def buffer_size(self) -> int:
        """Kafka's estimate of the bytes in memory."""

    @abstractmethod
    def min_timestamp(self) -> int:
        """The earliest buffer time; the greatest long if there is nothing."""
