from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import pytest

from kafkapy.connect.data.dataclass_structs import Scale, from_struct, schema_of, to_struct
from kafkapy.connect.data.logical import decimal_schema
from kafkapy.connect.data.scalars import Float32, Instant, Int8
from kafkapy.connect.data.schema import Type
from kafkapy.connect.errors import DataException


class Color(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Line:
    product: str
    count: Int8


@dataclass
class Order:
    id: int
    price: Annotated[Decimal, Scale(2)]
    at: dt.datetime
    day: dt.date
    time: dt.time
    color: Color
    token: UUID
    lines: list[Line]
    totals: dict[str, float]
    rate: Float32 = field(default=Float32(0.5), metadata={"doc": "per hour"})
    note: str | None = None
    first: Line | None = None


ORDER = Order(
    1,
    Decimal("2.5"),
    dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC),
    dt.date(2024, 2, 29),
    dt.time(1, 2, 3),
    Color.BLUE,
    UUID(int=5),
    [Line("a", Int8(3))],
    {"x": 1.5},
    first=Line("b", Int8(4)),
)


def test_objects_come_back() -> None:
    struct = to_struct(ORDER)
    assert str(struct["price"]) == "2.50" and struct["color"] == "BLUE" and struct["day"] == Instant.of(ORDER.day)
    assert from_struct(Order, struct) == ORDER


def test_the_schema_has_types_defaults_and_docs() -> None:
    schema = schema_of(Order)
    by_name = {each.name: each.schema for each in schema.fields}
    assert schema.name == "Order" and schema_of(Order, "shop.Order").name == "shop.Order"
    assert by_name["price"] == decimal_schema(2)
    assert (by_name["rate"].default, by_name["rate"].doc, by_name["rate"].type) == (0.5, "per hour", Type.FLOAT32)
    assert by_name["note"].optional and by_name["first"].optional and not by_name["lines"].optional
    assert (by_name["color"].parameters or {})["org.apache.kafka.connect.data.Enum.BLUE"] == "1"


def test_what_does_not_fit_is_refused() -> None:
    @dataclass
    class Wrong:
        x: Any

    @dataclass
    class Choice:
        x: int | str

    @dataclass
    class Bare:
        x: Decimal

    with pytest.raises(DataException, match="no dataclass"):
        schema_of(int)
    for kind, message in ((Wrong, "no type in Connect"), (Choice, "choice of types"), (Bare, "needs its scale")):
        with pytest.raises(DataException, match=message):
            schema_of(kind)
    with pytest.raises(DataException, match="more than 2 digits"):
        to_struct(Order(**{**vars(ORDER), "price": Decimal("1.234")}))
    with pytest.raises(DataException, match="cannot be made of"):
        from_struct(Order, to_struct(Line("a", Int8(1))))
