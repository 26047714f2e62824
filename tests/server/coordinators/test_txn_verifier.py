"""Whether partitions belong to a transaction: what the coordinator is asked, and what is made of its answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kafkapy.record.record_batch import NO_SEQUENCE
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.coordinators.txn_verifier import TxnVerifier
from tests.server.broker_core import TOPIC, BrokerCore, MakeCore, batch, topic_id_of
from tests.server.coordinators.test_txn_markers import Written, a_marker

T0, T1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
PRODUCER = ProducerIdAndEpoch(7, 3)

Verdict = dict[TopicPartition, Errors]


class AskedCoordinator:
    """Broker 1, which coordinates: keeps what it is asked until the test answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[AddPartitionsToTxnRequest, Completion[Any]]] = []

    def call(self, request: AddPartitionsToTxnRequest, max_version: int, *, min_version: int) -> Completion[Any]:
        assert (min_version, max_version) == (4, 5)
        self.requests.append((request, Completion()))
        return self.requests[-1][1]

    def asked(self) -> list[tuple[str, int, int, set[tuple[str, int]]]]:
        """(transactional id, producer id, epoch, partitions) of each question of the oldest request."""
        questions = self.requests[0][0].transactions
        assert all(question.verify_only for question in questions)
        return [
            (q.transactional_id, q.producer_id, q.producer_epoch, {(t.name, i) for t in q.topics for i in t.partitions})
            for q in questions
        ]

    def answer(self, errors: Verdict | None = None, *, top: Errors = NONE, silent_of: str = "") -> None:
        """The oldest request; NONE but for `errors`."""
        request, done = self.requests.pop(0)
        response = AddPartitionsToTxnResponse(error_code=top.code)
        for question in request.transactions if top is NONE else ():
            topics = [
                AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(
                            partition_index=index,
                            partition_error_code=(errors or {}).get(TopicPartition(topic.name, index), NONE).code,
                        )
                        for index in topic.partitions
                    ],
                )
                for topic in question.topics
            ]
            if question.transactional_id != silent_of:
                response.results_by_transaction.append(
                    AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
                        transactional_id=question.transactional_id, topic_results=topics
                    )
                )
        done.set_result(response)

    def fail(self, error: Errors) -> None:
        self.requests.pop(0)[1].set_exception(KafkaError(error))


class Verified:
    """Broker 0, which leads "t", and broker 1, which coordinates."""

    def __init__(self, core: BrokerCore) -> None:
        self.core = core
        core.create_topic(partitions=2)
        self.coordinator = AskedCoordinator()
        brokers = cast(Any, {1: self.coordinator})
        self.verifier = TxnVerifier(core.config, core.replicas, core.transactions.coordinator, core.cache, brokers)
        self.coordinated_by(1)

    def coordinated_by(self, leader: int, epoch: int = 0) -> None:
        partitions = range(50)
        topic_id = topic_id_of(TRANSACTION_STATE_TOPIC)
        self.core.update_metadata(TRANSACTION_STATE_TOPIC, partitions, topic_id, leader, epoch, [leader], [leader])

    def verify(
        self, *partitions: TopicPartition, transactional_id: str = "tx", producer: ProducerIdAndEpoch = PRODUCER
    ) -> Completion[Verdict]:
        return spawn(self.verifier.verify(transactional_id, producer, dict.fromkeys(partitions, NO_SEQUENCE)))

    def append(self, sequence: int = 0, name: TopicPartition = T0, producer_id: int = 7) -> Errors:
        records = batch(producer=(producer_id, 3, sequence), is_transactional=True)
        try:
            self.core.replicas.append_to_local_log(name, bytearray(records), 1)
        except KafkaError as error:
            return error.error
        return NONE


@pytest.fixture
def v(make_core: MakeCore) -> Verified:
    return Verified(make_core(others=(1,)))


def test_a_transaction_begins_where_the_coordinator_knows_it(v: Verified) -> None:
    verdict = v.verify(T0, T1)
    assert v.coordinator.asked() == [("tx", 7, 3, {T0, T1})]
    assert v.append() is Errors.INVALID_TXN_STATE
    v.coordinator.answer({T1: Errors.TRANSACTION_ABORTABLE})
    assert verdict.result() == {T1: Errors.TRANSACTION_ABORTABLE}
    assert v.append() is NONE
    assert v.append(name=T1) is Errors.INVALID_TXN_STATE


def test_verifications_are_counted(v: Verified) -> None:
    v.verify(T0, T1)
    v.coordinator.answer({T1: Errors.TRANSACTION_ABORTABLE})
    v.coordinated_by(0, epoch=1)
    v.verify(T1)  # this broker coordinates, and knows of no such transaction
    times = v.verifier.verification_ms
    times.fold()
    assert times.count == 2
    assert v.verifier.failures == 2


def test_what_has_begun_needs_no_question(v: Verified) -> None:
    v.verify(T0)
    v.coordinator.answer()
    v.append()
    assert v.verify(T0).result() == {}
    assert not v.coordinator.requests
    v.verify(T0, T1)
    assert v.coordinator.asked() == [("tx", 7, 3, {T1})]


