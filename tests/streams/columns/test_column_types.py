"""Columns of bytes are read as the serdes read them one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafkapy.streams import Serdes
from kafkapy.streams.columns.column_types import column_type, decoded

SERDES = [
    (Serdes.long(), [b"\xff" * 8, None, b"\0" * 7 + b"\x05"]),
    (Serdes.integer(), [b"\xff" * 4, b"\x80\0\0\0", None]),
    (Serdes.double(), [b"\x80" + b"\0" * 7, None, b"\x40\x09\x21\xfb\x54\x44\x2d\x18"]),
    (Serdes.string(), ["é".encode(), b"", None]),
    (Serdes.byte_array(), [b"\xff", b"", None]),
]


@pytest.mark.parametrize(("serde", "raws"), SERDES)
def test_as_one_by_one(serde: Any, raws: list[bytes | None]) -> None:
    data_type = column_type(serde)
    assert data_type is not None
    for first in range(len(raws)):
        found = decoded(pa.array([b"before!!", *raws], pa.binary()).slice(1 + first), data_type)
        assert found is not None
        expected = [serde.deserializer().deserialize("", raw) for raw in raws[first:]]
        assert list(map(repr, found.to_pylist())) == list(map(repr, expected))


@pytest.mark.parametrize(("serde", "raw"), [(Serdes.long(), b"1234567"), (Serdes.string(), b"\xff")])
def test_bytes_that_are_no_such_value(serde: Any, raw: bytes) -> None:
    data_type = column_type(serde)
    assert data_type is not None
    assert decoded(pa.array([raw], pa.binary()), data_type) is None


def test_a_serde_of_the_application_has_no_type() -> None:
    string = Serdes.string()
    assert column_type(Serdes.serde_from(string.serializer(), string.deserializer())) is None
    assert column_type(None) is None
