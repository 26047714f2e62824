"""Markers on their way to leaders: this broker and others, which come, go and refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.transaction.transaction import SendMarkers, Transaction
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafkapy.runtime.completion import Completion
from kafkapy.server.coordinators.marker_channels import (
    GONE_AFTER_MS,
    MARKERS_PER_REQUEST,
    RETRY_MS,
    STRANGE_RETRY_MS,
    MarkerChannels,
)
from tests.server.broker_core import TOPIC, BrokerCore, MakeCore, topic_id_of

EPOCH = 9
NOBODY = -1
DELETED = -2


class AskedBroker:
    """Another broker: keeps what it is asked until the test answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[WriteTxnMarkersRequest, Completion[Any]]] = []

    def call(self, request: WriteTxnMarkersRequest, max_version: int) -> Completion[Any]:
        assert max_version == 1
        self.requests.append((request, Completion()))
        return self.requests[-1][1]

    def asked(self) -> list[tuple[int, int, bool, int, set[tuple[str, int]]]]:
        """(producer id, epoch, commit, coordinator epoch, partitions) of each marker of the oldest request."""
        request, _ = self.requests[0]
        return [
            (
                marker.producer_id,
                marker.producer_epoch,
                marker.transaction_result,
                marker.coordinator_epoch,
                {(topic.name, index) for topic in marker.topics for index in topic.partition_indexes},
            )
            for marker in request.markers
        ]

    def answer(self, errors: dict[int, Errors] | None = None, *, leave_out: Sequence[int] = ()) -> None:
        """The oldest request; errors by the number of the partition."""
        request, done = self.requests.pop(0)
        response = WriteTxnMarkersResponse()
        for marker in request.markers:
            topics = [
                WriteTxnMarkersResponse.WritableTxnMarkerTopicResult(
                    name=topic.name,
                    partitions=[
                        WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult(
                            partition_index=index, error_code=(errors or {}).get(index, NONE).code
                        )
                        for index in topic.partition_indexes
                        if index not in leave_out
                    ],
                )
                for topic in marker.topics
            ]
            response.markers.append(
                WriteTxnMarkersResponse.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)
            )
        done.set_result(response)

    def fail(self) -> None:
        self.requests.pop(0)[1].set_exception(KafkaError(Errors.NETWORK_EXCEPTION))


class AskedBrokers(dict[int, AskedBroker]):
    def __missing__(self, broker_id: int) -> AskedBroker:
        self[broker_id] = AskedBroker()
        return self[broker_id]

    def close(self) -> None:
        """Nothing is open."""


class Channels:
    """Those of broker 0, whose topic "t" has partitions led by brokers 0, 1 and 2."""

    def __init__(self, core: BrokerCore) -> None:
        self.core = core
        core.create_topic(partitions=2)
        for leader, first in ((1, 2), (2, 4)):
            self.lead(leader, first, first + 1)
        core.update_metadata(TRANSACTION_STATE_TOPIC, [0], topic_id_of("x"), 0, 0, [0], [0])
        self.brokers = AskedBrokers()
        self.done: list[tuple[str, set[int]]] = []
        writer = core.transactions.writer
        self.channels = MarkerChannels(
            0, "PLAINTEXT", core.cache, writer, cast(Any, self.brokers), core.time, 1, self.written
        )

    def written(self, transaction: Transaction, partitions: Any) -> None:
        self.done.append((transaction.key, {name.partition for name in partitions}))

    def lead(self, leader: int, *partitions: int, epoch: int = 1) -> None:
        self.core.update_metadata(TOPIC, partitions, topic_id_of(TOPIC), leader, epoch, [leader], [leader])

    def send(self, *partitions: int, key: str = "tx", producer_id: int = 7, commit: bool = True) -> Transaction:
        transaction = Transaction.new(key, producer_id, 1, 1)
        names = frozenset(TopicPartition(TOPIC, index) for index in partitions)
        self.channels.send(transaction, SendMarkers(ProducerIdAndEpoch(producer_id, 3), commit, names), EPOCH)
        self.core.advance(0)
        return transaction

    def retry(self) -> None:
        self.core.advance(RETRY_MS)


@pytest.fixture
def h(make_core: MakeCore) -> Channels:
    return Channels(make_core(others=(1, 2)))


