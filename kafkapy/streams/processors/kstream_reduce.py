"""`KGroupedStream.reduce`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import KStreamAggProcessorSupplier, Reducer
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


class KStreamReduce(KStreamAggProcessorSupplier):
    """Combines each value of a stream with its key's previous result; a key's first value is its first result."""

    def __init__(self, store_name: str, reducer: Reducer) -> None:
        super().__init__(store_name)
        self.reducer = reducer

    def __call__(self) -> Processor:
        return KStreamReduceProcessor(self)


class KStreamReduceProcessor(Processor):
    """Drops records with a null key or value."""

    _context: TaskContext
    _store: KeyValueStoreWrapper
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KStreamReduce) -> None:
        self._store_name = supplier.store_name
        self._reducer = supplier.reducer
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
            old_value = None
            new = value
        else:
            old_value = old.value
            new = self._reducer(old_value, value)
            if old.timestamp > timestamp:
                timestamp = old.timestamp
        code = self._store.put(key, new, timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            self._forwarder.maybe_forward(key, new, old_value, is_latest, timestamp, record.headers)
