from __future__ import annotations

import threading

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.producer.batch import ProducerBatch
from kafkapy.producer.sequences import Sequences
from kafkapy.protocol.errors import Errors

P0 = TopicPartition("t", 0)
P1 = TopicPartition("t", 1)


def batch(count: int = 1, partition: TopicPartition = P0) -> ProducerBatch:
    made = ProducerBatch(partition, threading.Lock(), 0, 0)
    made.values = [b"v"] * count
    made.times = [0.0] * count
    return made


def sequences(epoch: int = 0, **options: bool) -> Sequences:
    made = Sequences(**options)
    made.reset(ProducerIdAndEpoch(1, epoch))
    return made


def sent(table: Sequences, *counts: int) -> list[ProducerBatch]:
    batches = [batch(count) for count in counts]
    for each in batches:
        table.assign(each)
    return batches


def firsts(*batches: ProducerBatch) -> list[int]:
    return [each.producer.base_sequence for each in batches]


def test_sequences_count_records() -> None:
    table = sequences()
    assert firsts(*sent(table, 3, 2, 1)) == [0, 3, 5]
    other = batch(1, P1)
    table.assign(other)
    assert firsts(other) == [0]


def test_nothing_is_sent_without_a_producer_id() -> None:
    assert not Sequences().may_send(batch(), -1)


def test_one_batch_until_the_first_is_acknowledged() -> None:
    table = sequences()
    (first,) = sent(table, 1)
    assert not table.may_send(batch(), -1)
    table.completed(first, 10)
    assert table.may_send(batch(), -1)
    sent(table, 1)
    assert table.may_send(batch(), -1)


def test_of_retries_only_the_first_may_go() -> None:
    table = sequences()
    first, second = sent(table, 1, 1)
    assert table.may_send(first, -1)
    assert not table.may_send(second, -1)
    table.completed(first, 0)
    assert table.may_send(second, -1)


def test_no_more_than_a_broker_remembers_go_out_before_the_oldest_has_ended() -> None:
    table = sequences()
    table.completed(sent(table, 1)[0], 0)
    first, second, *later = sent(table, 1, 1, 1, 1)
    for each in later:
        table.completed(each, -1)  # so the first is written, but its answer was lost and its retries fail
    assert table.may_send(batch(), -1)
    sent(table, 1)
    assert not table.may_send(batch(), -1)
    table.completed(first, 1)
    assert table.may_send(batch(), -1)
    sent(table, 1)
    assert not table.may_send(batch(), -1)
    table.completed(second, 2)
    assert table.may_send(batch(), -1)


def test_a_new_leader_gets_new_batches_when_those_at_the_one_before_have_ended() -> None:
    table = sequences()
    table.completed(sent(table, 1)[0], 0)
    first, second = sent(table, 1, 1)
    first.last_node = second.last_node = 1
    assert table.may_send(batch(), 1)
    assert not table.may_send(batch(), 2)
    assert table.may_send(first, 2)
    first.last_node = 2
    assert not table.may_send(batch(), 2)
    table.completed(first, 1)
    table.completed(second, 2)
    assert table.may_send(batch(), 2)


def test_sequences_wrap() -> None:
    table = sequences()
    entry = table.partition(P0)
    entry.next_sequence = 2**31 - 2
    first, second, third = sent(table, 1, 2, 1)
    assert firsts(first, second, third) == [2**31 - 2, 2**31 - 1, 1]
    assert entry.in_flight == [first, second, third]
    for each in (first, second, third):
        table.completed(each, -1)
    assert entry.last_acked_sequence == 1


def test_out_of_order_behind_a_failed_batch_is_retried() -> None:
    table = sequences()
    first, second = sent(table, 1, 1)
    assert table.can_retry(second, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 0) is True
    assert not table.bump_required
    assert table.can_retry(first, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 0) is True
    assert table.bump_required


def test_a_bump_rewrites_the_partition_in_trouble_and_spares_the_others() -> None:
    table = sequences()
    first, second = sent(table, 2, 3)
    other = batch(1, P1)
    table.assign(other)
    table.request_bump(P0)
    table.bump_if_required()
    assert table.producer == (1, 1)
    assert [each.producer[:3] for each in (first, second)] == [(1, 1, 0), (1, 1, 2)]
    assert other.producer[:3] == (1, 0, 0)
    assert not table.may_send(batch(1, P1), -1)  # until those of the old epoch have ended
    table.completed(other, 0)
    new = batch(1, P1)
    assert table.may_send(new, -1)
    table.assign(new)
    assert new.producer[:3] == (1, 1, 0)


def test_after_the_last_epoch_a_new_id_is_asked_for() -> None:
    table = sequences(epoch=32767)
    (first,) = sent(table, 1)
    table.request_bump(P0)
    table.bump_if_required()
    assert not table.producer.is_valid
    table.got_new_id(ProducerIdAndEpoch(2, 0))
    assert first.producer[:3] == (2, 0, 0)


def test_an_unheard_batch_leaves_the_partition_unresolved() -> None:
    table = sequences()
    first, second = sent(table, 1, 1)
    table.completed(first, 0)
    third = sent(table, 1)[0]
    table.failed(second, may_be_written=True)
    assert not table.may_send(batch(), -1)
    assert table.resolve() == []
    table.completed(third, 2)  # so the second has arrived
    assert table.resolve() == []
    assert table.may_send(batch(), -1)
    assert not table.bump_required


def test_a_gap_bumps_the_epoch() -> None:
    table = sequences()
    first, second = sent(table, 1, 1)
    table.completed(first, 0)
    table.failed(second, may_be_written=True)
    assert table.resolve() == [P0]
    table.bump_if_required()
    assert table.producer.epoch == 1


def test_a_refused_batch_of_a_transaction_closes_the_gap() -> None:
    table = sequences(is_transactional=True)
    first, second, third = sent(table, 1, 2, 1)
    table.completed(first, 0)
    table.failed(second, may_be_written=False)
    assert firsts(third) == [1]
    assert table.partition(P0).next_sequence == 2


def test_unknown_producer_after_retention() -> None:
    table = sequences()
    first, second = sent(table, 1, 1)
    table.completed(first, 5)
    assert table.can_retry(second, Errors.UNKNOWN_PRODUCER_ID, 10) is True
    table.bump_if_required()
    assert second.producer[:3] == (1, 1, 0)
    assert table.can_retry(second, Errors.NOT_LEADER_OR_FOLLOWER, 0) is None
