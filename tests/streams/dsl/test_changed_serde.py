"""Updates of tables in repartition topics, in the bytes of Kafka's `ChangedSerializer`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.dsl.changed_serde import ChangedDeserializer, ChangedSerializer
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.records import Change
from kafkapy.streams.serdes import Serdes

STRING = Serdes.string()


def context(**config: Any) -> Any:
    return SimpleNamespace(default_value_serde=STRING, config=config)


def serializer(**config: Any) -> ChangedSerializer:
    made = ChangedSerializer(None)
    made.configure(context(**config), False)
    return made


def deserializer() -> ChangedDeserializer:
    made = ChangedDeserializer(None)
    made.configure(context(), False)
    return made


@pytest.mark.parametrize(
    ("change", "data"),
    [
        (Change("new", None), b"new\1"),
        (Change(None, "old"), b"old\0"),
        (Change("new", "old"), b"\6newold\2"),
        (Change("x" * 70, ""), b"\x8c\1" + b"x" * 70 + b"\2"),
    ],
)
def test_bytes(change: Change, data: bytes) -> None:
    assert serializer().serialize("topic", change) == data
    assert deserializer().deserialize("topic", data) == change


@pytest.mark.parametrize(
    ("data", "change"),
    [
        (b"old\1\3", Change(None, "old", True)),
        (b"new\0\4", Change("new", None, False)),
        (b"\6newold\0\5", Change("new", "old", False)),
    ],
)
def test_updates_that_say_whether_they_are_the_latest(data: bytes, change: Change) -> None:
    """Kafka reads them and does not write them yet."""
    assert deserializer().deserialize("topic", data) == change


@given(st.none() | st.text(), st.none() | st.text())
def test_round_trip(new: str | None, old: str | None) -> None:
    if new is None and old is None:
        return
    change = Change(new, old)
    assert deserializer().deserialize("topic", serializer().serialize("topic", change)) == change


def test_neither_value() -> None:
    with pytest.raises(StreamsException, match="Both old and new values are null"):
        serializer().serialize("topic", Change(None, None))


def test_both_values_while_instances_before_3_5_run() -> None:
    old = serializer(**{"upgrade.from": "3.4"})
    assert old.serialize("topic", Change("new", None)) == b"new\1"
    with pytest.raises(StreamsException, match="not allowed unless upgrading"):
        old.serialize("topic", Change("new", "old"))
    assert serializer(**{"upgrade.from": "3.5"}).serialize("topic", Change("a", "b")) == b"\2ab\2"


@pytest.mark.parametrize("data", [b"new\6", b"new\2\4"])
def test_unknown_flags(data: bytes) -> None:
    with pytest.raises(StreamsException, match="byte value"):
        deserializer().deserialize("topic", data)


def test_no_serde() -> None:
    with pytest.raises(ValueError, match=r"default\.value\.serde"):
        ChangedSerializer(None).configure(SimpleNamespace(default_value_serde=None, config={}), False)
