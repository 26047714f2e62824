"""The records of `__transaction_state`, byte by byte: those of Kafka 3.9.1."""

from __future__ import annotations

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.transaction.metadata import (
    TransactionMetadata,
    read_key,
    read_value,
    transaction_key,
    transaction_value,
)
from kafkapy.coordinator.transaction.replayed_transactions import ReplayedTransactions
from kafkapy.coordinator.transaction.transaction_state import (
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_COMMIT,
    STATES,
    state_of,
)
from kafkapy.protocol.wire import SchemaError

T1 = TopicPartition("t1", 0)
KEY = bytes.fromhex("0000 0004 74782d31")

# What a producer's first transaction left in the log of Kafka 3.9.1.
GOLDEN = [
    (
        TransactionMetadata(EMPTY, 0, 0, 60_000, frozenset(), -1, 0x1A1FC22224B),
        "0000 0000000000000000 0000 0000ea60 00 ffffffff 000001a1fc22224b ffffffffffffffff",
    ),
    (
        TransactionMetadata(ONGOING, 0, 0, 60_000, frozenset({T1}), 0x1A1FC222276, 0x1A1FC222276),
        "0000 0000000000000000 0000 0000ea60 01 00000001 0002 7431 00000001 00000000 000001a1fc222276 000001a1fc222276",
    ),
    (
        TransactionMetadata(PREPARE_COMMIT, 0, 0, 60_000, frozenset({T1}), 0x1A1FC222276, 0x1A1FC2222A3),
        "0000 0000000000000000 0000 0000ea60 02 00000001 0002 7431 00000001 00000000 000001a1fc2222a3 000001a1fc222276",
    ),
    (
        TransactionMetadata(COMPLETE_COMMIT, 0, 0, 60_000, frozenset(), 0x1A1FC222276, 0x1A1FC2222AC),
        "0000 0000000000000000 0000 0000ea60 04 00000000 000001a1fc2222ac 000001a1fc222276",
    ),
]


@pytest.mark.parametrize(("metadata", "value"), GOLDEN)
def test_values_are_kafkas(metadata: TransactionMetadata, value: str) -> None:
    data = bytes.fromhex(value)
    assert transaction_value(metadata) == data
    assert read_value(data) == metadata


def test_the_key_is_kafkas() -> None:
    assert transaction_key("tx-1") == KEY
    assert read_key(KEY) == "tx-1"


def test_partitions_are_written_by_topic() -> None:
    names = frozenset(TopicPartition(topic, index) for topic in ("b", "a") for index in (2, 0))
    data = transaction_value(GOLDEN[1][0]._replace(partitions=names))
    assert b"\0\0\0\2\0\1a\0\0\0\2\0\0\0\0\0\0\0\2\0\1b\0\0\0\2\0\0\0\0\0\0\0\2" in data
    assert read_value(data).partitions == names


def test_the_last_producer_is_not_written() -> None:
    metadata = GOLDEN[0][0]
    assert transaction_value(metadata._replace(last_producer_id=5, last_producer_epoch=6)) == transaction_value(
        metadata
    )


def test_the_flexible_version_is_read() -> None:
    """A newer broker may have written it."""
    data = bytes.fromhex(
        "0001 0000000000000007 0003 0000ea60 01 02 03 7431 02 00000000 00 0000000000000002 0000000000000001 00"
    )
    assert read_value(data) == TransactionMetadata(ONGOING, 7, 3, 60_000, frozenset({T1}), 1, 2)


@pytest.mark.parametrize(
    "value", ["", "00", "0002", "ffff", GOLDEN[0][1][:-2], GOLDEN[0][1].replace("ea60 00", "ea60 08")]
)
def test_what_cannot_be_read(value: str) -> None:
    with pytest.raises(SchemaError):
        read_value(bytes.fromhex(value))


def test_keys_of_another_kind_are_told_by_their_version() -> None:
    assert read_key(b"\0\1whatever") == 1
    for broken in (b"", b"\0", b"\0\0\0\5abc"):
        with pytest.raises(SchemaError):
            read_key(broken)


def test_numbers_of_states() -> None:
    """As in the log of Kafka."""
    assert [state_of(code).value for code in range(8)] == [
        "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
        "PrepareEpochFence",
    ]  # fmt: skip
    assert len(STATES) == 8
    assert state_of(6) is DEAD
    for code in (-1, 8):
        with pytest.raises(SchemaError):
            state_of(code)


def test_the_last_record_of_each_id_holds() -> None:
    replayed = ReplayedTransactions()
    (empty, _), (ongoing, _), *_ = GOLDEN
    replayed.put(transaction_key("a"), transaction_value(empty), 0, -1)
    replayed.put(transaction_key("b"), transaction_value(empty), 1, -1)
    replayed.put(transaction_key("a"), transaction_value(ongoing), 2, -1)
    replayed.put(transaction_key("c"), None, 3, -1)
    replayed.put(b"\0\7newer", b"", 4, -1)
    replayed.put(transaction_key("b"), None, 5, -1)
    assert {t.transactional_id: t.metadata for t in replayed.all_transactions()} == {"a": ongoing}
    with pytest.raises(SchemaError):
        replayed.put(None, b"", 6, -1)
