"""What a store keeps its entries in."""

from __future__ import annotations

from enum import Enum

from kafkapy.streams.errors import StreamsException


class StoreType(Enum):
    """What a store of the DSL keeps its entries in; the values are those of `default.dsl.store`.

    Example:
        >>> StoreType.IN_MEMORY.value
        'in_memory'
    """

    ROCKS_DB = "rocksDB"
    IN_MEMORY = "in_memory"


def parse_store_type(name: str | StoreType) -> StoreType:
    """The store type that `default.dsl.store` names.

    Raises:
        StreamsException: It names none.
    """
    try:
        return StoreType(name)
    except ValueError:
        raise StreamsException(f"Unexpected storeType: {name}") from None
