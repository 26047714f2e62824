"""Suppliers of aggregations on columns, in place of those on records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkapy.streams.processors.aggregations import KStreamAggProcessorSupplier
from kafkapy.streams.windows import TimeWindows

if TYPE_CHECKING:
    from kafkapy.streams.columns.folds import Fold
    from kafkapy.streams.options.emit_strategy import EmitStrategy


def count_in_columns(
    windows: Any, emit: EmitStrategy, store_name: str, initializer: Callable[[], Any], aggregator: Callable[..., Any]
) -> KStreamAggProcessorSupplier | None:
    """Return the supplier of `count`; None: such windows are processed by record."""
    from kafkapy.streams.columns.aggregations import KStreamCountInColumns
    from kafkapy.streams.columns.folds import counted

    if windows is None:
        return KStreamCountInColumns(store_name, initializer, aggregator)
    return _windowed(windows, emit, store_name, initializer, aggregator, counted, takes_null_values=True)


def reduce_in_columns(
    windows: Any,
    emit: EmitStrategy,
    store_name: str,
    reducer: Callable[[Any, Any], Any],
    initializer: Callable[[], Any],
    aggregator: Callable[..., Any],
) -> KStreamAggProcessorSupplier | None:
    """Return the supplier of `reduce`; `initializer` and `aggregator` are its equivalents in windows."""
    from kafkapy.streams.columns.aggregations import KStreamReduceInColumns
    from kafkapy.streams.columns.folds import Reduced

    if windows is None:
        return KStreamReduceInColumns(store_name, reducer)
    return _windowed(windows, emit, store_name, initializer, aggregator, Reduced(reducer), takes_null_values=False)


def aggregate_in_columns(
    windows: Any, emit: EmitStrategy, store_name: str, initializer: Callable[[], Any], aggregator: Callable[..., Any]
) -> KStreamAggProcessorSupplier | None:
    """Return the supplier of `aggregate`."""
    from kafkapy.streams.columns.aggregations import KStreamAggregateInColumns
    from kafkapy.streams.columns.folds import Aggregated

    if windows is None:
        return KStreamAggregateInColumns(store_name, initializer, aggregator)
    return _windowed(windows, emit, store_name, initializer, aggregator, Aggregated(aggregator), takes_null_values=True)


def _windowed(
    windows: Any,
    emit: EmitStrategy,
    store_name: str,
    initializer: Callable[[], Any],
    aggregator: Callable[..., Any],
    fold: Fold,
    *,
    takes_null_values: bool,
) -> KStreamAggProcessorSupplier | None:
    from kafkapy.streams.columns.windowed_aggregations import KStreamWindowAggregateInColumns

    if not isinstance(windows, TimeWindows):
        return None
    return KStreamWindowAggregateInColumns(
        windows, store_name, emit, initializer, aggregator, fold, takes_null_values=takes_null_values
    )
