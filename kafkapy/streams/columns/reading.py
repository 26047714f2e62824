"""Batches of the records that wait in a partition's queue."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from kafkapy.streams.columns.batch import ColumnBatch, batch_of
from kafkapy.streams.columns.column_types import column, column_type, decoded
from kafkapy.streams.records import Record
from kafkapy.streams.task.partition_group import ConsumedRecord, PartitionGroup, RecordQueue, StampedRecord

MAX_BATCH: Final = 16_384
"""The most records that are processed as one batch: what bounds its memory beside the queue's own."""


def next_as_read(group: PartitionGroup, until: int | None) -> tuple[ColumnBatch, RecordQueue, ConsumedRecord] | None:
    """Take out records of the only partition that has some, their columns read at once.

    Args:
        group: The partitions of a task.
        until: The record whose time reaches it is the last one; None: there is none.

    Returns:
        The batch, the queue and the last record; None if the records have to be taken by `PartitionGroup.next`.
    """
    queue = group.only_queue()
    if queue is None or queue.head is None or queue.head.corrupted or not queue.source.takes_columns():
        return None
    types = column_type(queue.source.key_deserializer), column_type(queue.source.value_deserializer)
    rest = queue.waiting(MAX_BATCH - 1, until)
    if types[0] is None or types[1] is None or not rest:
        return None
    keys = decoded(pa.array([record.key for record in rest], pa.binary()), types[0])
    values = decoded(pa.array([record.value for record in rest], pa.binary()), types[1])
    if keys is None or values is None:
        return None
    first = queue.head
    headers = [first.record.headers, *(record.headers for record in rest)]
    batch = ColumnBatch(
        pa.concat_arrays([column([first.record.key], types[0]), keys]),
        pa.concat_arrays([column([first.record.value], types[1]), values]),
        np.array([first.timestamp, *(record.timestamp for record in rest)], np.int64),
        np.array([first.record.offset, *(record.offset for record in rest)], np.int64),
        headers if any(headers) else None,
        first.record.topic,
        first.record.partition,
    )
    group.take(queue, len(rest))
    return batch, queue, rest[-1]


def next_in_order(group: PartitionGroup, first: StampedRecord, queue: RecordQueue, until: int | None) -> ColumnBatch:
    """A batch of a record that was taken out and of those after it, while they are the next of all partitions.

    Args:
        group: The partitions of a task.
        first: What `PartitionGroup.next` gave.
        queue: Where it comes from.
        until: As for `next_as_read`.
    """
    run = group.next_run(first, queue, MAX_BATCH, until)
    rows = [
        (Record(one.record.key, one.record.value, one.timestamp, one.record.headers), one.record.offset) for one in run
    ]
    source = queue.source
    types = column_type(source.key_deserializer), column_type(source.value_deserializer)
    return batch_of(rows, first.record.topic, first.record.partition, *types)
