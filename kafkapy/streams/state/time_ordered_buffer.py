"""What a processor that holds records back sees of its buffer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.streams.records import Record, RecordContext, ValueAndTimestamp
from kafkapy.streams.serdes import Serde
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
    def set_serdes_if_null(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Give the buffer the defaults for serdes that it was not made with."""

    @abstractmethod
    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Eviction], Any]) -> None:
        """Hand over the earliest records, as long as the predicate is true."""

    @abstractmethod
    def prior_value_for_buffered(self, key: Any) -> tuple[ValueAndTimestamp | None] | None:
        """What the table downstream has for a key.

        Returns:
            None if the key is not buffered; else a tuple of the value, which may be None (Kafka's `Maybe`).
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
