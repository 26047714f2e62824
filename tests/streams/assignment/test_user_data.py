"""User data of subscriptions and assignments: bytes that Java's classes wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.assignment_info import NO_REBALANCE, AssignmentInfo, decode_assignment_info
from kafkapy.streams.assignment.subscription_info import (
    LATEST_OFFSET,
    SubscriptionInfo,
    decode_subscription_info,
)
from kafkapy.streams.assignment.task_id import HostInfo, ProcessId, TaskId

SUBSCRIPTIONS = {
    1: ("00000001fffffffffffffffb000000000000000700000001000000000000000100000000"),
    2: ("00000002fffffffffffffffb00000000000000070000000100000000000000010000000000000003683a31"),
    6: ("000000060000000bfffffffffffffffb00000000000000070000000100000000000000010000000000000003683a31"),
    7: (
        "000000070000000bfffffffffffffffb000000000000000700000003683a3100000001000000000000000100000001fffffffffffffffe"
    ),
    9: (
        "000000090000000bfffffffffffffffb000000000000000700000003683a3100000001000000000000000100000001ff"
        "fffffffffffffe0300000000"
    ),
    10: (
        "0000000a0000000bfffffffffffffffb000000000000000700000003683a31000000010000000000000001ffffffffff"
        "fffffeffff0300000000"
    ),
    11: (
        "0000000b0000000bfffffffffffffffb000000000000000700000003683a31000000010000000000000001ffffffffff"
        "fffffeffff030000000000000001000000016b0000000176"
    ),
}
ASSIGNMENTS = {
    1: ("000000010000000100000000000000010000000100000001000000010000000100017800000001"),
    2: (
        "000000020000000100000000000000010000000100000001000000010000000100017800000001000000010001680000"
        "00010000000100017900000000"
    ),
    6: (
        "000000060000000b00000001000000000000000100000001000000010000000100000001000178000000010000000100"
        "000000000179000000010001680000000100000001000000000000000000000001000168000000010000000100000000"
        "0000000000000000"
    ),
    7: (
        "000000070000000b00000001000000000000000100000001000000010000000100000001000178000000010000000100"
        "000000000179000000010001680000000100000001000000000000000000000001000168000000010000000100000000"
        "00000000000000000000000000000005"
    ),
    9: (
        "000000090000000b00000001000000000000000100000001000000010000000100000001000178000000010000000100"
        "000000000179000000010001680000000100000001000000000000000000000001000168000000010000000100000000"
        "00000000000000000000000000000005"
    ),
    10: (
        "0000000a0000000b00000001000000000000000100000000000000010000000100000001000000000000000100017800"
        "000001000000010000000000017900000001000168000000010000000100000000000000000000000100016800000001"
        "000000010000000000000000000000000000000000000005"
    ),
    11: (
        "0000000b0000000b00000001000000000000000100000000000000010000000100000001000000000000000100017800"
        "000001000000010000000000017900000001000168000000010000000100000000000000000000000100016800000001"
        "000000010000000000000000000000000000000000000005"
    ),
}


def subscription(version: int) -> SubscriptionInfo:
    return SubscriptionInfo(
        version,
        11 if version >= 3 else -1,
        ProcessId(-5, 7),
        "h:1" if version >= 2 else None,
        {TaskId(0, 1): LATEST_OFFSET},
        3 if version >= 8 else 0,
        0,
        {"k": "v"} if version >= 11 else {},
    )


def assignment(version: int) -> AssignmentInfo:
    hosts = {HostInfo("h", 1): frozenset([TopicPartition("y", 0)])}
    return AssignmentInfo(
        version,
        11 if version >= 3 else -1,
        [TaskId(0, 1)],
        {TaskId(1, 1): frozenset([TopicPartition("x", 1)])},
        hosts if version >= 2 else {},
        hosts if version >= 6 else {},
        0,
        5 if version >= 7 else NO_REBALANCE,
    )


@pytest.mark.parametrize("version", SUBSCRIPTIONS)
def test_subscriptions_have_the_bytes_of_java(version: int) -> None:
    assert subscription(version).encode().hex() == SUBSCRIPTIONS[version]
    assert decode_subscription_info(bytes.fromhex(SUBSCRIPTIONS[version])) == subscription(version)


@pytest.mark.parametrize("version", ASSIGNMENTS)
def test_assignments_have_the_bytes_of_java(version: int) -> None:
    assert assignment(version).encode().hex() == ASSIGNMENTS[version]
    assert decode_assignment_info(bytes.fromhex(ASSIGNMENTS[version])) == assignment(version)


def test_of_a_later_version_only_the_versions_are_read() -> None:
    info = decode_subscription_info(bytes.fromhex("0000000c0000000cff"))
    assert (info.version, info.latest_supported_version) == (12, 12)


@pytest.mark.parametrize("version", [0, 12])
def test_no_other_version_is_written(version: int) -> None:
    with pytest.raises(ValueError, match="version must be between 1 and 11"):
        AssignmentInfo(version).encode()
    with pytest.raises(ValueError, match="version must be between 1 and 11"):
        subscription(11)._replace(version=version).encode()


@given(st.sampled_from(sorted(ASSIGNMENTS)), st.integers(0, 400), st.binary(max_size=6))
def test_malformed_user_data_is_refused_in_a_sentence(version: int, at: int, noise: bytes) -> None:
    for text, decode in ((SUBSCRIPTIONS, decode_subscription_info), (ASSIGNMENTS, decode_assignment_info)):
        data = bytes.fromhex(text[version])
        try:
            decode(data[:at] + noise + data[at + len(noise) :])
        except ValueError as error:
            assert "Streams" in str(error)


def test_a_count_beyond_the_bytes_makes_no_list() -> None:
    with pytest.raises(ValueError, match="2147483647 elements in 12 bytes"):
        decode_assignment_info(bytes.fromhex("0000000b0000000b7fffffff"))
