"""A common interface of the two kinds of stores of tables: timestamped and versioned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from kafkapy.streams.errors import InvalidStateStoreException
from kafkapy.streams.records import ValueAndTimestamp
from kafkapy.streams.state.state_store import (
    PUT_RETURN_CODE_VALID_TO_UNDEFINED,
    TimestampedKeyValueStore,
    VersionedKeyValueStore,
)

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext

PUT_RETURN_CODE_IS_LATEST: Final = PUT_RETURN_CODE_VALID_TO_UNDEFINED


class KeyValueStoreWrapper(ABC):
    """The store of a table.

    Attributes:
        store: The wrapped one.
    """

    def __init__(self, store: Any) -> None:
        self.store = store

    @abstractmethod
    def get(self, key: Any) -> ValueAndTimestamp | None:
        """Return the current value."""

    @abstractmethod
    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        """Return the value at a point in time; versioned stores only."""

    @abstractmethod
    def put(self, key: Any, value: Any, timestamp: int) -> int:
        """Set a value; None deletes it.

        Returns:
            `PUT_RETURN_CODE_IS_LATEST`, `PUT_RETURN_CODE_NOT_PUT`, or the time up to which the value is valid.
        """

    @abstractmethod
    def is_versioned(self) -> bool: ...


class _TimestampedStore(KeyValueStoreWrapper):
    def get(self, key: Any) -> ValueAndTimestamp | None:
        value: ValueAndTimestamp | None = self.store.get(key)
        return value

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        raise NotImplementedError("get(key, timestamp) is only supported for versioned stores")

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        self.store.put(key, None if value is None else ValueAndTimestamp(value, timestamp))
        return PUT_RETURN_CODE_IS_LATEST

    def is_versioned(self) -> bool:
        return False


class _VersionedStore(KeyValueStoreWrapper):
    def get(self, key: Any) -> ValueAndTimestamp | None:
        record = self.store.get(key)
        return None if record is None else ValueAndTimestamp(record.value, record.timestamp)

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        record = self.store.get(key, timestamp)
        return None if record is None else ValueAndTimestamp(record.value, record.timestamp)

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        valid_to: int = self.store.put(key, value, timestamp)
        return valid_to

    def is_versioned(self) -> bool:
        return True


def key_value_store(context: ProcessorContext, name: str) -> KeyValueStoreWrapper:
    """Return the wrapped store of a table.

    Raises:
        InvalidStateStoreException: It is neither timestamped nor versioned.
    """
    store = context.get_state_store(name)
    if isinstance(store, TimestampedKeyValueStore):
        return _TimestampedStore(store)
    if isinstance(store, VersionedKeyValueStore):
        return _VersionedStore(store)
    raise InvalidStateStoreException(
        "KTable source state store must implement either TimestampedKeyValueStore or VersionedKeyValueStore. Got: "
        + type(store).__name__
    )
