"""What has gone wrong in Kafka's transactions, by the numbers of Kafka's issues: requests that come late, answers overtaken.

What Kafka 3.9.1 still gets wrong is marked in docs/transactions.md.
"""

from __future__ import annotations

import pytest

from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.end_txn import EndTxnRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.server.handlers.transactions import DISCONNECT_GRACE_MS
from tests.server.broker_core import TOPIC, MakeCore, topic_id_of
from tests.server.handlers.test_transactions import TX, Asking, Producer

HOUR_MS = 3_600_000


@pytest.fixture
def p(make_core: MakeCore) -> Producer:
    producer = Producer(make_core())
    assert producer.init() is NONE
    return producer


def write_marker(p: Producer, *, commit: bool = True, coordinator_epoch: int = 0, topic: str = TOPIC) -> Errors:
    """As a coordinator that is another broker does."""
    topics = [WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=[0])]
    marker = WriteTxnMarkersRequest.WritableTxnMarker(*p.id, commit, topics, coordinator_epoch)
    (answer,) = p.core.connect().call(WriteTxnMarkersRequest(markers=[marker]), 1).markers
    return Errors.for_code(answer.topics[0].partitions[0].error_code)


# -- KAFKA-17754: a delayed EndTxn decides a later transaction


def begin(p: Producer, sequence: int) -> None:
    p.add()
    assert p.produce(sequence)[0] is NONE


@pytest.mark.parametrize("has_left", [True, False])
def test_a_delayed_end_does_not_decide_a_later_transaction(p: Producer, has_left: bool) -> None:
    """The producer has given up waiting for its first connection, where the request of the end still is.

    A client that has several connections, and goes on using the older one, is still there.
    """
    old = p.client
    begin(p, 0)
    p.client = p.core.connect()
    assert p.end() is NONE
    begin(p, 1)
    old.send(EndTxnRequest(TX, *p.id, committed=True), 3)
    old.transport.is_left = has_left
    p.core.advance(DISCONNECT_GRACE_MS - 1)
    assert p.state() == "Ongoing"
    p.core.advance(1)
    p.core.advance(0)
    assert Errors.for_code(old.response().error_code) is (Errors.COORDINATOR_NOT_AVAILABLE if has_left else NONE)
    assert p.state() == ("Ongoing" if has_left else "CompleteCommit")
    assert p.end(commit=not has_left) is NONE
    assert p.state() == ("CompleteAbort" if has_left else "CompleteCommit")


def test_a_delayed_end_of_what_has_ended_changes_nothing(p: Producer) -> None:
    old = p.client
    begin(p, 0)
    p.client = p.core.connect()
    assert p.end() is NONE
    p.client = old
    assert p.end() is NONE
    assert p.end(commit=False) is Errors.INVALID_TXN_STATE
    assert p.state() == "CompleteCommit"


def test_the_producer_s_successor_may_use_an_older_connection(p: Producer) -> None:
    """Some clients share their connections among producers."""
    old = p.client
    begin(p, 0)
    p.client = p.core.connect()
    assert p.end() is NONE
    p.client = old
    assert p.init() is NONE
    begin(p, 0)
    assert p.end() is NONE


# -- KAFKA-14402: records that come after the end of their transaction hang, and stop readers


def test_records_that_come_after_the_end_are_refused(p: Producer) -> None:
    begin(p, 0)
    assert p.end() is NONE
    assert p.produce(1)[0] is Errors.TRANSACTION_ABORTABLE
    log = p.core.partition().leader_log()
    assert log.last_stable_offset == log.log_end_offset == 2


def test_the_end_overtakes_what_the_coordinator_says(make_core: MakeCore) -> None:
    """The partition belonged to the transaction when the coordinator was asked; when its answer is there, that has ended."""
    a = Asking(make_core(others=(1,)))
    a.send(0)
    assert write_marker(a) is NONE
    a.coordinator.answer()
    assert a.answers() == {0: Errors.INVALID_TXN_STATE}
    log = a.core.partition().leader_log()
    assert log.last_stable_offset == log.log_end_offset == 1


# -- KAFKA-15784: the same with offsets


def test_the_end_overtakes_offsets(p: Producer) -> None:
    """They were on their way when the transaction ended: none is pending afterwards, for nobody would ever settle it."""
    p.add_offsets()
    assert p.commit_offset(5) is NONE
    assert p.committed(require_stable=True) is Errors.UNSTABLE_OFFSET_COMMIT
    assert p.end() is NONE
    assert p.commit_offset(9) is Errors.TRANSACTION_ABORTABLE
    assert p.committed(require_stable=True) == 5


def test_a_marker_settles_the_offsets_that_it_has_overtaken(p: Producer) -> None:
    """An operator ends the transaction in the group's partition; its coordinator is not asked."""
    p.add_offsets()
    assert p.commit_offset(5) is NONE
    group = p.core.groups.partition_for("g")
    topics = [WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=GROUP_METADATA_TOPIC, partition_indexes=[group])]
    marker = WriteTxnMarkersRequest.WritableTxnMarker(*p.id, True, topics, 0)
    p.core.connect().call(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert p.committed(require_stable=True) == 5


# -- KAFKA-9144: what is known of a producer goes too early, and with it the coordinator's epoch


def test_a_marker_keeps_the_producer_from_expiring(p: Producer) -> None:
    """By the records alone the producer would be a day old."""
    begin(p, 0)
    assert write_marker(p, coordinator_epoch=5) is NONE
    log, now = p.core.partition().leader_log(), p.core.time.milliseconds()
    entry = log.producers.producers[p.id.producer_id]
    assert entry.last_timestamp == now
    log.producers.remove_expired_producers(now + log.producers.producer_id_expiration_ms - 1)
    assert p.id.producer_id in log.producers.producers


def test_a_coordinator_that_was_replaced_writes_no_marker(p: Producer) -> None:
    begin(p, 0)
    assert write_marker(p, coordinator_epoch=5) is NONE
    assert write_marker(p, commit=False, coordinator_epoch=4) is Errors.TRANSACTION_COORDINATOR_FENCED
    assert p.core.partition().leader_log().log_end_offset == 2


# -- KAFKA-16352: markers that nobody takes leave the transaction in PrepareCommit for ever


def test_the_end_waits_for_a_leader_and_then_comes(p: Producer) -> None:
    begin(p, 0)
    p.core.update_metadata(TOPIC, [0], topic_id_of(TOPIC), -1, 1, [0], [0])
    assert p.end() is NONE
    p.core.advance(HOUR_MS)
    assert p.state() == "PrepareCommit"
    p.core.update_metadata(TOPIC, [0], topic_id_of(TOPIC), 0, 1, [0], [0])
    p.core.advance(100)
    assert p.state() == "CompleteCommit"
    assert p.core.partition().leader_log().last_stable_offset == 2
    assert not p.core.partition(TOPIC, 0).leader_log().producers.ongoing_txns
    assert TopicPartition(TOPIC, 0) not in p.core.transactions.coordinator.transactions["tx"].unmarked
