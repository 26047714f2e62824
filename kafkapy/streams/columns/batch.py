"""Records of one partition as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkapy.streams.columns.column_types import column
from kafkapy.streams.records import Headers, Record, RecordContext

Numbers = npt.NDArray[np.int64]

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBatch:
    """Records of a partition, in their order.

    Invariant: all columns have the same length, which is at least 1.

    Attributes:
        key: Keys.
        value: Values.
        timestamps: ms since the epoch; none is negative.
        offsets: Offsets of the rows' records.
        headers: Headers of each row; None: no row has any.
        topic: Topic of the records.
        partition: Partition of the records.
    """

    key: pa.Array
    value: pa.Array
    timestamps: Numbers
    offsets: Numbers
    headers: Sequence[Headers] | None
    topic: str | None
    partition: int

    def __len__(self) -> int:
        return len(self.timestamps)

    def take(self, rows: Numbers) -> ColumnBatch:
        """Return a batch of some of the rows."""
        if len(rows) == len(self):
            return self
        numbers = pa.array(rows)
        return replace(
            self,
            key=self.key.take(numbers),
            value=self.value.take(numbers),
            timestamps=self.timestamps[rows],
            offsets=self.offsets[rows],
            headers=None if self.headers is None else [self.headers[row] for row in rows.tolist()],
        )

    def headers_of(self, row: int) -> Headers:
        return [] if self.headers is None else self.headers[row]

    def context_of(self, row: int) -> RecordContext:
        """Return the record context of a row."""
        return RecordContext(
            int(self.timestamps[row]), int(self.offsets[row]), self.partition, self.topic, self.headers_of(row)
        )

    def records(self) -> Iterator[tuple[Record[Any, Any], RecordContext]]:
        """Iterate over the rows as records with their contexts."""
        rows = zip(self.key.to_pylist(), self.value.to_pylist(), strict=True)
        for row, (key, value) in enumerate(rows):
            context = self.context_of(row)
            yield Record(key, value, context.timestamp, context.headers), context

    def to_arrow(self) -> pa.RecordBatch:
        """Convert to the argument of a function of batches: columns `key`, `value`, `timestamp` (int64, ms) and
        `headers`."""
        headers: list[Any] = [[]] * len(self)
        if self.headers is not None:
            headers = [[{"key": name, "value": value} for name, value in row] for row in self.headers]
        columns = [self.key, self.value, pa.array(self.timestamps), pa.array(headers, _HEADERS)]
        return pa.RecordBatch.from_arrays(columns, ["key", "value", "timestamp", "headers"])

    def with_result(self, result: Any) -> ColumnBatch | None:
        """Return a batch with the result of a function of batches.

        Args:
            result: A record batch. Missing columns `key` or `timestamp` are taken from this batch, if the number of
                rows is equal.

        Returns:
            None if there are no rows.

        Raises:
            TypeError: The result is not a record batch.
            ValueError: A required column is missing, or a timestamp is missing or negative.
        """
        if not isinstance(result, pa.RecordBatch):
            raise TypeError(f"map_batches: a pyarrow.RecordBatch is expected, not {type(result).__name__}")
        names = set(result.schema.names)
        rows = result.num_rows
        same_rows = rows == len(self)
        missing = {"value"} - names if same_rows else {"key", "value", "timestamp"} - names
        if missing:
            raise ValueError(f"map_batches: {rows} rows for {len(self)} without the columns {sorted(missing)}")
        if not rows:
            return None
        timestamps = _timestamps(result.column("timestamp")) if "timestamp" in names else self.timestamps
        headers = self.headers if same_rows else None
        if "headers" in names and (self.headers is not None or _has_headers(result.column("headers"))):
            headers = _headers(result.column("headers"))
        return replace(
            self,
            key=result.column("key") if "key" in names else self.key,
            value=result.column("value"),
            timestamps=timestamps,
            offsets=self.offsets if same_rows else np.full(rows, self.offsets[-1]),
            headers=headers,
        )


def batch_of(
    rows: Sequence[tuple[Record[Any, Any], int]],
    topic: str | None,
    partition: int,
    key_type: pa.DataType | None = None,
    value_type: pa.DataType | None = None,
) -> ColumnBatch:
    """Create a batch of records.

    Args:
        rows: Records with their offsets; at least one.
        topic: Topic of the records.
        partition: Partition of the records.
        key_type: Arrow type of the keys; None: inferred.
        value_type: Arrow type of the values; None: inferred.

    Raises:
        pyarrow.ArrowException: Keys or values have no common Arrow type.
    """
    records = [record for record, _ in rows]
    headers = [record.headers for record in records]
    return ColumnBatch(
        column([record.key for record in records], key_type),
        column([record.value for record in records], value_type),
        np.array([record.timestamp for record in records], np.int64),
        np.array([offset for _, offset in rows], np.int64),
        headers if any(headers) else None,
        topic,
        partition,
    )


def _timestamps(times: pa.Array) -> Numbers:
    if times.null_count or (len(times) and min(times.cast(pa.int64()).to_pylist()) < 0):
        raise ValueError("map_batches: a timestamp is missing or negative")
    numbers: Numbers = times.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _has_headers(headers: pa.Array) -> bool:
    return any(headers.to_pylist())


def _headers(headers: pa.Array) -> list[Headers]:
    return [[(header["key"], header["value"]) for header in row or ()] for row in headers.to_pylist()]
