"""`count` and `reduce` of a stream in columns over tumbling and hopping windows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkapy.streams.columns.batch import ColumnBatch, Numbers
from kafkapy.streams.columns.errors import NotInColumns
from kafkapy.streams.columns.folds import Fold
from kafkapy.streams.columns.groups import RowGroups
from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import Aggregator, Initializer
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.kstream_window_aggregate import KStreamWindowAggregate, KStreamWindowAggregateProcessor
from kafkapy.streams.processors.values import timestamped
from kafkapy.streams.records import TimeWindow, Windowed
from kafkapy.streams.windows import TimeWindows, Windows

_MAX_PAIRS_PER_ROW: Final = 16
"""Limit of windows of a row for processing as columns."""


class KStreamWindowAggregateInColumns(KStreamWindowAggregate):
    """Aggregates batches; `fold` gives the same results as initializer and aggregator one by one."""

    def __init__(
        self,
        windows: Windows,
        store_name: str,
        emit_strategy: EmitStrategy,
        initializer: Initializer,
        aggregator: Aggregator,
        fold: Fold,
        takes_null_values: bool,
    ) -> None:
        super().__init__(windows, store_name, emit_strategy, initializer, aggregator)
        self.fold = fold
        self.takes_null_values = takes_null_values

    def __call__(self) -> Processor:
        return KStreamWindowAggregateInColumnsProcessor(self)


class KStreamWindowAggregateInColumnsProcessor(KStreamWindowAggregateProcessor):
    """Reads and writes each window of a batch once; all results are computed before the first is stored."""

    def __init__(self, supplier: KStreamWindowAggregateInColumns) -> None:
        super().__init__(supplier)
        self._fold = supplier.fold
        self._takes_null_values = supplier.takes_null_values

    def process_batch(self, batch: ColumnBatch) -> None:
        if self._on_window_close or not isinstance(self._windows, TimeWindows):
            raise NotInColumns("only updates of windows of one size")
        if batch.value.null_count and not self._takes_null_values:
            raise NotInColumns("null values")
        has_key = batch.key.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(has_key)
        pairs = _Pairs(self._windows, batch.timestamps[rows], self._observed_stream_time, rows)
        self._update(batch, pairs)
        for row in np.flatnonzero(~has_key).tolist():
            self._context.record_context = batch.context_of(row)
            drop(self._context, "due to null key")

    def _update(self, batch: ColumnBatch, pairs: _Pairs) -> None:
        groups, starts = pairs.groups(batch.key) if len(pairs.rows) else (None, [])
        keys = [] if groups is None else groups.keys
        found = [self._store.fetch(key, start) for key, start in zip(keys, starts, strict=True)]
        olds = [self._initializer() if one is None else one.value for one in found]
        news: list[Any] = []
        if groups is not None:
            try:
                news = self._fold(groups, batch.value.take(pa.array(pairs.rows)), olds)
            except Exception as error:
                raise NotInColumns from error
        if any(new is None for new in news):
            raise NotInColumns("a window is deleted")
        context = self._context
        self._observed_stream_time = pairs.stream_time
        for row, start, close_time in pairs.expired:
            context.record_context = batch.context_of(row)
            window = TimeWindow(start, start + self._windows.size_ms)
            self._drop_expired(int(batch.timestamps[row]), window, close_time)
        if groups is None:
            return
        latest = groups.latest(batch.timestamps[pairs.rows]).tolist()
        size = self._windows.size_ms
        for group in groups.order.tolist():
            old = found[group]
            timestamp = latest[group] if old is None else max(latest[group], old.timestamp)
            origin = context.record_context = batch.context_of(int(pairs.rows[groups.last[group]]))
            start, new = starts[group], news[group]
            self._store.put(keys[group], timestamped(new, timestamp), start)
            window = TimeWindow(start, start + size)
            key = Windowed(keys[group], window)
            self._forwarder.maybe_forward(key, new, olds[group], True, timestamp, origin.headers)


class _Pairs:
    """Pairs of a row and a window that it updates, in the order of rows and then of windows.

    Attributes:
        rows: The row of each pair.
        starts: The start of the window of each pair.
        expired: Row, start and close time of each window that was closed at the row's time.
        stream_time: The highest timestamp of a row.
    """

    def __init__(self, windows: TimeWindows, timestamps: Numbers, observed: int, rows: Numbers) -> None:
        size, advance = windows.size, windows.advance
        width = -(-size // advance)
        if width > _MAX_PAIRS_PER_ROW:
            raise NotInColumns(f"{width} windows for each row")
        first = np.maximum(0, timestamps - size + advance) // advance * advance
        starts = first[:, None] + np.arange(width, dtype=np.int64) * advance
        stream_times = np.maximum(np.maximum.accumulate(timestamps), observed) if len(rows) else timestamps
        close_times = stream_times - windows.grace_period_ms
        is_window = starts <= timestamps[:, None]
        is_expired = is_window & (starts + size <= close_times[:, None])
        self.stream_time = int(stream_times[-1]) if len(rows) else observed
        kept, columns = np.nonzero(is_window & ~is_expired)
        self.rows: Numbers = rows[kept]
        self.starts: Numbers = starts[kept, columns]
        self.expired = [
            (int(rows[at]), int(starts[at, column]), int(close_times[at]))
            for at, column in zip(*np.nonzero(is_expired), strict=True)
        ]

    def groups(self, key: pa.Array) -> tuple[RowGroups, list[int]]:
        """Group the pairs by key and window; return the groups and the start of each one's window."""
        by_key = RowGroups(key.take(pa.array(self.rows)))
        least = int(self.starts.min())
        span = int(self.starts.max()) - least + 1
        if span * len(by_key.keys) >= 2**62:
            raise NotInColumns("windows that are far apart")
        found, codes = np.unique(by_key.codes * span + (self.starts - least), return_inverse=True)
        keys = [by_key.keys[code] for code in (found // span).tolist()]
        return by_key.split(keys, codes.astype(np.int64).reshape(-1)), (found % span + least).tolist()
