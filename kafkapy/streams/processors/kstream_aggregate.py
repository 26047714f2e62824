"""`KGroupedStream.aggregate` and `count`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import Aggregator, Initializer, KStreamAggProcessorSupplier
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.forwarder import TimestampedTupleForwarder, timestamped_forwarder
from kafkapy.streams.processors.key_value_store_wrapper import (
    PUT_RETURN_CODE_IS_LATEST,
    KeyValueStoreWrapper,
    key_value_store,
)
from kafkapy.streams.records import Record
from kafkapy.streams.state.state_store import PUT_RETURN_CODE_NOT_PUT

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class KStreamAggregate(KStreamAggProcessorSupplier):
    """Adds each value of a stream to the aggregate of its key."""

    def __init__(self, store_name: str, initializer: Initializer, aggregator: Aggregator) -> None:
        super().__init__(store_name)
        self.initializer = initializer
        self.aggregator = aggregator

    def __call__(self) -> Processor:
        return KStreamAggregateProcessor(self)


class KStreamAggregateProcessor(Processor):
    """Drops records with a null key or value."""

    _context: TaskContext
    _store: KeyValueStoreWrapper
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KStreamAggregate) -> None:
        self._store_name = supplier.store_name
        self._initializer = supplier.initializer
        self._aggregator = supplier.aggregator
        self._send_old_values = supplier.send_old_values

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._store = key_value_store(context, self._store_name)
        self._forwarder = timestamped_forwarder(self._context, self._store.store, self._send_old_values)

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        value = record.value
        if key is None or value is None:
            drop(self._context, "due to null key or value")
            return
        timestamp = record.timestamp
        old = self._store.get(key)
        if old is None:
            # Kafka sends this as the old value, too.
            aggregate = self._initializer()
        else:
            aggregate = old.value
            if old.timestamp > timestamp:
                timestamp = old.timestamp
        new = self._aggregator(key, value, aggregate)
        code = self._store.put(key, new, timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            self._forwarder.maybe_forward(key, new, aggregate, is_latest, timestamp, record.headers)
