from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.offsets import GroupOffset, GroupOffsets

T = TopicPartition("t", 0)


def offset(number: int) -> GroupOffset:
    return GroupOffset(number, -1, "", 0)


def test_a_transaction_holds_only_where_no_later_commit_does() -> None:
    offsets = GroupOffsets()
    offsets.prepare({T: offset(1)}, 7)
    assert offsets.is_pending(T)
    offsets.written({T: offset(1)}, 10, 7)
    offsets.prepare({T: offset(2)})
    offsets.written({T: offset(2)}, 11)
    assert offsets.is_pending(T)
    offsets.complete_transaction(7, commit=True)
    assert offsets.get(T) == offset(2)
    assert not offsets.is_pending(T)

    offsets.prepare({T: offset(3)}, 7)
    offsets.written({T: offset(3)}, 12, 7)
    offsets.complete_transaction(7, commit=True)
    assert offsets.get(T) == offset(3)


def test_transactions_that_fail_or_abort() -> None:
    offsets = GroupOffsets()
    offsets.prepare({T: offset(1)}, 7)
    offsets.failed({T: offset(1)}, 7)
    offsets.failed({T: offset(1)}, 8)
    assert not offsets
    offsets.prepare({T: offset(1)}, 7)
    offsets.written({T: offset(1)}, 10, 7)
    assert list(offsets.producers) == [7]
    offsets.complete_transaction(7, commit=False)
    assert not offsets
    offsets.prepare({T: offset(1)}, 7)
    assert offsets.remove([T]) == []
    assert not offsets


def test_what_a_transaction_took_back_in_the_log_was_never_there() -> None:
    offsets = GroupOffsets()
    offsets.replay(T, offset(1), 10, -1)
    offsets.replay(T, offset(2), 11, 7)
    assert (offsets.get(T), offsets.is_pending(T)) == (offset(1), True)
    offsets.replay(T, None, 12, 7)
    assert (offsets.get(T), offsets.is_pending(T)) == (offset(1), False)
    offsets.replay(T, None, 13, -1)
    assert not offsets
