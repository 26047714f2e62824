"""The sink's interface for Spark: at least once (a repeated task writes again), or exactly once
(`exactly_once.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from kafkapy.spark.exactly_once import abort, commit, new_write, write_transaction
from kafkapy.spark.kafka_params import producer_configs
from kafkapy.spark.options import SinkOptions
from kafkapy.spark.sink_rows import send_rows
from kafkapy.spark.worker import spare_collections

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaBatchWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._write = new_write()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_task(iterator, self._options, self._write)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._options.exactly_once is not None:
            commit(messages, self._options)
        spare_collections()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._options.exactly_once is not None:
            abort(messages, self._options)


class KafkaStreamWriter(DataSourceStreamArrowWriter):
    """Spark creates one for each batch's tasks, and others to commit and abort."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._write = new_write()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_task(iterator, self._options, self._write)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        if self._options.exactly_once is not None:
            commit(messages, self._options)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        if self._options.exactly_once is not None:
            abort(messages, self._options)


def write_task(batches: Iterator[pa.RecordBatch], options: SinkOptions, write: str = "") -> WriterCommitMessage:
    """Send all rows of a task and wait for their acknowledgement. Raises the first failed record's error."""
    if options.exactly_once is not None:
        message: WriterCommitMessage = write_transaction(batches, options, write)
    else:
        from kafkapy.spark.producers import kept_producer

        with kept_producer(producer_configs(options.kafka), options.topic) as producer:
            send_rows(producer, batches, options.topic)
        message = WriterCommitMessage()
    spare_collections()
    return message
