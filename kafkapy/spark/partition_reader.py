"""Reads a task's ranges of offsets as Arrow batches, on an executor."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from kafkapy.spark.errors import DATA_LOSS_WARNING, DataLossError
from kafkapy.spark.kafka_params import COMMON, SECURITY, with_group
from kafkapy.spark.offset_ranges import OffsetRange, divide, share_tasks
from kafkapy.spark.worker import spare_collections

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.consumer.range_reader import OffsetRangeError, RangeConnections
    from kafkapy.spark.options import SourceOptions

_log = logging.getLogger("kafkapy.spark")


class KafkaInputPartition(InputPartition):
    """What one task reads."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(ranges)


def plan_tasks(ranges: Sequence[OffsetRange], options: SourceOptions) -> list[InputPartition]:
    """The tasks of a query that reads these ranges."""
    least, most = options.min_partitions, options.max_records_per_partition
    return [KafkaInputPartition(shared) for shared in share_tasks(divide(ranges, least, most), least, most)]


class PartitionReader:
    """Reads ranges under a query's options. Pickled into every task, so it holds nothing but settings."""

    def __init__(self, options: SourceOptions) -> None:
        self._params = with_group(options.kafka, options.group_id_prefix)
        self._include_headers = options.include_headers
        self._fail_on_data_loss = options.fail_on_data_loss
        self._poll_timeout_ms = options.poll_timeout_ms

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield batches in the schema of the source. An empty plan is one partition None.

        Raises `DataLossError` if offsets of the range are gone, unless they may be skipped.
        """
        from kafkapy.consumer.range_reader import RangeConnections

        ranges: tuple[OffsetRange, ...] = partition.value or ()
        with closing(RangeConnections()) as connections:
            batches = (batch for wanted in ranges for batch in self._range(wanted, connections))
            yield from batches if len(ranges) == 1 else _joined(batches)
        spare_collections()

    def _range(self, wanted: OffsetRange, connections: RangeConnections) -> Iterator[pa.RecordBatch]:
        from kafkapy.consumer.range_reader import OffsetRangeError

        while wanted.size > 0:
            try:
                yield from self._batches(wanted, connections)
                break
            except OffsetRangeError as error:
                wanted = self._after_loss(wanted, error)

    def _batches(self, wanted: OffsetRange, connections: RangeConnections) -> Iterator[pa.RecordBatch]:
        from kafkapy.consumer.range_reader import read_range

        params = self._params
        return read_range(
            {name.replace(".", "_"): params[name] for name in COMMON} | params[SECURITY],
            wanted.partition.topic,
            wanted.partition.partition,
            wanted.start,
            wanted.until,
            isolation_level=params["isolation.level"],
            include_headers=self._include_headers,
            timestamp_unit="us",
            check_crcs=params["check.crcs"],
            fetch_max_bytes=params["fetch.max.bytes"],
            max_partition_fetch_bytes=params["max.partition.fetch.bytes"],
            fetch_min_bytes=params["fetch.min.bytes"],
            fetch_max_wait_ms=params["fetch.max.wait.ms"],
            timeout_ms=self._poll_timeout_ms,
            connections=connections,
        )

    def _after_loss(self, wanted: OffsetRange, error: OffsetRangeError) -> OffsetRange:
        """What can still be read, after Spark's `getEarliestAvailableOffsetBetween`."""
        if self._fail_on_data_loss:
            raise DataLossError(
                f"Could not read records in offset [{error.offset}, {wanted.until}) for topic partition "
                f"{wanted.partition} with consumer group {self._params['group.id']}."
            ) from error
        start, until = error.offset, wanted.until
        if start >= error.log_end_offset or error.log_start_offset >= until:
            start = until
        else:  # a recreated topic may have reached the offset meanwhile: then it is tried again
            start = max(start, error.log_start_offset)
        _log.warning(
            "%s. Records in [%d, %d) will be skipped. %s", error.message, error.offset, start, DATA_LOSS_WARNING
        )
        return OffsetRange(wanted.partition, start, until)


_ENOUGH_ROWS = 10_000


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combine small batches, because the overhead of each in Spark equals hundreds of rows."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _ENOUGH_ROWS:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, rows = [], 0
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
