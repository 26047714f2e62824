"""Stores the records of one side of a stream-stream join."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.processor import Processor, ProcessorContext
from kafkapy.streams.records import Record


class KStreamJoinWindow:
    """Supplies processors that put records into the window store of their side.

    Args:
        window_name: Name of the store.
    """

    def __init__(self, window_name: str) -> None:
        self._window_name = window_name

    def __call__(self) -> Processor:
        return KStreamJoinWindowProcessor(self._window_name)


class KStreamJoinWindowProcessor(Processor):
    """Forwards a record before it is stored, so that it is not joined with itself."""

    _store: Any

    def __init__(self, window_name: str) -> None:
        self._window_name = window_name

    def init(self, context: ProcessorContext) -> None:
        self.context = context
        self._store = context.get_state_store(self._window_name)

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)
        if record.key is not None:
            self._store.put(record.key, record.value, record.timestamp)
