"""`StreamsBuilder.table`, `KStream.to_table` and results of foreign-key joins: converts records to updates of a
table."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.forwarder import TimestampedTupleForwarder, timestamped_forwarder
from kafkapy.streams.processors.key_value_store_wrapper import (
    PUT_RETURN_CODE_IS_LATEST,
    KeyValueStoreWrapper,
    key_value_store,
)
from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.table import KTableProcessorSupplier, KTableValueGetterSupplier
from kafkapy.streams.records import Change, Record
from kafkapy.streams.state.state_store import PUT_RETURN_CODE_NOT_PUT

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext

LOG = logging.getLogger(__name__)


class KTableSource(KTableProcessorSupplier):
    """Supplies the processors of a table that is read from a topic; it has a store only if one is required.

    Attributes:
        store_name: Name of its store, also before there is one.
        queryable_name: The same once it is materialized; None before.
        send_old_values: Whether updates contain the replaced value.
    """

    def __init__(self, store_name: str, queryable_name: str | None) -> None:
        self.store_name = store_name
        self.queryable_name = queryable_name
        self.send_old_values = False

    def __call__(self) -> Processor:
        return KTableSourceProcessor(self)

    @property
    def materialized(self) -> bool:
        """Return whether it has a store."""
        return self.queryable_name is not None

    def materialize(self) -> None:
        """Give the table a store."""
        self.queryable_name = self.store_name

    def enable_sending_old_values(self, force_materialization: bool = True) -> bool:
        if not force_materialization and not self.materialized:
            return False
        self.send_old_values = True
        self.materialize()
        return True

    def view(self) -> KTableValueGetterSupplier:
        self.materialize()
        return KTableMaterializedValueGetterSupplier(self.store_name)


class KTableSourceProcessor(Processor):
    """Drops records with a null key; a null value deletes."""

    _context: TaskContext
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KTableSource) -> None:
        self._supplier = supplier
        self._store: KeyValueStoreWrapper | None = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        name = self._supplier.queryable_name
        if name is not None:
            self._store = key_value_store(context, name)
            send_old_values = self._supplier.send_old_values
            self._forwarder = timestamped_forwarder(self._context, self._store.store, send_old_values)

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        value = record.value
        if key is None:
            drop(self._context, "due to null key")
            return
        store = self._store
        if store is None:
            self._context.forward(Record(key, Change(value, None), record.timestamp, record.headers))
            return
        timestamp = record.timestamp
        old = store.get(key)
        old_value = None
        if old is not None:
            old_value = old.value
            if timestamp < old.timestamp:
                self._log_out_of_order(old.timestamp, timestamp)
        code = store.put(key, value, timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            self._forwarder.maybe_forward(key, value, old_value, is_latest, timestamp, record.headers)

    def _log_out_of_order(self, old: int, new: int) -> None:
        LOG.warning(
            "Detected out-of-order KTable update for %s, old timestamp=[%s] new timestamp=[%s]. %s",
            self._supplier.queryable_name,
            old,
            new,
            self._context.record_metadata(),
        )
