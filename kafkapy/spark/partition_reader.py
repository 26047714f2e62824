"""The executor's half: one task reads one range of offsets as Arrow batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.spark.errors import DataLossError
from kafkapy.spark.kafka_params import with_group
from kafkapy.spark.offset_ranges import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.spark.options import SourceOptions

_log = logging.getLogger("kafkapy.spark")


class KafkaInputPartition(InputPartition):
    """What one task reads."""

    def __init__(self, offsets: OffsetRange) -> None:
        super().__init__(offsets)


class PartitionReader:
    """Reads ranges under a query's options. Pickled into every task, so it holds nothing but settings."""

    def __init__(self, options: SourceOptions) -> None:
        self._params = with_group(options.kafka, options.group_id_prefix)
        self._include_headers = options.include_headers
        self._fail_on_data_loss = options.fail_on_data_loss
        self._poll_timeout_ms = options.poll_timeout_ms

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches in `source_arrow_schema`. An empty plan comes as one partition of None.

        Raises `DataLossError` if offsets of the range are gone, unless they may be passed over.
        """
        if partition.value is None:
            return
        wanted: OffsetRange = partition.value
        start = wanted.start
        while start < wanted.until:
            try:
                for batch in self._batches(OffsetRange(wanted.partition, start, wanted.until)):
                    yield batch
                    start = batch.column("offset")[-1].as_py() + 1
                return
            except KafkaError as error:
                if error.error is not Errors.OFFSET_OUT_OF_RANGE:
                    raise
                start = self._after_loss(OffsetRange(wanted.partition, start, wanted.until), error)
