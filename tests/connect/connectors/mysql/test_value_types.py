"""Representations of types by the modes of the config."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from kafkapy.connect.connectors.mysql.column_types import MyColumn
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.connectors.mysql.value_types import PlainValueTypes
from kafkapy.connect.data.schema import Type
from kafkapy.connect.errors import ConnectException

BIG = MyColumn("n", "bigint", is_unsigned=True)
AMOUNT = MyColumn("n", "decimal", length=10, scale=2)
DATA = MyColumn("n", "blob")


def types(**modes: str) -> PlainValueTypes:
    base = {"database.hostname": "h", "database.user": "u", "topic.prefix": "dbs"}
    return PlainValueTypes(
        BinlogSettings.of({**base, **{name.replace("_", "."): mode for name, mode in modes.items()}})
    )


@pytest.mark.parametrize(
    ("modes", "column", "plain", "expected"),
    [
        ({}, BIG, 2**64 - 1, (Type.INT64, -1)),
        ({"bigint_unsigned_handling_mode": "precise"}, BIG, 2**64 - 1, (Type.BYTES, Decimal(2**64 - 1))),
        ({}, AMOUNT, Decimal("1.50"), (Type.BYTES, Decimal("1.50"))),
        ({"decimal_handling_mode": "double"}, AMOUNT, Decimal("1.50"), (Type.FLOAT64, 1.5)),
        ({"decimal_handling_mode": "string"}, AMOUNT, Decimal("1.50"), (Type.STRING, "1.50")),
        ({"binary_handling_mode": "hex"}, DATA, b"\0\xff", (Type.STRING, "00ff")),
        ({}, MyColumn("n", "timestamp", length=3), 500_000, (Type.STRING, "1970-01-01T00:00:00.500Z")),
        ({}, MyColumn("n", "datetime", length=4), 1, (Type.INT64, 1)),
        ({}, MyColumn("n", "bit", length=1), 1, (Type.BOOLEAN, True)),
    ],
)
def test_modes(modes: dict[str, str], column: MyColumn, plain: Any, expected: tuple[Type, Any]) -> None:
    found = types(**modes).find(column)
    assert (found.schema(True).type, found.read(plain)) == expected


def test_a_type_that_cannot_be_captured_is_named() -> None:
    with pytest.raises(ConnectException, match=r"Column n has the type inet6.*column\.exclude\.list"):
        types().find(MyColumn("n", "inet6"))
