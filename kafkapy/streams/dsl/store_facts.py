"""Facts about a store before it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.store_suppliers import VersionedBytesStoreSupplier


@dataclass(slots=True)
class StoreFacts:
    """Facts about a store (Kafka's `MaterializedInternal`); operators fill in known serdes.

    Attributes:
        name: None only for an operator that has no store without a name.
        queryable_name: The same if the application gave it; None for a generated one.
        supplier: The application's supplier, or None.
        store_type: None: the application's default, which is known when stores are built.
        key_serde: None: `default.key.serde`.
        value_serde: None: `default.value.serde`.
        logging_enabled: Whether it has a changelog topic.
        log_config: Configs of that topic.
        caching_enabled: Whether it is cached.
        retention_ms: Retention of windows, ms; None: as long as needed.
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
        """Return the name of a store that has one."""
        assert self.name is not None
        return self.name

    @property
    def is_versioned(self) -> bool:
        """Return whether the store is versioned."""
        return isinstance(self.supplier, VersionedBytesStoreSupplier)

    def default_key_serde(self, serde: Serde[Any] | None) -> None:
        """Use this serde if none was given."""
        if self.key_serde is None:
            self.key_serde = serde

    def default_value_serde(self, serde: Serde[Any] | None) -> None:
        """Use this serde if none was given."""
        if self.value_serde is None:
            self.value_serde = serde
