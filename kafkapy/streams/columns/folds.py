"""Aggregates groups of rows, with bit-identical results to folding their values one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from kafkapy.streams.columns.errors import NotInColumns
from kafkapy.streams.columns.groups import RowGroups
from kafkapy.streams.columns.reducers import greatest, least, total

_SAFE: Final = 2**62

Reducer = Callable[[Any, Any], Any]


class Fold(Protocol):
    """Adds the rows of each group to its aggregate."""

    def __call__(self, groups: RowGroups, values: pa.Array, olds: list[Any]) -> list[Any]:
        """Return the new aggregate of each group.

        Args:
            groups: The groups of rows.
            values: The value of each row; none is null.
            olds: The old aggregate of each group; None: it has none.
        """


def counted(groups: RowGroups, values: pa.Array, olds: list[Any]) -> list[Any]:
    """Return the old count of each group plus its number of rows."""
    counts = np.bincount(groups.codes, minlength=len(olds)).tolist()
    return [(old or 0) + count for old, count in zip(olds, counts, strict=True)]


class Reduced:
    """Combines values by a reducer. `total`, `least` and `greatest` of numbers are computed on arrays."""

    def __init__(self, reducer: Reducer) -> None:
        self._reducer = reducer

    def __call__(self, groups: RowGroups, values: pa.Array, olds: list[Any]) -> list[Any]:
        if pa.types.is_signed_integer(values.type):
            numbers = values.to_numpy(zero_copy_only=False).astype(np.int64)
            by_group = self._of_integers(groups, numbers)
            if by_group is not None:
                pairs = zip(olds, by_group.tolist(), strict=True)
                return [new if old is None else self._reducer(old, new) for old, new in pairs]
        are_doubles = pa.types.is_float64(values.type) and all(old is None or isinstance(old, float) for old in olds)
        if self._reducer is total and are_doubles:
            return _summed(groups, values.to_numpy(zero_copy_only=False), olds)
        return self._one_by_one(groups, values.to_pylist(), olds)

    def _of_integers(self, groups: RowGroups, numbers: Any) -> Any:
        """Reduce integers on arrays; None if a sum might overflow, or for a reducer of the application."""
        if self._reducer is total:
            highest = max(abs(int(numbers.min())), abs(int(numbers.max())))
            if highest * len(numbers) >= _SAFE:
                return None
            result = np.zeros(len(groups.keys), np.int64)
            np.add.at(result, groups.codes, numbers)
            return result
        if self._reducer is least or self._reducer is greatest:
            result = numbers[groups.first]
            (np.minimum if self._reducer is least else np.maximum).at(result, groups.codes, numbers)
            return result
        return None

    def _one_by_one(self, groups: RowGroups, values: list[Any], olds: list[Any]) -> list[Any]:
        news = list(olds)
        reducer = self._reducer
        for code, value in zip(groups.codes.tolist(), values, strict=True):
            old = news[code]
            news[code] = new = value if old is None else reducer(old, value)
            if new is None:
                raise NotInColumns("an aggregate is deleted")
        return news


class Aggregated:
    """Adds values one by one with the application's aggregator."""

    def __init__(self, aggregator: Callable[[Any, Any, Any], Any]) -> None:
        self._aggregator = aggregator

    def __call__(self, groups: RowGroups, values: pa.Array, olds: list[Any]) -> list[Any]:
        news = list(olds)
        aggregator, keys = self._aggregator, groups.keys
        for code, value in zip(groups.codes.tolist(), values.to_pylist(), strict=True):
            news[code] = new = aggregator(keys[code], value, news[code])
            if new is None:
                raise NotInColumns("an aggregate is deleted")
        return news


def _summed(groups: RowGroups, numbers: Any, olds: list[Any]) -> list[Any]:
    """Sum doubles in the order of rows, since another order would change the last bits."""
    is_new = np.array([old is None for old in olds])
    sums = numbers[groups.first].astype(np.float64)
    sums[~is_new] = [old for old in olds if old is not None]
    added = np.ones(len(numbers), bool)
    added[groups.first[is_new]] = False
    with np.errstate(all="ignore"):
        np.add.at(sums, groups.codes[added], numbers[added])
    summed: list[Any] = sums.tolist()
    return summed
