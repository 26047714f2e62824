"""What is known of a store before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.store_suppliers import VersionedBytesStoreSupplier


@dataclass(slots=True)
class StoreFacts:
    """What is known of a store (Kafka's `MaterializedInternal`); serdes are filled in where operators know them.

    Attributes:
        name: None only for an operator that keeps no store without a name.
        queryable_name: The same if the application gave it; None for a generated one.
        supplier: Of the application's choice, or None.
        store_type: None: the application's, which is known when stores are made.
        key_serde: None: `default.key.serde`.
        value_serde: None: `default.value.serde`.
        logging_enabled: Whether it has a changelog topic.
        log_config: Configs of that topic.
        caching_enabled: Whether it is cached.
        retention_ms: Of windows, ms; None: as long as needed.
    """

    name: str | None
    queryable_name: str | None
    supplier: Any
    store_type: StoreType | None
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    logging_enabled: bool
    log_config: Mapping[str, str]
    caching_enabled: bool
    retention_ms: int | None

    @property
    def store_name(self) -> str:
        """The name of a store that has one."""
        assert self.name is not None
        return self.name

    @property
    def is_versioned(self) -> bool:
        """Whether it keeps a history of each key."""
        return isinstance(self.supplier, VersionedBytesStoreSupplier)

    def default_key_serde(self, serde: Serde[Any] | None) -> None:
        """Take this serde if none was given."""
        if self.key_serde is None:
            self.key_serde = serde

    def default_value_serde(self, serde: Serde[Any] | None) -> None:
        """Take this serde if none was given."""
        if self.value_serde is None:
            self.value_serde = serde
