"""Builds batches of the records in a partition's queue."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkapy.streams.columns.batch import ColumnBatch, Numbers, batch_of
from kafkapy.streams.columns.column_types import column, column_type, decoded
from kafkapy.streams.columns.waiting import row_headers
from kafkapy.streams.records import Record
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.task.partition_group import PartitionGroup, RecordQueue, StampedRecord

MAX_BATCH: Final = 16_384
"""Limit of records in a batch, which bounds its memory in addition to the queue's."""


def next_as_read(group: PartitionGroup, until: int | None) -> tuple[ColumnBatch, RecordQueue, ConsumedRecord] | None:
    """Remove records of the only partition that has any, and deserialize them by columns.

    Args:
        group: The partitions of a task.
        until: The first record with this or a later timestamp is the last one; None: no limit.

    Returns:
        The batch, the queue and the last record; None if the records have to be removed by `PartitionGroup.next`.
    """
    queue = group.only_queue()
    if queue is None or queue.head is None or queue.head.corrupted or not queue.source.takes_columns():
        return None
    types = column_type(queue.source.key_deserializer), column_type(queue.source.value_deserializer)
    if types[0] is None or types[1] is None:
        return None
    columns = queue.waiting_columns(MAX_BATCH - 1)
    if columns is not None:
        return _next_columns(group, queue, queue.head, _Types(*types), columns, until)
    rest = queue.waiting(MAX_BATCH - 1, until)
    if not rest:
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
    group.take(queue, lambda: queue.take(len(rest)))
    return batch, queue, rest[-1]


class _Types(NamedTuple):
    key: pa.DataType
    value: pa.DataType


def _next_columns(
    group: PartitionGroup,
    queue: RecordQueue,
    first: StampedRecord,
    types: _Types,
    columns: pa.RecordBatch,
    until: int | None,
) -> tuple[ColumnBatch, RecordQueue, ConsumedRecord] | None:
    """Return the head and deserialized columns; None if records have to be removed one by one."""
    times = columns.column("timestamp").cast(pa.int64()).to_numpy(zero_copy_only=False)
    count = _usable(first, times, until)
    columns, times = columns.slice(0, count), times[:count]
    keys, values = decoded(columns.column("key"), types.key), decoded(columns.column("value"), types.value)
    if not count or keys is None or values is None:
        return None
    record = first.record
    headers = row_headers(columns)
    if headers is not None or record.headers:
        headers = [record.headers, *(headers or [[] for _ in range(count)])]
    batch = ColumnBatch(
        pa.concat_arrays([column([record.key], types.key), keys]),
        pa.concat_arrays([column([record.value], types.value), values]),
        np.concatenate([[first.timestamp], times]),
        np.concatenate([[record.offset], columns.column("offset").to_numpy()]),
        headers,
        record.topic,
        record.partition,
    )
    last = ConsumedRecord(
        record.topic, record.partition, int(batch.offsets[-1]), int(times[-1]), None, None, batch.headers_of(count)
    )
    group.take(queue, lambda: queue.take_columns(count, int(times.max())))
    return batch, queue, last


def _usable(first: StampedRecord, times: Numbers, until: int | None) -> int:
    """Return how many rows may follow the head: up to a row without a timestamp, or the first one that reaches
    `until`."""
    if until is not None and first.timestamp >= until:
        return 0
    count = len(times)
    missing = times < 0
    if missing.any():
        count = int(missing.argmax())
    if until is not None:
        reached = times[:count] >= until
        if reached.any():
            count = int(reached.argmax()) + 1
    return count


def next_in_order(group: PartitionGroup, first: StampedRecord, queue: RecordQueue, until: int | None) -> ColumnBatch:
    """Return a batch of a removed record and of those after it, while they are the next ones of all partitions.

    Args:
        group: The partitions of a task.
        first: The record returned by `PartitionGroup.next`.
        queue: Its queue.
        until: See `next_as_read`.
    """
    run = group.next_run(first, queue, MAX_BATCH, until)
    rows = [
        (Record(one.record.key, one.record.value, one.timestamp, one.record.headers), one.record.offset) for one in run
    ]
    source = queue.source
    types = column_type(source.key_deserializer), column_type(source.value_deserializer)
    return batch_of(rows, first.record.topic, first.record.partition, *types)
