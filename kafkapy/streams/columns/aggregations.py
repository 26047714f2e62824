"""`count` and `reduce` of a stream in columns, grouped by its key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkapy.streams.columns.batch import ColumnBatch
from kafkapy.streams.columns.cached_aggregates import CachedAggregates, cached_aggregates, contexts_of
from kafkapy.streams.columns.errors import NotInColumns
from kafkapy.streams.columns.folds import Aggregated, Fold, Reduced, counted
from kafkapy.streams.columns.groups import RowGroups
from kafkapy.streams.processor import Processor, ProcessorContext
from kafkapy.streams.processors.aggregations import Initializer
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.kstream_aggregate import KStreamAggregate, KStreamAggregateProcessor
from kafkapy.streams.processors.kstream_reduce import KStreamReduce, KStreamReduceProcessor


class KStreamCountInColumns(KStreamAggregate):
    """`KGroupedStream.count` of a stream in columns."""

    def __call__(self) -> Processor:
        return KStreamCountInColumnsProcessor(self)


class KStreamCountInColumnsProcessor(KStreamAggregateProcessor):
    """Counts the rows of a batch; single records are counted as in a stream of records."""

    cached: CachedAggregates | None = None

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.cached = cached_aggregates(self._store.store, context)

    def process_batch(self, batch: ColumnBatch) -> None:
        aggregate_batch(self, batch, counted, self._initializer)


class KStreamAggregateInColumns(KStreamAggregate):
    """`KGroupedStream.aggregate` of a stream in columns."""

    def __call__(self) -> Processor:
        return KStreamAggregateInColumnsProcessor(self)


class KStreamAggregateInColumnsProcessor(KStreamAggregateProcessor):
    """Reads and writes each key of a batch once; the aggregator is called for each row."""

    cached: CachedAggregates | None = None

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.cached = cached_aggregates(self._store.store, context)

    def __init__(self, supplier: KStreamAggregateInColumns) -> None:
        super().__init__(supplier)
        self._fold = Aggregated(supplier.aggregator)

    def process_batch(self, batch: ColumnBatch) -> None:
        aggregate_batch(self, batch, self._fold, self._initializer)


class KStreamReduceInColumns(KStreamReduce):
    """`KGroupedStream.reduce` of a stream in columns."""

    def __call__(self) -> Processor:
        return KStreamReduceInColumnsProcessor(self)


class KStreamReduceInColumnsProcessor(KStreamReduceProcessor):
    """Reduces the rows of a batch; single records are reduced as in a stream of records."""

    cached: CachedAggregates | None = None

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.cached = cached_aggregates(self._store.store, context)

    def __init__(self, supplier: KStreamReduceInColumns) -> None:
        super().__init__(supplier)
        self._fold = Reduced(supplier.reducer)

    def process_batch(self, batch: ColumnBatch) -> None:
        aggregate_batch(self, batch, self._fold, _nothing)


def aggregate_batch(processor: Any, batch: ColumnBatch, fold: Fold, initial: Initializer) -> None:
    """Add the rows of a batch to the aggregates of their keys: one read, one write and one update for each key.

    Updates are in the order of the keys' last rows, as from a record cache. All results are computed before the first
    is stored.

    Args:
        processor: A `KStreamAggregateProcessor` or `KStreamReduceProcessor`.
        batch: The rows.
        fold: Computes the aggregates.
        initial: Returns the aggregate of a new key, which is also the old value of its update.

    Raises:
        NotInColumns: The rows have to be processed one by one.
    """
    context = processor._context
    store = processor._store
    if store.is_versioned():
        raise NotInColumns("versioned stores keep each version")
    rows = _usable_rows(batch)
    if not len(rows):
        _drop_others(context, batch, rows)
        return
    groups = RowGroups(batch.key.take(rows))
    if processor.cached is not None:
        _aggregate_cached(processor.cached, groups, batch, rows, fold, initial)
        _drop_others(context, batch, rows)
        return
    stored = [store.get(key) for key in groups.keys]
    olds = [initial() if old is None else old.value for old in stored]
    try:
        news = fold(groups, batch.value.take(rows), olds)
    except Exception as error:
        raise NotInColumns from error
    _drop_others(context, batch, rows)
    numbers = rows.to_numpy()
    latest = groups.latest(batch.timestamps[numbers]).tolist()
    for group in groups.order.tolist():
        old = stored[group]
        timestamp = latest[group] if old is None else max(latest[group], old.timestamp)
        origin = batch.context_of(int(numbers[groups.last[group]]))
        context.record_context = origin
        key = groups.keys[group]
        store.put(key, news[group], timestamp)
        processor._forwarder.maybe_forward(key, news[group], olds[group], True, timestamp, origin.headers)


def _aggregate_cached(
    cached: CachedAggregates, groups: RowGroups, batch: ColumnBatch, rows: pa.Array, fold: Fold, initial: Initializer
) -> None:
    """Like `aggregate_batch`, for aggregates in a record cache, which forwards them later."""
    numbers, order = rows.to_numpy(), groups.order
    in_order = order.tolist()
    try:
        stored = cached.get(groups.keys)
    except pa.ArrowException as error:
        raise NotInColumns from error
    olds = [initial() if old is None else old for old in stored.values]
    timestamps = np.maximum(groups.latest(batch.timestamps[numbers]), stored.timestamps)[order]
    try:
        news = fold(groups, batch.value.take(rows), olds)
        raw_values = cached.raw_values([news[group] for group in in_order], timestamps)
    except Exception as error:
        raise NotInColumns from error
    raw_keys = [stored.raw_keys[group] for group in in_order]
    cached.put(raw_keys, raw_values, contexts_of(batch, numbers[groups.last[order]]))


def _nothing() -> None:
    return None


def _usable_rows(batch: ColumnBatch) -> pa.Array:
    """Return the indices of the rows with a key and a value."""
    return pc.indices_nonzero(pc.and_(batch.key.is_valid(), batch.value.is_valid()))


def _drop_others(context: Any, batch: ColumnBatch, rows: pa.Array) -> None:
    """Count the dropped rows."""
    if len(rows) == len(batch):
        return
    kept = set(rows.to_pylist())
    for row in range(len(batch)):
        if row not in kept:
            context.record_context = batch.context_of(row)
            drop(context, "due to null key or value")
