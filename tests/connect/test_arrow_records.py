from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.connect.arrow_records import (
    ArrowSinkTask,
    ArrowSourceTask,
    arrow_tables,
    arrow_to_records,
    records_to_arrow,
)
from kafkapy.connect.data.arrow_schemas import arrow_schema, connect_schema
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.scalars import Instant, Int16
from kafkapy.connect.data.schema import INT32_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord
from tests.connect.converters.random_data import same, schemas, values

pa = pytest.importorskip("pyarrow")

ROW = SchemaBuilder(Type.STRUCT).name("Row").field("id", INT32_SCHEMA).field("t", Schema(Type.STRING, True)).build()


def _record(offset: int, value: Any, schema: Schema | None = ROW, key: Any = None) -> SinkRecord:
    return SinkRecord("t", 0, None, key, schema, value, offset, timestamp=5)


def test_records_are_a_table() -> None:
    table = records_to_arrow([_record(3, Struct(ROW, {"id": 1}), key="a"), _record(4, None, None)])
    assert table.column("offset").to_pylist() == [3, 4] and table.column("key").to_pylist() == ["a", None]
    assert table.column("value").to_pylist() == [{"id": 1, "t": None}, None]
    with pytest.raises(DataException, match="schemas of the records differ"):
        records_to_arrow([_record(1, Struct(ROW, {"id": 1})), _record(2, 5, INT32_SCHEMA)])
    with pytest.raises(DataException, match="only text and bytes"):
        records_to_arrow([_record(1, {"a": 1}, None)])


def test_a_table_for_each_run_of_one_schema() -> None:
    rows = [
        _record(1, 5, INT32_SCHEMA),
        _record(2, None, None),
        _record(3, "a", STRING_SCHEMA),
        _record(4, 6, INT32_SCHEMA),
    ]
    assert [table.column("offset").to_pylist() for table in arrow_tables(rows)] == [[1, 2], [3], [4]]


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_random_rows_come_back(data: st.DataObject) -> None:
    schema = _without_defaults(
        SchemaBuilder(Type.STRUCT).name("R").field("v", data.draw(schemas(with_odd_keys=False))).build()
    )
    assert connect_schema(arrow_schema(schema)) == schema
    value = data.draw(values(schema))
    table = records_to_arrow([_record(1, value, schema)])
    flat = pa.Table.from_arrays(table.column("value").combine_chunks().flatten(), schema=arrow_schema(schema))
    (record,) = arrow_to_records(flat, "t")
    assert record.value == value or same(record.value, value)


def _without_defaults(schema: Schema) -> Schema:
    keys = schema.key_schema if schema.type is Type.MAP else None
    items = schema.value_schema if schema.type in (Type.MAP, Type.ARRAY) else None
    builder = SchemaBuilder(schema.type, keys, None if items is None else _without_defaults(items))
    if schema.type is Type.STRUCT:
        for field in schema.fields:
            builder.field(field.name, _without_defaults(field.schema))
    builder.name(schema.name).version(schema.version).doc(schema.doc).parameters(schema.parameters or {})
    return builder.optional().build() if schema.optional else builder.build()


def test_types_of_others_become_connects() -> None:
    table = pa.table(
        {
            "u8": pa.array([200], pa.uint8()),
            "d": pa.array(["x"]).dictionary_encode(),
            "ns": pa.array([1_000_000_007], pa.timestamp("ns")),
            "dec": pa.array([Decimal("1.50")]),
            "big": pa.array([b"a"], pa.large_binary()),
        }
    )
    (record,) = arrow_to_records(table, "t", key_fields=["u8", "d"], source_offset=lambda row: {"row": row})
    assert record.value["u8"] == Int16(200) and record.value["d"] == "x" and record.value["ns"] == Instant(1000)
    assert str(record.value["dec"]) == "1.50" and record.source_offset == {"row": 0}
    assert (record.key["u8"], record.key["d"]) == (200, "x")
    with pytest.raises(DataException, match="no type for Arrow's duration"):
        connect_schema(pa.schema([("x", pa.duration("s"))]))
    with pytest.raises(DataException, match="no column absent"):
        arrow_to_records(table, "t", key_fields=["absent"])


class _Sink(ArrowSinkTask):
    def __init__(self) -> None:
        self.rows: list[Any] = []

    def start(self, config: Mapping[str, str]) -> None:
        pass

    def stop(self) -> None:
        pass

    def version(self) -> str:
        return "1"

    def put_arrow(self, table: Any) -> None:
        self.rows += table.column("value").to_pylist()


class _Source(ArrowSourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        pass

    def stop(self) -> None:
        pass

    def version(self) -> str:
        return "1"

    def poll_arrow(self) -> tuple[Any, Mapping[str, Any]] | None:
        return pa.table({"id": [1, 2]}), {"topic": "rows", "source_partition": {"p": 1}}


def test_tasks_in_columns() -> None:
    sink = _Sink()
    sink.put([_record(1, Struct(ROW, {"id": 1})), _record(2, "x", STRING_SCHEMA)])
    assert sink.rows == [{"id": 1, "t": None}, "x"]
    records = _Source().poll()
    assert records is not None and [record.value["id"] for record in records] == [1, 2]
    assert records[0].topic == "rows" and records[0].source_partition == {"p": 1}
