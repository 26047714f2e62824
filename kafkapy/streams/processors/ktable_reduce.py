"""`KGroupedTable.reduce`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import KStreamAggProcessorSupplier, Reducer
from kafkapy.streams.processors.forwarder import TimestampedTupleForwarder, timestamped_forwarder
from kafkapy.streams.processors.key_value_store_wrapper import (
    PUT_RETURN_CODE_IS_LATEST,
    KeyValueStoreWrapper,
    key_value_store,
)
from kafkapy.streams.records import Change, Record
from kafkapy.streams.state.state_store import PUT_RETURN_CODE_NOT_PUT

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class KTableReduce(KStreamAggProcessorSupplier):
    """Subtracts an update's old value from its key's result, and adds the new one."""

    def __init__(self, store_name: str, add_reducer: Reducer, remove_reducer: Reducer) -> None:
        super().__init__(store_name)
        self.add_reducer = add_reducer
        self.remove_reducer = remove_reducer

    def __call__(self) -> Processor:
        return KTableReduceProcessor(self)


class KTableReduceProcessor(Processor):
    """Raises for a null key, which a repartition topic never has."""

    _store: KeyValueStoreWrapper
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KTableReduce) -> None:
        self._supplier = supplier

    def init(self, context: ProcessorContext) -> None:
        self._store = key_value_store(context, self._supplier.store_name)
        send_old_values = self._supplier.send_old_values
        self._forwarder = timestamped_forwarder(cast("TaskContext", context), self._store.store, send_old_values)

    def process(self, record: Record[Any, Change]) -> None:
        key = record.key
        supplier = self._supplier
        if key is None:
            raise StreamsException(
                f"Record key for KTable reduce operator with state {supplier.store_name} should not be null."
            )
        added, removed, _ = record.value
        old = self._store.get(key)
        old_aggregate = None if old is None else old.value
        aggregate = old_aggregate
        timestamp = record.timestamp
        newest = timestamp if old is None else max(timestamp, old.timestamp)
        if removed is not None and old_aggregate is not None:
            aggregate = supplier.remove_reducer(old_aggregate, removed)
            timestamp = newest
        if added is not None:
            if aggregate is None:
                aggregate = added
            else:
                aggregate = supplier.add_reducer(aggregate, added)
                timestamp = newest
        code = self._store.put(key, aggregate, timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            self._forwarder.maybe_forward(key, aggregate, old_aggregate, is_latest, timestamp, record.headers)