def test_each_leader_is_told_of_its_partitions(h: Channels) -> None:
    h.send(0, 1, 2, 3, 5, commit=False)
    assert h.done == [("tx", {0, 1})], "those led here need no network"
    assert h.brokers[1].asked() == [(7, 3, False, EPOCH, {(TOPIC, 2), (TOPIC, 3)})]
    assert h.brokers[2].asked() == [(7, 3, False, EPOCH, {(TOPIC, 5)})]
    h.brokers[2].answer()
    h.brokers[1].answer()
    assert h.done[1:] == [("tx", {5}), ("tx", {2, 3})]
    assert h.channels.waiting_for_leaders == 0


def test_what_comes_while_a_broker_is_busy_goes_with_the_next_request(h: Channels) -> None:
    h.send(2, key="a", producer_id=1)
    h.send(2, key="b", producer_id=2)
    h.send(2, 3, key="c", producer_id=3)
    assert [marker[0] for marker in h.brokers[1].asked()] == [1]
    assert h.channels.queued() == {1: 3}
    h.brokers[1].answer()
    assert [marker[0] for marker in h.brokers[1].asked()] == [2, 3]
    assert h.channels.queued() == {}
    h.brokers[1].answer({3: Errors.NOT_LEADER_OR_FOLLOWER})
    assert h.done == [("a", {2}), ("b", {2}), ("c", {2})]
    h.send(2, key="d", producer_id=4)
    assert [marker[0] for marker in h.brokers[1].asked()] == [4]


def test_a_request_has_so_many_markers_and_no_more(h: Channels) -> None:
    h.send(2)
    for number in range(MARKERS_PER_REQUEST + 1):
        h.send(3, producer_id=number)
    h.brokers[1].answer()
    assert len(h.brokers[1].asked()) == MARKERS_PER_REQUEST
    h.brokers[1].answer()
    assert [marker[0] for marker in h.brokers[1].asked()] == [MARKERS_PER_REQUEST]


@pytest.mark.parametrize(
    "error",
    [
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.NOT_ENOUGH_REPLICAS,
        Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Errors.REQUEST_TIMED_OUT,
        Errors.KAFKA_STORAGE_ERROR,
    ],
)
def test_a_partition_that_does_not_take_it_now_is_asked_again(h: Channels, error: Errors) -> None:
    h.send(2, 3)
    h.brokers[1].answer({3: error})
    assert h.done == [("tx", {2})]
    assert h.channels.waiting_for_leaders == 1
    assert not h.brokers[1].requests
    h.retry()
    assert [marker[4] for marker in h.brokers[1].asked()] == [{(TOPIC, 3)}]
    h.brokers[1].answer()
    assert h.done[1:] == [("tx", {3})]


def test_a_partition_that_is_not_answered_for_is_asked_again(h: Channels) -> None:
    h.send(2, 3)
    h.brokers[1].answer(leave_out=[2])
    assert h.done == [("tx", {3})]
    h.retry()
    assert [marker[4] for marker in h.brokers[1].asked()] == [{(TOPIC, 2)}]


@pytest.mark.parametrize("error", [Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, Errors.UNSUPPORTED_VERSION])
def test_a_partition_that_can_have_no_marker_needs_none(h: Channels, error: Errors) -> None:
    h.send(2)
    h.brokers[1].answer({2: error})
    assert h.done == [("tx", {2})]


@pytest.mark.parametrize("error", [Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED])
def test_who_is_fenced_leaves_the_end_to_others(h: Channels, error: Errors) -> None:
    h.send(2, 3)
    h.brokers[1].answer({2: error})
    h.retry()
    assert (h.done, h.brokers[1].requests, h.channels.waiting_for_leaders) == ([], [], 0)


def test_an_error_that_nobody_expects_is_told_and_tried_again_now_and_then(
    h: Channels, caplog: pytest.LogCaptureFixture
) -> None:
    h.send(2, 3)
    h.brokers[1].answer({2: Errors.MESSAGE_TOO_LARGE})
    assert h.done == [("tx", {3})]
    assert "tx is not ended in {'t-2': 'MESSAGE_TOO_LARGE'}" in caplog.text
    assert h.channels.waiting_for_leaders == 1
    h.core.advance(STRANGE_RETRY_MS - 1)
    assert h.brokers[1].requests == []
    h.core.advance(1)
    h.brokers[1].answer()
    assert h.done[1:] == [("tx", {2})]


