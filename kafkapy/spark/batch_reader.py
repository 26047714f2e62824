"""Reads batch queries: plans tasks from options and pushed filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from kafkapy.spark.offset_ranges import OffsetRange, ranges_of_batch
from kafkapy.spark.offset_reader import OffsetReader
from kafkapy.spark.options import SourceOptions
from kafkapy.spark.partition_reader import PartitionReader, plan_tasks
from kafkapy.spark.pushed_filters import PushedFilters
from kafkapy.spark.worker import spare_collections

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaBatchReader(DataSourceReader):
    """Resolves offsets on the driver when the query is planned; later records are not read."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._filters = PushedFilters()
        self._partition_reader = PartitionReader(options)
        self.pushFilters: Any = _PushFilters(self._filters)

    def partitions(self) -> Sequence[InputPartition]:
        reader = OffsetReader(self._options)
        try:
            ranges = self._narrow(self._ranges(reader), reader)
        finally:
            reader.close()
        spare_collections()
        return plan_tasks(ranges, self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._partition_reader.read(partition)

    def _ranges(self, reader: OffsetReader) -> list[OffsetRange]:
        start = reader.resolve(self._options.start, starting=True)
        end = reader.resolve(self._options.end, starting=False)
        return ranges_of_batch(start, end)

    def _narrow(self, ranges: list[OffsetRange], reader: OffsetReader) -> list[OffsetRange]:
        kept = [r for r in ranges if r.size > 0 and self._filters.keeps(r.partition)]
        timestamp = self._filters.first_timestamp_ms
        by_timestamp = {} if timestamp is None else reader.by_timestamp({r.partition: timestamp for r in kept})
        return [self._filters.narrow(r, by_timestamp) for r in kept]


class _PushFilters:
    """`DataSourceReader.pushFilters`, for Spark to call if `spark.sql.python.filterPushdown.enabled` is true.

    That is false by default, and Spark then refuses every reader whose class overrides the method: it looks whether
    `__func__` is the original. A reader that uses the filters if it gets them, and does without if it doesn't, passes.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, filters: PushedFilters) -> None:
        self._filters = filters

    def __call__(self, filters: Iterable[Filter]) -> list[Filter]:
        """The filters that Spark has to check itself."""
        return [pushed for pushed in filters if not self._filters.add(pushed)]
