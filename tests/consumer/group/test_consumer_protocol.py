from __future__ import annotations

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.group.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    partitions_of,
)
from kafkapy.errors import KafkaProtocolError
from kafkapy.protocol.consumer_protocol import ConsumerProtocolSubscription

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_subscription_bytes_are_javas() -> None:
    data = encode_subscription(
        ConsumerProtocolSubscription(topics=["b", "a"], user_data=b"\x01"), [B0, A1, A0], 5, "r1"
    )
    assert data.hex() == (
        "0003"  # version
        "00000002"
        "000161"
        "000162"  # topics, sorted
        "00000001"
        "01"  # user data
        "00000002"
        "000161"
        "00000002"
        "00000000"
        "00000001"
        "000162"
        "00000001"
        "00000000"  # owned, sorted
        "00000005"  # generation
        "00027231"  # rack
    )


def test_subscription_of_a_new_member() -> None:
    data = encode_subscription(ConsumerProtocolSubscription(topics=["a"]), [], -1, None)
    assert data.hex() == "000300000001000161ffffffff00000000ffffffffffff"


def test_assignment_bytes_are_javas() -> None:
    data = encode_assignment([B0, A1, A0])
    assert data.hex() == "0003000000020001620000000100000000000161000000020000000100000000ffffffff"
    assert partitions_of(decode_assignment(data)) == [B0, A1, A0]


def test_an_old_members_subscription() -> None:
    found = decode_subscription(bytes.fromhex("000000000001000161ffffffff"))
    assert (found.topics, found.owned_partitions, found.generation_id) == (["a"], [], -1)


def test_a_newer_members_subscription_is_read_as_far_as_it_is_known() -> None:
    data = encode_subscription(ConsumerProtocolSubscription(topics=["a"]), [A0], 3, None)
    found = decode_subscription(b"\x00\x09" + data[2:] + b"more")
    assert (found.topics, found.generation_id) == (["a"], 3)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x01\x00\x00\x00\x05"])
def test_bytes_that_make_no_sense(data: bytes) -> None:
    with pytest.raises(KafkaProtocolError):
        decode_assignment(data)
