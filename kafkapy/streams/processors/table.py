"""What tables are to each other: a supplier of processors, and of getters that look a value up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from kafkapy.streams.records import ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import Processor, TaskContext


class KTableValueGetter:
    """Looks up the current value of a table, in its own store or by computing it from those of its parents."""

    def init(self, context: TaskContext) -> None:
        """Called before the first value is read."""
        raise NotImplementedError

    def get(self, key: Any) -> ValueAndTimestamp | None:
        """The current value; None if there is none."""
        raise NotImplementedError

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        """The value at a point in time.

        Raises:
            NotImplementedError: The table is not versioned.
        """
        raise NotImplementedError("get(key, timestamp) is only supported for versioned stores")

    def is_versioned(self) -> bool:
        """Whether `get_as_of` can be called; known after `init`."""
        return False

    def close(self) -> None:
        """Called when the processor that uses it is closed."""


class KTableValueGetterSupplier(ABC):
    """Makes a getter for each task."""

    @abstractmethod
    def __call__(self) -> KTableValueGetter: ...

    @abstractmethod
    def store_names(self) -> list[str]:
        """The stores that a processor must be connected to so that it can use the getter.

        Raises:
            StreamsException: They are on the other side of a repartition topic.
        """


class KTableProcessorSupplier(ABC):
    """Makes the processor of a table for each task; what it is asked for while the topology is built decides how they work."""

    @abstractmethod
    def __call__(self) -> Processor: ...

    @abstractmethod
    def view(self) -> KTableValueGetterSupplier:
        """Getters of the table's values. A source is materialized by this."""

    @abstractmethod
    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Have updates carry the value that they replace.

        Args:
            force_materialization: Keep a store for it where there is none.

        Returns:
            Whether they will.
        """


class ParentTable(Protocol):
    """What processors need of the table (`KTable`) that they are derived from."""

    def value_getter_supplier(self) -> KTableValueGetterSupplier: ...

    def enable_sending_old_values(self, force_materialization: bool) -> bool: ...


def distinct(names: list[str]) -> list[str]:
    """Each name once, in order."""
    return list(dict.fromkeys(names))
