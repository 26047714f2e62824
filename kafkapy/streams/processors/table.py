"""Interfaces between tables: suppliers of processors, and of getters that look values up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from kafkapy.streams.records import ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import Processor, TaskContext


class KTableValueGetter:
    """Looks up the current value of a table in its store, or computes it from its parents' values."""

    def init(self, context: TaskContext) -> None:
        """Called before the first value is read."""
        raise NotImplementedError

    def get(self, key: Any) -> ValueAndTimestamp | None:
        """Return the current value; None if there is none."""
        raise NotImplementedError

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        """Return the value at a point in time.

        Raises:
            NotImplementedError: The table is not versioned.
        """
        raise NotImplementedError("get(key, timestamp) is only supported for versioned stores")

    def is_versioned(self) -> bool:
        """Return whether `get_as_of` is supported; known after `init`."""
        return False

    def close(self) -> None:
        """Called when the processor that uses it is closed."""


class KTableValueGetterSupplier(ABC):
    """Supplies a getter for each task."""

    @abstractmethod
    def __call__(self) -> KTableValueGetter: ...

    @abstractmethod
    def store_names(self) -> list[str]:
        """Return the stores to which a processor must be connected to use the getter.

        Raises:
            StreamsException: The stores are on the other side of a repartition topic.
        """


class KTableProcessorSupplier(ABC):
    """Supplies the processor of a table for each task. Calls during the topology's construction determine how
    processors work."""

    @abstractmethod
    def __call__(self) -> Processor: ...

    @abstractmethod
    def view(self) -> KTableValueGetterSupplier:
        """Return the supplier of the table's getters. The call materializes a source."""

    @abstractmethod
    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Make updates contain the replaced value.

        Args:
            force_materialization: Whether to create a store for that if there is none.

        Returns:
            Whether updates contain it.
        """


class ParentTable(Protocol):
    """The part of a table (`KTable`) that processors of derived tables use."""

    def value_getter_supplier(self) -> KTableValueGetterSupplier: ...

    def enable_sending_old_values(self, force_materialization: bool) -> bool: ...


def distinct(names: list[str]) -> list[str]:
    """Return the names in order without duplicates."""
    return list(dict.fromkeys(names))
