from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafkapy.warehouse.columns import columns_of
from kafkapy.warehouse.config import TableConfig
from kafkapy.warehouse.routing import SchemaFacts, for_deletions, model_of, record_name, route
from kafkapy.warehouse.snapshot import TableDefinition

CONFIG = TableConfig("shop.bookings")


def facts(record: str = "shop.Booking", model: int | None = None, **fields: pa.DataType) -> SchemaFacts:
    return SchemaFacts(columns_of(pa.struct(list((fields or {"id": pa.int32()}).items()))), record, model)


def routed(*schemas: SchemaFacts) -> tuple[list[str], dict[str, TableDefinition]]:
    tables: dict[str, TableDefinition] = {}
    names = []
    for number, schema in enumerate(schemas, 1):
        table = route(tables, CONFIG, str(number), schema)
        tables[table.name] = table
        names.append(table.name)
    return names, tables


def test_additions_and_revisions_stay_in_the_table() -> None:
    names, tables = routed(facts(), facts(id=pa.int64()), facts(id=pa.int64(), note=pa.string()))
    assert names == ["shop_bookings"] * 3
    table: Any = tables["shop_bookings"]
    assert table.schemas == ("1", "2", "3")
    assert table.version == 3
    assert [field["type"] for field in table.columns["fields"]] == ["long", "string"]


def test_a_model_begins_a_table_of_its_own() -> None:
    names, tables = routed(facts(), facts(id=pa.string()), facts(id=pa.string(), more=pa.int32()), facts(id=pa.int64()))
    assert names == ["shop_bookings", "shop_bookings_v2", "shop_bookings_v2", "shop_bookings"]
    assert tables["shop_bookings_v2"].model == 2


def test_the_buss_subjects_say_the_model() -> None:
    """Even if the columns would fit."""
    names, _ = routed(
        facts(model=1), facts(model=3), facts(model=1, note=pa.string()), facts(model=3, other=pa.int32())
    )
    assert names == ["shop_bookings", "shop_bookings_v3", "shop_bookings", "shop_bookings_v3"]
    assert model_of(["shop.Booking-v3"]) == 3
    assert model_of(["bookings-value"]) is None


def test_other_records_have_tables_beside_it() -> None:
    names, _ = routed(facts(), facts("shop.BookingCancelled"), facts("shop.BookingCancelled", id=pa.string()))
    assert names == ["shop_bookings", "shop_bookings_booking_cancelled", "shop_bookings_booking_cancelled_v2"]


def test_deletions_begin_a_table_that_the_first_schema_takes_over() -> None:
    table = for_deletions({}, CONFIG, "-2")
    tables = {table.name: table}
    taken = route(tables, CONFIG, "1", facts(model=2))
    assert (taken.name, taken.record, taken.model, taken.schemas) == ("shop_bookings", "shop.Booking", 2, ("-2", "1"))
    assert for_deletions({taken.name: taken}, CONFIG, "-2") == taken


def test_names_of_records() -> None:
    assert record_name('{"type": "record", "name": "B", "namespace": "a", "fields": []}', "AVRO") == "a.B"
    assert record_name('{"title": "T"}', "JSON") == "T"
    assert record_name('"string"', "AVRO") == ""
