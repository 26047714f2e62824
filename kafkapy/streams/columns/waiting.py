"""A partition's queued records as Arrow batches."""

from __future__ import annotations

from collections import deque

import pyarrow as pa

from kafkapy.streams.records import Headers
from kafkapy.streams.task.consumed_record import ConsumedRecord


class WaitingColumns:
    """Batches returned by `KafkaConsumer.poll_arrow`, and the number of consumed rows.

    Invariant: no batch is empty; the first `_taken` rows of the first one, but not all, are consumed; `_size` rows
    remain.
    """

    def __init__(self) -> None:
        self._batches: deque[pa.RecordBatch] = deque()
        self._taken = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, batch: pa.RecordBatch) -> None:
        """Append the records of a batch."""
        if batch.num_rows:
            self._batches.append(batch)
            self._size += batch.num_rows

    def first(self, limit: int) -> pa.RecordBatch:
        """Return the next rows, at most `limit` and all from one batch; there must be at least one."""
        return self._batches[0].slice(self._taken, limit)

    def take(self, count: int) -> None:
        """Remove rows that `first` returned."""
        self._taken += count
        self._size -= count
        if self._taken == self._batches[0].num_rows:
            self._batches.popleft()
            self._taken = 0

    def take_records(self, limit: int) -> list[ConsumedRecord]:
        """Remove the next rows, and return them as records."""
        batch = self.first(limit)
        self.take(batch.num_rows)
        return consumed_records(batch)

    def clear(self) -> None:
        self._batches.clear()
        self._taken = self._size = 0


def consumed_records(batch: pa.RecordBatch) -> list[ConsumedRecord]:
    """Convert a batch of `KafkaConsumer.poll_arrow` to records, with keys and values as bytes."""
    if not batch.num_rows:
        return []
    topic = batch.column("topic")[0].as_py()
    partition = batch.column("partition")[0].as_py()
    names = ("offset", "key", "value")
    offsets, keys, values = (batch.column(name).to_pylist() for name in names)
    timestamps = batch.column("timestamp").cast(pa.int64()).to_pylist()
    headers = row_headers(batch) or [[] for _ in offsets]
    rows = zip(offsets, timestamps, keys, values, headers, strict=True)
    return [ConsumedRecord(topic, partition, *row) for row in rows]


def row_headers(batch: pa.RecordBatch) -> list[Headers] | None:
    """The headers of each row; None: no row has any."""
    column = batch.column("headers")
    if column.null_count == len(column):
        return None
    return [[(header["key"], header["value"]) for header in row or ()] for row in column.to_pylist()]
