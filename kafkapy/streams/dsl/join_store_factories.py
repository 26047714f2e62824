"""Factories of the stores of joins. Stores are built late, because the type may depend on the application's
configuration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from kafkapy.streams.dsl.dsl_stores import dsl_stores
from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.options.stream_joined import StreamJoined
from kafkapy.streams.serdes import Serde, Serdes
from kafkapy.streams.state.list_value_store import ListValueStoreBuilder
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.state.stream_join_serdes import LeftOrRightValueSerde, TimestampedKeyAndJoinSideSerde
from kafkapy.streams.topology.store_factory import ChangelogKind
from kafkapy.streams.windows import JoinWindows


class JoinStoreFactory(ABC):
    """The `StoreFactory` of a join's store, which has no cache."""

    def __init__(self, name: str, logging_enabled: bool, log_config: Mapping[str, str]) -> None:
        self.name = name
        self.logging_enabled = logging_enabled
        self.log_config = log_config

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.KEY_VALUE

    @property
    def retention_ms(self) -> int:
        return 0

    def with_caching_disabled(self) -> JoinStoreFactory:
        return self

    def is_compatible_with(self, other: Any) -> bool:
        return other is self

    def build(self, config: Mapping[str, Any]) -> Any:
        builder = self._builder(config)
        if self.logging_enabled:
            builder = builder.with_logging_enabled(dict(self.log_config))
        else:
            builder = builder.with_logging_disabled()
        return builder.build(config)

    @abstractmethod
    def _builder(self, config: Mapping[str, Any]) -> Any:
        """Return a store builder with serdes."""


class StreamJoinedStoreFactory(JoinStoreFactory):
    """The window store of one side of a stream-stream join; it retains all records of a key.

    Args:
        name: Name of the store without "-store".
        windows: Windows of the join.
        joined: Options of the join.
        value_serde: Serde of this side's values.
        store_type: Type set in the options, or for the whole topology.
    """

    def __init__(
        self,
        name: str,
        windows: JoinWindows,
        joined: StreamJoined[Any, Any, Any],
        value_serde: Serde[Any] | None,
        store_type: StoreType | None,
    ) -> None:
        log_config = {**joined.log_config, "cleanup.policy": "delete"}
        super().__init__(name + "-store", joined.logging_enabled, log_config)
        self._windows = windows
        self._key_serde = joined.key_serde
        self._value_serde = value_serde
        self._store_type = store_type

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.WINDOWED

    @property
    def retention_ms(self) -> int:
        return self._windows.size_ms + self._windows.grace_period_ms

    def _builder(self, config: Mapping[str, Any]) -> Any:
        supplier = dsl_stores(self._store_type, config).window_store(
            self.name,
            self.retention_ms,
            self._windows.size_ms,
            retain_duplicates=True,
            emit_strategy=EmitStrategy.on_window_update(),
            sliding=False,
            timestamped=False,
        )
        return Stores.window_store_builder(supplier, self._key_serde, self._value_serde)


class OuterStreamJoinStoreFactory(JoinStoreFactory):
    """The store of records that have no match yet, by time, key and side.

    Args:
        name: Name of the store.
        joined: Options of the join.
        store_type: Type set in the options, or for the whole topology.
    """

    def __init__(self, name: str, joined: StreamJoined[Any, Any, Any], store_type: StoreType | None) -> None:
        super().__init__(name, joined.logging_enabled, joined.log_config)
        self._joined = joined
        self._store_type = store_type

    def _builder(self, config: Mapping[str, Any]) -> Any:
        joined = self._joined
        supplier = dsl_stores(self._store_type, config).key_value_store(self.name, timestamped=False)
        return ListValueStoreBuilder(
            supplier,
            TimestampedKeyAndJoinSideSerde(joined.key_serde),
            LeftOrRightValueSerde(joined.value_serde, joined.other_value_serde),
        )


class SubscriptionStoreFactory(JoinStoreFactory):
    """The store of a foreign-key join: for each row of the right table, the left rows that refer to it."""

    def __init__(self, name: str, subscription_serde: Serde[Any]) -> None:
        super().__init__(name, True, {})
        self._subscription_serde = subscription_serde

    def _builder(self, config: Mapping[str, Any]) -> Any:
        supplier = dsl_stores(None, config).key_value_store(self.name, timestamped=True)
        return Stores.timestamped_key_value_store_builder(supplier, Serdes.byte_array(), self._subscription_serde)
