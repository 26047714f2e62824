"""Types of keys and values, and names of stores, as keyword arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from kafkapy.streams import Materialized, Serdes, StreamsBuilder, TimeWindows, serde_of
from kafkapy.streams.testing import TopologyTestDriver

CONFIG = {"application.id": "app", "bootstrap.servers": "none:0"}


@dataclass
class Item:
    name: str
    price: float


@dataclass
class Order:
    user: str
    items: list[Item] = field(default_factory=list)


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (str, "ä", "ä".encode()),
        (int, 1, b"\0\0\0\0\0\0\0\1"),
        (float, 1.0, b"\x3f\xf0\0\0\0\0\0\0"),
        (bytes, b"x", b"x"),
        (dict, {"a": [1, None]}, b'{"a":[1,null]}'),
        (bool, True, b"true"),
        (Order, Order("eve", [Item("tea", 2.5)]), b'{"user":"eve","items":[{"name":"tea","price":2.5}]}'),
    ],
)
def test_serdes_of_types(kind: type[Any], value: Any, data: bytes) -> None:
    serde = serde_of(kind)
    assert serde is not None
    assert serde.serializer().serialize("topic", value) == data
    assert serde.deserializer().deserialize("topic", data) == value
    assert serde.serializer().serialize("topic", None) is None
    assert serde.deserializer().deserialize("topic", None) is None


def test_what_has_no_serde() -> None:
    string = Serdes.string()
    assert serde_of(string) is string
    assert serde_of(None) is None
    for other in (complex, "str"):
        with pytest.raises(TypeError, match="serde"):
            serde_of(other)  # type: ignore[arg-type]


def test_a_topology_in_keywords(tmp_path: Any) -> None:
    builder = StreamsBuilder()
    orders = builder.stream("orders", key=str, value=Order)
    users = builder.table("users", key=str, value=dict, store="users")
    counts = orders.group_by_key().count(store="counts")
    counts.to_stream().to("counts", key=str, value=int)
    orders.join(users, lambda order, user: {"city": user["city"], "items": len(order.items)}).to("cities", value=dict)
    with TopologyTestDriver(builder.build(), {**CONFIG, "state.dir": str(tmp_path)}) as driver:
        raw = Serdes.byte_array()
        driver.create_input_topic("users", raw.serializer(), raw.serializer()).pipe_input(b"eve", b'{"city":"Graz"}', 0)
        order = b'{"user":"eve","items":[]}'
        driver.create_input_topic("orders", raw.serializer(), raw.serializer()).pipe_input(b"eve", order, 1)
        assert set(driver.get_all_state_stores()) == {"users", "counts"}
        cities = driver.create_output_topic("cities", raw.deserializer(), raw.deserializer())
        assert cities.read_record()[:2] == (b"eve", b'{"city":"Graz","items":0}')
        counted = driver.create_output_topic("counts", raw.deserializer(), raw.deserializer())
        assert counted.read_record()[:2] == (b"eve", b"\0\0\0\0\0\0\0\1")


def test_a_store_is_named_once() -> None:
    grouped = StreamsBuilder().stream("in").group_by_key()
    assert grouped.count(None, Materialized.with_(None, None), store="one").queryable_store_name == "one"
    windowed = grouped.windowed_by(TimeWindows.of_size_with_no_grace(1))
    assert windowed.reduce(max, store="two").queryable_store_name == "two"
    with pytest.raises(TypeError, match="name already"):
        grouped.count(None, Materialized.as_("three"), store="four")
