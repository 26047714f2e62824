from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    IllegalStateError,
    InvalidRequestError,
    KafkaTimeoutError,
    ProducerFencedError,
    TopicAuthorizationFailedError,
    TransactionAbortedError,
)
from kafkapy.producer.transactions import Transactions, TransactionsState
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from kafkapy.protocol.messages.end_txn import EndTxnResponse
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.structs import OffsetAndMetadata
from tests.producer.producer_setup import Setup


class Coordinator(Setup):
    """A cluster whose broker 0 coordinates transactions. `errors`: API -> error codes of its next answers."""

    def __init__(self, leaders: list[int] | None = None, **options: Any) -> None:
        self.errors: dict[ApiKey, list[Errors]] = {}
        super().__init__(leaders, transactional_id="tx", start=False, **options)
        for broker in self.cluster.brokers.values():
            broker.handlers |= {
                ApiKey.FIND_COORDINATOR: self.find,
                ApiKey.INIT_PRODUCER_ID: self.init,
                ApiKey.ADD_PARTITIONS_TO_TXN: self.add_partitions,
                ApiKey.ADD_OFFSETS_TO_TXN: self.add_offsets,
                ApiKey.TXN_OFFSET_COMMIT: lambda _: TxnOffsetCommitResponse(),
                ApiKey.END_TXN: self.end,
            }
        self.driver.result_of(spawn(self.core.start()), 100)
        self.driver.result_of(spawn(self.core.wait_on_metadata("t")), 100)
        assert self.core.transactions is not None
        self.transactions: Transactions = self.core.transactions

    def error(self, api_key: ApiKey) -> int:
        queue = self.errors.get(api_key)
        return queue.pop(0).code if queue else 0

    def find(self, request: Any) -> FindCoordinatorResponse:
        (key,) = request.coordinator_keys
        error = self.error(ApiKey.FIND_COORDINATOR)
        found = FindCoordinatorResponse.Coordinator(key=key, node_id=0, host="", port=0, error_code=error)
        return FindCoordinatorResponse(coordinators=[found])

    def init(self, request: Any) -> Any:
        response = self.init_producer_id(request)
        response.error_code = self.error(ApiKey.INIT_PRODUCER_ID)
        return response

    def add_partitions(self, request: Any) -> AddPartitionsToTxnResponse:
        code = self.error(ApiKey.ADD_PARTITIONS_TO_TXN)
        topic_result = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
        partition_result = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                topic_result(
                    name=topic.name,
                    results_by_partition=[
                        partition_result(partition_index=p, partition_error_code=code) for p in topic.partitions
                    ],
                )
                for topic in request.v3_and_below_topics
            ]
        )

    def add_offsets(self, request: Any) -> AddOffsetsToTxnResponse:
        return AddOffsetsToTxnResponse(error_code=self.error(ApiKey.ADD_OFFSETS_TO_TXN))

    def end(self, request: Any) -> EndTxnResponse:
        return EndTxnResponse(error_code=self.error(ApiKey.END_TXN))

    def do(self, coroutine: Any, within_ms: int = 3000) -> None:
        completion: Completion[None] = spawn(coroutine)
        self.driver.result_of(completion, within_ms)

    def begun(self) -> Coordinator:
        self.do(self.transactions.initialize())
        self.transactions.begin()
        return self

    def asked(self, api_key: ApiKey) -> list[Any]:
        return self.cluster.brokers[0].asked(api_key)


def test_a_transaction_from_begin_to_commit() -> None:
    setup = Coordinator().begun()
    future = setup.send(b"x")
    setup.do(setup.transactions.commit())
    assert future.succeeded()
    (add,) = setup.asked(ApiKey.ADD_PARTITIONS_TO_TXN)
    assert [(t.name, t.partitions) for t in add.v3_and_below_topics] == [("t", [0])]
    (produce,) = setup.asked(ApiKey.PRODUCE)
    assert produce.transactional_id == "tx"
    assert [end.committed for end in setup.asked(ApiKey.END_TXN)] == [True]
    assert setup.transactions.state is TransactionsState.READY


def test_an_empty_transaction_asks_nobody() -> None:
    setup = Coordinator().begun()
    setup.do(setup.transactions.commit())
    assert setup.asked(ApiKey.END_TXN) == []


def test_abort_fails_what_was_not_sent() -> None:
    setup = Coordinator(linger_ms=10_000).begun()
    future = setup.send(b"x")
    setup.do(setup.transactions.abort())
    with pytest.raises(TransactionAbortedError):
        future.get(0)
    assert setup.log().values == []
    setup.transactions.begin()


def test_offsets_go_with_the_transaction() -> None:
    setup = Coordinator().begun()
    offsets = {TopicPartition("t", 0): OffsetAndMetadata(5, "m", -1)}
    setup.do(setup.transactions.send_offsets(offsets, "group"))
    setup.do(setup.transactions.commit())
    (commit,) = setup.asked(ApiKey.TXN_OFFSET_COMMIT)
    assert (commit.group_id, commit.topics[0].partitions[0].committed_offset) == ("group", 5)
    assert len(setup.asked(ApiKey.END_TXN)) == 1


