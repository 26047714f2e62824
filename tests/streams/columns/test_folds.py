"""Aggregates of groups by arrays."""

from __future__ import annotations

import functools
import random

import pyarrow as pa
import pytest

from kafkapy.streams.columns.errors import NotInColumns
from kafkapy.streams.columns.folds import Reduced, counted
from kafkapy.streams.columns.groups import RowGroups
from kafkapy.streams.columns.reducers import greatest, least, total


def test_groups_come_in_the_order_of_their_last_rows() -> None:
    groups = RowGroups(pa.array(["a", "b", "a", "c", "b", "a"]))
    assert [groups.keys[group] for group in groups.order] == ["c", "b", "a"]
    assert groups.first.tolist() == [0, 1, 3]
    assert groups.last.tolist() == [5, 4, 3]


def test_a_dictionary_with_unused_and_double_values() -> None:
    array = pa.DictionaryArray.from_arrays([3, 0, 2], ["a", "b", "a", "c"])
    groups = RowGroups(array)
    assert (groups.keys, groups.codes.tolist()) == (["c", "a"], [0, 1, 1])


def test_keys_that_are_doubles_are_not_grouped_by_arrays() -> None:
    with pytest.raises(NotInColumns):
        RowGroups(pa.array([0.0, -0.0]))


def test_doubles_are_summed_in_the_order_of_rows() -> None:
    numbers = random.Random(7)
    values = [numbers.uniform(-1, 1) * 10.0 ** (number % 17) for number in range(1000)]
    groups = RowGroups(pa.array(["a"] * 1000))
    in_order = functools.reduce(total, values)
    assert functools.reduce(total, values[::-1]) != in_order
    assert Reduced(total)(groups, pa.array(values), [None]) == [in_order]
    assert Reduced(total)(groups, pa.array(values), [0.3]) == [functools.reduce(total, values, 0.3)]


def test_the_sign_of_zero_stays() -> None:
    groups = RowGroups(pa.array(["a"]))
    assert repr(Reduced(total)(groups, pa.array([-0.0]), [None])) == "[-0.0]"


def test_integers_that_would_not_fit_into_an_array_are_added_one_by_one() -> None:
    groups = RowGroups(pa.array(["a", "a"]))
    assert Reduced(total)(groups, pa.array([2**62, 2**62]), [None]) == [2**63]


def test_least_and_greatest() -> None:
    groups = RowGroups(pa.array(["a", "b", "a"]))
    assert Reduced(least)(groups, pa.array([3, -5, 2]), [None, -4]) == [2, -5]
    assert Reduced(greatest)(groups, pa.array([3, -5, 2]), [None, -4]) == [3, -4]


def test_count() -> None:
    groups = RowGroups(pa.array(["a", "b", "a"]))
    assert counted(groups, pa.array([1, 1, 1]), [None, 7]) == [2, 8]
