"""The sink: rows, as Arrow batches, through a producer. At least once: a task that is run again writes again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from kafkapy.spark.errors import SinkError
from kafkapy.spark.kafka_params import SECURITY, KafkaParams
from kafkapy.spark.options import SinkOptions
from kafkapy.spark.worker import spare_collections

if TYPE_CHECKING:
    import pyarrow as pa

RECORD_COLUMNS = ("key", "value", "headers", "partition")


class KafkaBatchWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_task(iterator, self._options)


class KafkaStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_task(iterator, self._options)


def write_task(batches: Iterator[pa.RecordBatch], options: SinkOptions) -> WriterCommitMessage:
    """Sends all rows of a task and waits until brokers have them. Raises what the first failed record failed with."""
    from kafkapy.producer.kafka_producer import KafkaProducer

    with KafkaProducer(**producer_configs(options.kafka)) as producer:
        under_way: deque[Any] = deque()
        for batch in batches:
            under_way += [producer.send_arrow(topic, part) for topic, part in parts(batch, options.topic)]
            while under_way and under_way[0].is_done:
                under_way.popleft().get()
        producer.flush()
        for future in under_way:
            future.get()
    spare_collections()
    return WriterCommitMessage()


def producer_configs(params: KafkaParams) -> dict[str, Any]:
    """Kafka's configs as arguments of `KafkaProducer`, whose own defaults stand for what was not given."""
    given = {name: value for name, value in params.items() if value is not None and name != SECURITY}
    configs: dict[str, Any] = {name.replace(".", "_"): value for name, value in given.items()} | params[SECURITY]
    if configs.get("acks") in (0, 1):
        configs.setdefault("enable_idempotence", False)  # KIP-679: the one goes without the other
    return configs


def parts(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows by topic, the columns of a record alone; rows with and without a partition apart, in their order."""
    for name, rows in _by_topic(batch, topic):
        columns = [column for column in RECORD_COLUMNS if column in rows.schema.names]
        for part in _by_presence_of_partition(rows.select(columns)):
            yield name, part


def _by_topic(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    import pyarrow.compute as pc

    if topic is not None:
        yield topic, batch
        return
    column = batch.column("topic")
    if column.null_count:
        raise SinkError(
            "The Kafka message data sent to the producer contains a null topic. "
            "Use the `topic` option for setting a default topic."
        )
    names = column.unique().to_pylist()
    for name in names:
        yield name, batch if len(names) == 1 else batch.filter(pc.equal(column, name))


def _by_presence_of_partition(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A record whose partition is null goes where the producer's partitioner sends it."""
    import numpy as np

    if "partition" not in batch.schema.names or batch.column("partition").null_count == 0:
        yield batch
        return
    missing = batch.column("partition").is_null().to_numpy(zero_copy_only=False)
    edges = [0, *(np.flatnonzero(np.diff(missing)) + 1).tolist(), batch.num_rows]
    for start, end in pairwise(edges):
        rows = batch.slice(start, end - start)
        yield rows.drop_columns("partition") if missing[start] else rows
