"""State stores: suppliers, builders and what processors see of them."""

from kafkapy.streams.state.state_store import (
    KeyValueStore,
    SessionStore,
    StateStore,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    VersionedKeyValueStore,
    WindowStore,
)
from kafkapy.streams.state.store_builders import StoreBuilder
from kafkapy.streams.state.store_suppliers import StoreSupplier
from kafkapy.streams.state.stores import Stores

__all__ = [
    "KeyValueStore",
    "SessionStore",
    "StateStore",
    "StoreBuilder",
    "StoreSupplier",
    "Stores",
    "TimestampedKeyValueStore",
    "TimestampedWindowStore",
    "VersionedKeyValueStore",
    "WindowStore",
]
