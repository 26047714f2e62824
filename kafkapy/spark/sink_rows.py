"""Sends a task's rows (Arrow batches) with a producer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kafkapy.spark.errors import SinkError

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.producer.kafka_producer import KafkaProducer

RECORD_COLUMNS = ("key", "value", "headers", "partition")


def send_rows(producer: KafkaProducer[Any, Any], batches: Iterator[pa.RecordBatch], topic: str | None) -> None:
    """Send all rows and wait for their acknowledgement. `topic` None: each row has its topic. Raises the first
    record's error."""
    under_way: deque[Any] = deque()
    for batch in batches:
        under_way += [producer.send_arrow(name, part) for name, part in parts(batch, topic)]
        while under_way and under_way[0].is_done:
            under_way.popleft().get()
    producer.flush()
    for future in under_way:
        future.get()


def parts(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Split rows by topic, and by whether they have a partition, in order; other columns are dropped."""
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
    """Split rows by whether they have a partition; without one, the producer's partitioner chooses it."""
    import numpy as np

    if "partition" not in batch.schema.names or batch.column("partition").null_count == 0:
        yield batch
        return
    missing = batch.column("partition").is_null().to_numpy(zero_copy_only=False)
    edges = [0, *(np.flatnonzero(np.diff(missing)) + 1).tolist(), batch.num_rows]
    for start, end in pairwise(edges):
        rows = batch.slice(start, end - start)
        yield rows.drop_columns("partition") if missing[start] else rows