def test_the_leader_moves(h: Channels) -> None:
    h.send(2)
    h.lead(2, 2, epoch=2)
    h.brokers[1].answer({2: Errors.NOT_LEADER_OR_FOLLOWER})
    h.retry()
    assert not h.brokers[1].requests
    h.brokers[2].answer()
    assert h.done == [("tx", {2})]


@pytest.mark.parametrize("leader", [NOBODY, 8])
def test_a_leader_is_waited_for(h: Channels, leader: int) -> None:
    """There is none, or it is not alive."""
    h.lead(leader, 2, epoch=2)
    h.send(2, 3)
    assert [marker[4] for marker in h.brokers[1].asked()] == [{(TOPIC, 3)}]
    for _ in range(10 * GONE_AFTER_MS // RETRY_MS):
        h.retry()
    assert (h.done, h.channels.waiting_for_leaders) == ([], 1)
    h.lead(2, 2, epoch=3)
    h.retry()
    h.brokers[2].answer()
    assert h.done == [("tx", {2})]


def test_a_broker_that_goes_away(h: Channels) -> None:
    h.send(2, key="a")
    h.send(3, key="b")
    h.brokers[1].fail()
    h.brokers[1].fail()
    assert h.channels.waiting_for_leaders == 2
    h.core.brokers.remove(1)
    h.core.update_metadata()
    h.retry()
    assert not h.brokers[1].requests
    h.core.brokers.append(1)
    h.core.update_metadata()
    h.retry()
    for _ in range(2):
        h.brokers[1].answer()
    assert sorted(h.done) == [("a", {2}), ("b", {3})]


def test_a_topic_that_is_deleted_needs_no_markers(h: Channels) -> None:
    h.send(2, 4)
    h.core.update_metadata(TOPIC, [2], topic_id_of(TOPIC), DELETED, 2, [1], [1])
    h.brokers[1].answer({2: Errors.UNKNOWN_TOPIC_OR_PARTITION})
    h.core.advance(GONE_AFTER_MS)
    assert h.done == [], "what is known may be incomplete for a moment"
    h.core.advance(2 * RETRY_MS)
    assert h.done == [("tx", {2})]
    h.brokers[2].answer()
    assert h.done[1:] == [("tx", {4})]


def test_a_partition_is_not_deleted_because_it_had_no_leader_for_long(h: Channels) -> None:
    h.lead(NOBODY, 2, epoch=2)
    h.send(2)
    h.core.advance(2 * GONE_AFTER_MS)
    h.core.update_metadata(TOPIC, [2], topic_id_of(TOPIC), DELETED, 3, [1], [1])
    h.core.advance(GONE_AFTER_MS - RETRY_MS)
    assert h.done == []
    h.core.advance(3 * RETRY_MS)
    assert h.done == [("tx", {2})]


def test_a_broker_that_knows_nothing_yet_takes_nothing_for_deleted(make_core: MakeCore) -> None:
    h = Channels(make_core())
    h.core.update_metadata(TRANSACTION_STATE_TOPIC, [0], topic_id_of("x"), DELETED, 1, [0], [0])
    h.send(99)
    h.core.advance(10 * GONE_AFTER_MS)
    assert (h.done, h.channels.waiting_for_leaders) == ([], 1)


def test_a_transaction_that_is_gone_is_dropped(h: Channels) -> None:
    """In the queue, among those that wait for a leader, and before it is sent at all."""
    h.send(2)
    h.lead(NOBODY, 4, epoch=2)
    gone = h.send(3, 4)
    gone.is_gone = True
    h.brokers[1].answer()
    assert not h.brokers[1].requests
    h.retry()
    assert h.channels.waiting_for_leaders == 0
    assert h.done == [("tx", {2})]


def test_nothing_is_sent_after_close(h: Channels) -> None:
    h.send(2)
    h.send(3)
    h.channels.close()
    h.brokers[1].fail()
    h.core.advance(GONE_AFTER_MS)
    h.send(4)
    assert not h.brokers[1].requests
    assert not h.brokers[2].requests
