"""`KStream.map_batches`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from kafkapy.streams.columns.batch import ColumnBatch, batch_of
from kafkapy.streams.columns.column_types import column_type
from kafkapy.streams.columns.errors import NotInColumns
from kafkapy.streams.processor import Processor
from kafkapy.streams.records import Record

if TYPE_CHECKING:
    from kafkapy.streams.task.task_context import NodeContext

BatchMapper = Callable[[pa.RecordBatch], pa.RecordBatch]


class KStreamMapBatches:
    """Supplies the processors.

    Args:
        mapper: Takes a batch, returns another.
        key_serde: Serde of the input keys, if known; it determines the type of the column even for a single record.
        value_serde: Serde of the input values, if known.
    """

    def __init__(self, mapper: BatchMapper, key_serde: Any, value_serde: Any) -> None:
        self._mapper = mapper
        self._types = column_type(key_serde), column_type(value_serde)

    def __call__(self) -> Processor:
        return KStreamMapBatchesProcessor(self._mapper, *self._types)


class KStreamMapBatchesProcessor(Processor):
    """Replaces a batch by a function's result; a single record is a batch of one row.

    If the function fails for several rows, it is called for each row alone, so that the processing exception handler
    is called only for the records that fail.
    """

    def __init__(self, mapper: BatchMapper, key_type: pa.DataType | None, value_type: pa.DataType | None) -> None:
        self._mapper = mapper
        self._key_type = key_type
        self._value_type = value_type

    def process(self, record: Record[Any, Any]) -> None:
        context = cast("NodeContext", self.context)
        origin = context.record_context
        assert origin is not None
        batch = batch_of([(record, origin.offset)], origin.topic, origin.partition, self._key_type, self._value_type)
        mapped = batch.with_result(self._mapper(batch.to_arrow()))
        if mapped is not None:
            context.forward_batch(mapped)

    def process_batch(self, batch: ColumnBatch) -> None:
        self._key_type = batch.key.type
        self._value_type = batch.value.type
        try:
            mapped = batch.with_result(self._mapper(batch.to_arrow()))
        except Exception as error:
            raise NotInColumns from error
        if mapped is not None:
            cast("NodeContext", self.context).forward_batch(mapped)
