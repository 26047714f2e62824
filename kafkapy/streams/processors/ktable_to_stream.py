"""`KTable.to_stream`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.streams.processor import Processor
from kafkapy.streams.records import Change, Record

if TYPE_CHECKING:
    from kafkapy.streams.columns.batch import ColumnBatch


class KTableToStream:
    """Supplies processors that forward new values; deletions are records with a null value."""

    def __call__(self) -> Processor:
        return KTableToStreamProcessor()


class KTableToStreamProcessor(Processor):
    """Forwards the new value of each update."""

    def process(self, record: Record[Any, Change]) -> None:
        self.context.forward(Record(record.key, record.value.new_value, record.timestamp, record.headers))

    def process_batch(self, batch: ColumnBatch) -> None:
        """Forward the new values of updates."""
        context: Any = self.context
        context.forward_batch(batch)
