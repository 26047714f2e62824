from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from kafkapy.warehouse.columns import AnotherModel, NotATable, columns_of, merged


def columns(*fields: tuple[str, pa.DataType]) -> StructType:
    return columns_of(pa.struct(list(fields)))


def test_additions_come_last_and_numbers_widen() -> None:
    before = columns(("id", pa.int32()), ("place", pa.struct([("x", pa.float32())])))
    after = columns(
        ("note", pa.string()), ("ID", pa.int64()), ("place", pa.struct([("x", pa.float64()), ("y", pa.int32())]))
    )
    expected = "struct<id:bigint,place:struct<x:double,y:int>,note:string>"
    assert merged(before, after).simpleString() == expected
    assert merged(after, before).simpleString() == "struct<note:string,ID:bigint,place:struct<x:double,y:int>>"


def test_a_narrower_schema_leaves_the_table_as_it_is() -> None:
    before = columns(("id", pa.int64()), ("tags", pa.list_(pa.int64())))
    assert merged(before, columns(("id", pa.int32()), ("tags", pa.list_(pa.int32())))) == before


@pytest.mark.parametrize(
    ("one", "other"), [(pa.int64(), pa.string()), (pa.int64(), pa.float64()), (pa.bool_(), pa.int32())]
)
def test_what_no_file_can_be_read_as_is_another_model(one: pa.DataType, other: pa.DataType) -> None:
    with pytest.raises(AnotherModel, match="id is"):
        merged(columns(("id", one)), columns(("id", other)))


@pytest.mark.parametrize(
    ("type", "reason"),
    [
        (pa.int32(), "no records"),
        (pa.struct([("_offset", pa.int32())]), "_offset has the name"),
        (pa.struct([("ds", pa.int32())]), "ds has the name"),
        (pa.struct([("a", pa.int32()), ("A", pa.int32())]), "are the same column"),
        (pa.struct([("p", pa.struct([("x", pa.int32()), ("X", pa.int32())]))]), r"p\.X, p\.x are the same column"),
        (
            pa.struct([("l", pa.list_(pa.struct([("\N{LATIN SMALL LETTER LONG S}", pa.int32()), ("s", pa.int32())])))]),
            "are the same column",
        ),
        (
            pa.struct([("m", pa.map_(pa.string(), pa.struct([("a", pa.struct([]))])))]),
            r"m\.a is a record without fields",
        ),
        (pa.struct([("d", pa.decimal256(39, 0))]), "39 digits has no type in Spark"),
    ],
)
def test_schemas_without_rows(type: pa.DataType, reason: str) -> None:
    with pytest.raises(NotATable, match=reason):
        columns_of(type)
