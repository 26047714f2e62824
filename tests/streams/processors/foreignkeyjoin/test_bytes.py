"""Bytes of subscriptions, answers and their keys, as Java writes them."""

from __future__ import annotations

import pytest

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processors.foreignkeyjoin.combined_key import CombinedKey, CombinedKeySchema
from kafkapy.streams.processors.foreignkeyjoin.foreign_table_join import incremented
from kafkapy.streams.processors.foreignkeyjoin.subscription_response_wrapper import (
    SubscriptionResponseWrapper,
    SubscriptionResponseWrapperSerde,
)
from kafkapy.streams.processors.foreignkeyjoin.subscription_wrapper import (
    Instruction,
    SubscriptionWrapper,
    SubscriptionWrapperSerde,
)
from kafkapy.streams.serdes import Serdes
from tests.streams.processors.fakes import FakeContext

HASH = bytes.fromhex("ba8b8ebc16b6526be4a9729a99898a95")

SUBSCRIPTIONS = [
    (
        "0103ba8b8ebc16b6526be4a9729a99898a953100000000",
        SubscriptionWrapper(HASH, Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE, "1", 0),
    ),
    ("81013100000005", SubscriptionWrapper(None, Instruction.DELETE_KEY_AND_PROPAGATE, "1", 5)),
    ("800031", SubscriptionWrapper(None, Instruction.DELETE_KEY_NO_PROPAGATE, "1", None, 0)),
    (
        "0002ba8b8ebc16b6526be4a9729a99898a9531",
        SubscriptionWrapper(HASH, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE, "1", None, 0),
    ),
]


@pytest.mark.parametrize("data, subscription", SUBSCRIPTIONS)
def test_subscriptions(data: str, subscription: SubscriptionWrapper) -> None:
    serde = SubscriptionWrapperSerde(lambda: "topic", Serdes.string())
    assert serde.serializer().serialize("", subscription) == bytes.fromhex(data)
    assert serde.deserializer().deserialize("", bytes.fromhex(data)) == subscription


def test_a_subscription_takes_the_configurations_serde() -> None:
    serde = SubscriptionWrapperSerde(lambda: "topic", None)
    with pytest.raises(ValueError, match="specify a key serde"):
        serde.set_if_unset(None, Serdes.string())
    serde.set_if_unset(Serdes.string(), None)
    assert serde.serializer().serialize("", SUBSCRIPTIONS[0][1]) == bytes.fromhex(SUBSCRIPTIONS[0][0])
    assert serde.serializer().serialize("", None) is serde.deserializer().deserialize("", None) is None


def test_unknown_versions_are_refused() -> None:
    with pytest.raises(StreamsException, match="version 2"):
        SubscriptionWrapperSerde(lambda: "", Serdes.string()).deserializer().deserialize("", b"\x82\x00")
    with pytest.raises(StreamsException, match="version 2"):
        unknown = SubscriptionWrapper(None, Instruction.DELETE_KEY_NO_PROPAGATE, "1", 0, 2)
        SubscriptionWrapperSerde(lambda: "", Serdes.string()).serializer().serialize("", unknown)
    with pytest.raises(StreamsException, match="version 1"):
        SubscriptionResponseWrapperSerde(Serdes.string()).deserializer().deserialize("", b"\x81")


ANSWERS = [
    ("00ba8b8ebc16b6526be4a9729a99898a9550", SubscriptionResponseWrapper(HASH, "P", None)),
    ("00ba8b8ebc16b6526be4a9729a99898a95", SubscriptionResponseWrapper(HASH, None, None)),
    ("80", SubscriptionResponseWrapper(None, None, None)),
    ("8050", SubscriptionResponseWrapper(None, "P", None)),
]


@pytest.mark.parametrize("data, answer", ANSWERS)
def test_answers(data: str, answer: SubscriptionResponseWrapper) -> None:
    serde = SubscriptionResponseWrapperSerde(Serdes.string())
    assert serde.serializer().serialize("", answer._replace(primary_partition=3)) == bytes.fromhex(data)
    assert serde.deserializer().deserialize("", bytes.fromhex(data)) == answer


def test_combined_keys() -> None:
    schema = CombinedKeySchema(lambda: "fk", None, lambda: "pk", Serdes.long())
    schema.init(FakeContext())
    data = bytes.fromhex("00000001700000000000000007")
    assert schema.to_bytes("p", 7) == data
    assert schema.from_bytes(data) == CombinedKey("p", 7)
    assert schema.prefix_bytes("p") == data[:5]
    assert incremented(b"\0\0\0\1\xff") == b"\0\0\0\2\0"
