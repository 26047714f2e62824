"""The types of stores of the DSL."""

from __future__ import annotations

from enum import Enum

from kafkapy.streams.errors import StreamsException


class StoreType(Enum):
    """The storage of a DSL store; the values are those of `default.dsl.store`.

    Example:
        >>> StoreType.IN_MEMORY.value
        'in_memory'
    """

    ROCKS_DB = "rocksDB"
    IN_MEMORY = "in_memory"


def parse_store_type(name: str | StoreType) -> StoreType:
    """Parse `default.dsl.store`.

    Raises:
        StreamsException: The name is unknown.
    """
    try:
        return StoreType(name)
    except ValueError:
        raise StreamsException(f"Unexpected storeType: {name}") from None