def test_partitions_that_are_not_here_are_for_others_to_refuse(v: Verified) -> None:
    assert v.verify(TopicPartition("?", 0), TopicPartition(TOPIC, 9)).result() == {}


def test_what_is_asked_while_the_coordinator_is_busy_goes_with_the_next_request(v: Verified) -> None:
    verdicts = [v.verify(T0, transactional_id="a", producer=ProducerIdAndEpoch(1, 0))]
    verdicts += [v.verify(T0, transactional_id=key, producer=ProducerIdAndEpoch(2, 0)) for key in "bc"]
    assert [question[0] for question in v.coordinator.asked()] == ["a"]
    v.coordinator.answer()
    assert {question[0] for question in v.coordinator.asked()} == {"b", "c"}
    v.coordinator.answer()
    assert not v.coordinator.requests
    assert [verdict.result() for verdict in verdicts] == [{}, {}, {}]
    v.verify(T0, transactional_id="d", producer=ProducerIdAndEpoch(3, 0))
    assert [question[0] for question in v.coordinator.asked()] == ["d"]


def test_an_id_stands_in_a_request_once(v: Verified) -> None:
    v.verify(T0, transactional_id="busy", producer=ProducerIdAndEpoch(1, 0))
    first, second = v.verify(T0), v.verify(T1)
    v.coordinator.answer()
    assert v.coordinator.asked() == [("tx", 7, 3, {T0})]
    v.coordinator.answer({T0: Errors.TRANSACTION_ABORTABLE})
    assert v.coordinator.asked() == [("tx", 7, 3, {T1})]
    assert not second.done
    v.coordinator.answer()
    assert (first.result(), second.result()) == ({T0: Errors.TRANSACTION_ABORTABLE}, {})


@pytest.mark.parametrize(
    ("failure", "expected"),
    [(Errors.NETWORK_EXCEPTION, Errors.NETWORK_EXCEPTION), (Errors.REQUEST_TIMED_OUT, Errors.NETWORK_EXCEPTION)],
)
def test_a_coordinator_that_does_not_answer(v: Verified, failure: Errors, expected: Errors) -> None:
    verdict = v.verify(T0)
    v.coordinator.fail(failure)
    assert verdict.result() == {T0: expected}
    assert v.append() is Errors.INVALID_TXN_STATE


def test_an_older_coordinator_cannot_be_asked(v: Verified) -> None:
    verdict = v.verify(T0)
    v.coordinator.fail(Errors.UNSUPPORTED_VERSION)
    assert verdict.result() == {}
    assert v.append() is NONE


def test_an_answer_to_nobody_in_particular(v: Verified) -> None:
    verdict = v.verify(T0)
    v.coordinator.answer(top=Errors.CLUSTER_AUTHORIZATION_FAILED)
    assert verdict.result() == {T0: Errors.CLUSTER_AUTHORIZATION_FAILED}


def test_an_answer_that_leaves_somebody_out(v: Verified) -> None:
    verdict = v.verify(T0)
    v.coordinator.answer(silent_of="tx")
    assert verdict.result() == {T0: Errors.UNKNOWN_SERVER_ERROR}


def test_a_fenced_producer_hears_what_logs_say(v: Verified) -> None:
    verdict = v.verify(T0)
    v.coordinator.answer({T0: Errors.PRODUCER_FENCED})
    assert verdict.result() == {T0: Errors.INVALID_PRODUCER_EPOCH}


@pytest.mark.parametrize("leader", [-1, 8])
def test_no_coordinator_is_there(v: Verified, leader: int) -> None:
    v.coordinated_by(leader, 1)
    assert v.verify(T0).result() == {T0: Errors.COORDINATOR_NOT_AVAILABLE}


def test_the_topic_of_the_coordinator_is_not_known(make_core: MakeCore) -> None:
    v = Verified(make_core(others=(1,)))
    v.coordinated_by(-2, 1)
    assert v.verify(T0).result() == {T0: Errors.COORDINATOR_NOT_AVAILABLE}


def test_this_broker_coordinates(v: Verified) -> None:
    v.coordinated_by(0, 1)
    assert v.verify(T0).result() == {T0: Errors.COORDINATOR_NOT_AVAILABLE}, "it has not begun to answer"
    v.core.transactions.startup(v.core.producer_ids, 50)
    assert v.verify(T0).result() == {T0: Errors.NOT_COORDINATOR}
    assert not v.coordinator.requests


def test_a_marker_between_question_and_answer(v: Verified) -> None:
    """The answer is of a transaction that has ended since."""
    verdict = v.verify(T0)
    Written(v.core).write(a_marker((TOPIC, 0)))
    v.coordinator.answer()
    assert verdict.result() == {}
    assert v.append() is Errors.INVALID_TXN_STATE


def test_nothing_is_asked_where_that_is_disabled(make_core: MakeCore) -> None:
    v = Verified(make_core(others=(1,), transaction_partition_verification_enable="false"))
    v.core.partition().leader_log().producers.begin_verification(*PRODUCER)  # when it was enabled
    assert v.verify(T0).result() == {}
    assert not v.coordinator.requests
    assert v.append() is NONE
