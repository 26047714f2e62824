from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

from kafkapy.warehouse.columns import columns_of
from kafkapy.warehouse.config import TableConfig
from kafkapy.warehouse.routing import SchemaFacts, digest_of, for_deletions, model_of, record_name, route
from kafkapy.warehouse.snapshot import TableDefinition
from kafkapy.warehouse.view_names import named

CONFIG = TableConfig("shop.bookings")


def facts(record: str = "shop.Booking", model: int | None = None, **fields: pa.DataType) -> SchemaFacts:
    return SchemaFacts(columns_of(pa.struct(list((fields or {"id": pa.int32()}).items()))), record, model)


def routed(
    *schemas: SchemaFacts, config: TableConfig = CONFIG, ids: Sequence[int] = (), others: Sequence[TableConfig] = ()
) -> tuple[list[str], dict[str, TableDefinition]]:
    """The views that the schemas' values are in at the end, and the tables by their views. `ids`: of the schemas."""
    tables: dict[str, TableDefinition] = {}
    numbers = list(map(str, ids or range(1, len(schemas) + 1)))
    for number, schema in zip(numbers, schemas, strict=True):
        table = route(tables, config, number, schema)
        tables[table.name] = table
        tables |= {each.name: each for each in named(tables, config, [config, *others], schema.model is None)}
    views = {table.view: table for table in tables.values()}
    assert len(views) == len(tables)
    return [next(view for view, table in views.items() if number in table.schemas) for number in numbers], views


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


PAYMENTS = TableConfig("payments")
SCHEMAS: dict[int, SchemaFacts] = {
    7: facts("shop.Refund"),
    8: facts("shop.Payment"),
    9: facts("shop.Payment", id=pa.string()),
    10: facts("other.Refund"),
    11: facts("shop.Payment", id=pa.string(), note=pa.string()),
}


@pytest.mark.parametrize("order", list(permutations(SCHEMAS)), ids=str)
def test_what_came_first_is_of_no_account(order: Sequence[int]) -> None:
    names, _ = routed(*(SCHEMAS[id] for id in order), config=PAYMENTS, ids=order)
    assert dict(zip(order, names, strict=True)) == {
        7: f"payments_refund_{digest_of('shop.Refund')}",
        8: "payments",
        9: "payments_v2",
        10: f"payments_refund_{digest_of('other.Refund')}",
        11: "payments_v2",
    }


@pytest.mark.parametrize("order", list(permutations([1, 2, 3])), ids=str)
def test_of_records_that_are_not_called_like_the_topic_the_first_that_was_registered_has_its_name(
    order: Sequence[int],
) -> None:
    schemas = {1: facts("shop.Opened"), 2: facts("shop.Closed"), 3: facts("shop.Moved", model=2)}
    names, _ = routed(*(schemas[id] for id in order), config=TableConfig("accounts"), ids=order)
    assert dict(zip(order, names, strict=True)) == {1: "accounts", 2: "accounts_closed", 3: "accounts_moved"}


def test_the_configuration_says_which_record_has_the_topics_name() -> None:
    config = TableConfig("payments", record="shop.Refund")
    assert routed(facts("shop.Payment"), config=config)[0] == ["payments_payment"]
    assert routed(facts("shop.Payment"), facts("shop.Refund"), config=config)[0] == ["payments_payment", "payments"]


def test_a_view_that_is_called_otherwise_remembers_its_names() -> None:
    _, views = routed(facts("shop.Refund"), facts("shop.Payment"), config=PAYMENTS)
    assert views["payments_refund"].views == ("payments_refund",)
    assert views["payments_refund"].name == "payments"
    assert views["payments"].name == "payments_payment"


@pytest.mark.parametrize("record", ["支付", "a.退款", "X" * 300, "Zahlung für: `Kunden`", "__", "quarantine"])
def test_any_name_of_a_record_is_part_of_a_name_for_a_table(record: str) -> None:
    names, _ = routed(
        facts("shop.Payment"), facts(record), config=PAYMENTS, others=[TableConfig("payments_quarantine")]
    )
    assert names[0] == "payments"
    assert re.fullmatch(r"payments_[a-z0-9]+(_[a-z0-9]+)*", names[1])
    assert len(names[1]) < 100
    assert names[1] != "payments_quarantine", "which is another topic's"


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