def test_a_commit_waits_for_offsets_that_are_still_sent() -> None:
    setup = Coordinator().begun()
    setup.errors = {ApiKey.ADD_OFFSETS_TO_TXN: [Errors.COORDINATOR_LOAD_IN_PROGRESS]}
    sending: Completion[None] = spawn(
        setup.transactions.send_offsets({TopicPartition("t", 0): OffsetAndMetadata(5, "m", -1)}, "group")
    )
    setup.driver.run()
    sending.cancel()  # who waited has gone
    setup.do(setup.transactions.commit())
    keys = [key for key, _, _ in setup.cluster.brokers[0].requests]
    assert keys.index(ApiKey.TXN_OFFSET_COMMIT) < keys.index(ApiKey.END_TXN)


def test_retriable_errors_are_retried() -> None:
    setup = Coordinator()
    setup.errors = {
        ApiKey.FIND_COORDINATOR: [Errors.COORDINATOR_NOT_AVAILABLE],
        ApiKey.INIT_PRODUCER_ID: [Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_COORDINATOR],
        ApiKey.ADD_PARTITIONS_TO_TXN: [Errors.CONCURRENT_TRANSACTIONS, Errors.UNKNOWN_TOPIC_OR_PARTITION],
        ApiKey.END_TXN: [Errors.COORDINATOR_NOT_AVAILABLE],
    }
    setup.begun()
    future = setup.send(b"x")
    setup.do(setup.transactions.commit())
    assert future.succeeded()


def test_verbs_out_of_order() -> None:
    setup = Coordinator()
    with pytest.raises(IllegalStateError):
        setup.transactions.begin()
    with pytest.raises(IllegalStateError):
        setup.send(b"x")
    setup.begun()
    with pytest.raises(IllegalStateError):
        setup.transactions.begin()
    setup.do(setup.transactions.commit())
    with pytest.raises(IllegalStateError):
        setup.do(setup.transactions.commit())
    with pytest.raises(IllegalStateError):
        setup.send(b"x")


def test_a_broker_without_transactions_says_so() -> None:
    setup = Coordinator()
    setup.errors = {ApiKey.FIND_COORDINATOR: [Errors.INVALID_REQUEST]}
    with pytest.raises(InvalidRequestError):
        setup.do(setup.transactions.initialize())


def test_init_transactions_times_out_and_goes_on() -> None:
    setup = Coordinator(max_block_ms=1000)
    setup.cluster.brokers[0].silent = True
    with pytest.raises(KafkaTimeoutError, match="initializing"):
        setup.do(setup.transactions.initialize())
    setup.cluster.brokers[0].silent = False
    setup.cluster.brokers[0].cut()
    setup.do(setup.transactions.initialize())
    assert setup.transactions.state is TransactionsState.READY


def test_a_fenced_producer_has_failed_for_good() -> None:
    setup = Coordinator().begun()
    setup.errors = {ApiKey.ADD_PARTITIONS_TO_TXN: [Errors.PRODUCER_FENCED]}
    future = setup.send(b"x")
    with pytest.raises(ProducerFencedError):
        setup.do(setup.transactions.commit())
    assert isinstance(future.exception, ProducerFencedError)
    for verb in (setup.transactions.abort, setup.transactions.commit):
        with pytest.raises(ProducerFencedError):
            setup.do(verb())
    with pytest.raises(ProducerFencedError):
        setup.transactions.begin()


def test_a_lost_record_has_the_transaction_aborted() -> None:
    setup = Coordinator().begun()
    setup.fault = lambda *_: Errors.TOPIC_AUTHORIZATION_FAILED
    setup.send(b"x")
    with pytest.raises(TopicAuthorizationFailedError):
        setup.do(setup.transactions.commit())
    with pytest.raises(TopicAuthorizationFailedError):
        setup.send(b"y")
    setup.do(setup.transactions.abort())
    assert [end.committed for end in setup.asked(ApiKey.END_TXN)] == [False]
    setup.fault = lambda *_: None
    setup.transactions.begin()
    future = setup.send(b"z")
    setup.do(setup.transactions.commit())
    assert future.succeeded()


def test_a_gap_gets_a_new_epoch_after_the_abort() -> None:
    setup = Coordinator(delivery_timeout_ms=500, request_timeout_ms=400).begun()
    setup.fault = lambda *_: "lost"
    future = setup.send(b"x")
    setup.driver.advance(700)
    assert future.failed()
    setup.fault = lambda *_: None
    setup.do(setup.transactions.abort())
    assert len(setup.asked(ApiKey.INIT_PRODUCER_ID)) == 2
    setup.transactions.begin()
    future = setup.send(b"y")
    setup.do(setup.transactions.commit())
    assert future.succeeded()
