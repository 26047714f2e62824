"""The executor's half: a task reads its ranges of offsets as Arrow batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from kafkapy.spark.errors import DATA_LOSS_WARNING, DataLossError
from kafkapy.spark.kafka_params import COMMON, SECURITY, with_group
from kafkapy.spark.offset_ranges import OffsetRange, divide, share_tasks
from kafkapy.spark.worker import spare_collections

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.consumer.range_reader import OffsetRangeError
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
        """Batches in the schema of the source. An empty plan comes as one partition of None.

        Raises `DataLossError` if offsets of the range are gone, unless they may be passed over.
        """
        for wanted in partition.value or ():
            yield from self._range(wanted)
        spare_collections()

    def _range(self, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
        from kafkapy.consumer.range_reader import OffsetRangeError

        while wanted.size > 0:
            try:
                yield from self._batches(wanted)
                break
            except OffsetRangeError as error:
                wanted = self._after_loss(wanted, error)

    def _batches(self, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
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
        else:  # a topic that was made anew may have reached the offset meanwhile: then it is tried again
            start = max(start, error.log_start_offset)
        _log.warning(
            "%s. Records in [%d, %d) will be skipped. %s", error.message, error.offset, start, DATA_LOSS_WARNING
        )
        return OffsetRange(wanted.partition, start, until)
