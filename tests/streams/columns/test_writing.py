"""Columns become the bytes that the serializers make of their values one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafkapy.streams import Serdes
from kafkapy.streams.columns.column_types import column_type
from kafkapy.streams.columns.errors import NotInColumns
from kafkapy.streams.columns.writing import encoded

VALUES = [
    (Serdes.long(), [5, None, -(2**63), 2**63 - 1]),
    (Serdes.integer(), [None, -1, 2**31 - 1]),
    (Serdes.double(), [None, -0.0, 1.5, float("inf")]),
    (Serdes.string(), ["é", "", None]),
    (Serdes.byte_array(), [b"\xff", b"", None]),
]


@pytest.mark.parametrize(("serde", "values"), VALUES)
def test_as_one_by_one(serde: Any, values: list[Any]) -> None:
    serializer = serde.serializer()
    data_type = column_type(serializer)
    assert data_type is not None
    for first in range(len(values)):
        array = pa.array([values[-1], *values], data_type).slice(1 + first)
        expected = [None if value is None else serializer.serialize("out", value) for value in values[first:]]
        assert encoded(array, data_type).to_pylist() == expected
        present = array.drop_null()
        assert encoded(present, data_type).to_pylist() == [value for value in expected if value is not None]


def test_types_that_fit() -> None:
    assert encoded(pa.array([1], pa.int32()), pa.int64()).to_pylist() == [b"\0" * 7 + b"\x01"]
    assert encoded(pa.array(["a"]).dictionary_encode(), pa.string()).to_pylist() == [b"a"]
    assert encoded(pa.nulls(2), pa.int64()).to_pylist() == [None, None]
    assert encoded(pa.nulls(1), None).to_pylist() == [None]


@pytest.mark.parametrize(
    ("array", "data_type"),
    [
        (pa.array([2**40]), pa.int32()),
        (pa.array([1.5]), pa.int64()),
        (pa.array([1]), pa.string()),
        (pa.array(["a"]), None),
    ],
)
def test_types_that_do_not_fit(array: pa.Array, data_type: pa.DataType | None) -> None:
    with pytest.raises(NotInColumns):
        encoded(array, data_type)
