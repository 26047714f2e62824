"""kafka-transactions: who is asked for what, what is printed, and which transactions hang."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.describe_producers import DescribeProducersResponse
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsResponse
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkapy.protocol.messages.list_transactions import ListTransactionsResponse
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersResponse
from kafkapy.tools.transactions import commands as transactions_commands
from kafkapy.tools.transactions import transactions
from tests.tools.fake_cluster import FakeCluster

Tool = Callable[..., list[list[str]]]

NOW = 1_700_000_000_000
MINUTE = 60_000


def producer(producer_id: int, age_minutes: int = 0, start: int = -1) -> DescribeProducersResponse.ProducerState:
    return DescribeProducersResponse.ProducerState(
        producer_id=producer_id,
        producer_epoch=1,
        last_sequence=9,
        last_timestamp=NOW - age_minutes * MINUTE,
        coordinator_epoch=-1,
        current_txn_start_offset=start,
    )


class Transactions:
    """What the one broker knows of transactions and producers."""

    def __init__(self) -> None:
        self.cluster = FakeCluster(
            racks={0: None},
            replicas={TopicPartition("a", 0): [0], TopicPartition("a", 1): [0], TopicPartition("b", 0): [0]},
        )
        self.broker = self.cluster.broker
        self.broker.handlers |= {
            ApiKey.LIST_TRANSACTIONS: self.list,
            ApiKey.DESCRIBE_TRANSACTIONS: self.describe,
            ApiKey.DESCRIBE_PRODUCERS: self.describe_producers,
            ApiKey.WRITE_TXN_MARKERS: self.write_markers,
            ApiKey.FIND_COORDINATOR: self.find_coordinator,
        }
        self.states: dict[str, DescribeTransactionsResponse.TransactionState] = {}
        self.producers: dict[tuple[str, int], list[DescribeProducersResponse.ProducerState]] = {}
        self.errors: dict[ApiKey, list[Errors]] = {}
        """Given out one by one."""

    def add(self, transactional_id: str, producer_id: int, *partitions: tuple[str, int]) -> None:
        topic = DescribeTransactionsResponse.TopicData
        self.states[transactional_id] = DescribeTransactionsResponse.TransactionState(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=1,
            transaction_state="Ongoing" if partitions else "Empty",
            transaction_timeout_ms=60_000,
            transaction_start_time_ms=NOW - 5_000 if partitions else -1,
            topics=[topic(topic=name, partitions=[index]) for name, index in partitions],
        )

    def _error(self, key: ApiKey) -> int:
        errors = self.errors.get(key)
        return errors.pop(0).code if errors else 0

    def list(self, request: Any) -> ListTransactionsResponse:
        error = self._error(ApiKey.LIST_TRANSACTIONS)
        states = [
            ListTransactionsResponse.TransactionState(
                transactional_id=id, producer_id=state.producer_id, transaction_state=state.transaction_state
            )
            for id, state in self.states.items()
            if not request.producer_id_filters or state.producer_id in request.producer_id_filters
        ]
        return ListTransactionsResponse(error_code=error, transaction_states=[] if error else states)

    def describe(self, request: Any) -> DescribeTransactionsResponse:
        unknown = Errors.TRANSACTIONAL_ID_NOT_FOUND.code
        state = DescribeTransactionsResponse.TransactionState
        return DescribeTransactionsResponse(
            transaction_states=[
                self.states.get(id) or state(transactional_id=id, error_code=unknown)
                for id in request.transactional_ids
            ]
        )

    def describe_producers(self, request: Any) -> DescribeProducersResponse:
        part, topic = DescribeProducersResponse.PartitionResponse, DescribeProducersResponse.TopicResponse
        return DescribeProducersResponse(
            topics=[
                topic(
                    name=asked.name,
                    partitions=[
                        part(
                            partition_index=index,
                            error_code=self._error(ApiKey.DESCRIBE_PRODUCERS),
                            active_producers=self.producers.get((asked.name, index), []),
                        )
                        for index in asked.partition_indexes
                    ],
                )
                for asked in request.topics
            ]
        )

    def write_markers(self, request: Any) -> WriteTxnMarkersResponse:
        (marker,) = request.markers
        (topic,) = marker.topics
        result = WriteTxnMarkersResponse
        part = result.WritableTxnMarkerPartitionResult(
            partition_index=topic.partition_indexes[0], error_code=self._error(ApiKey.WRITE_TXN_MARKERS)
        )
        found = result.WritableTxnMarkerTopicResult(name=topic.name, partitions=[part])
        return result(markers=[result.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=[found])])

    def find_coordinator(self, request: Any) -> FindCoordinatorResponse:
        assert request.key_type == 1
        found = FindCoordinatorResponse.Coordinator
        return FindCoordinatorResponse(
            coordinators=[
                found(key=key, node_id=0, host="127.0.0.1", port=self.broker.port) for key in request.coordinator_keys
            ]
        )


@pytest.fixture
def txns() -> Iterator[Transactions]:
    made = Transactions()
    with made.broker:
        yield made


@pytest.fixture
def tool(txns: Transactions, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    """The table that is printed, or what is said if it fails."""
    monkeypatch.setattr(transactions_commands, "now_ms", lambda: NOW)

    def tool(command: str, status: int = 0) -> list[list[str]]:
        assert transactions.main(["--bootstrap-server", txns.broker.address, *command.split()]) == status
        printed, said = capsys.readouterr()
        lines = said if status else printed
        return [[cell.rstrip() for cell in line.split("\t")] for line in lines.splitlines()]

    return tool


def test_list(txns: Transactions, tool: Tool) -> None:
    txns.add("idle", 6)
    txns.add("payments", 5, ("a", 0))
    assert tool("list") == [
        ["TransactionalId", "Coordinator", "ProducerId", "TransactionState", ""],
        ["idle", "0", "6", "Empty", ""],
        ["payments", "0", "5", "Ongoing", ""],
    ]
    (request,) = txns.broker.asked(ApiKey.LIST_TRANSACTIONS)
    assert request.duration_filter == -1
    tool("list --duration-filter 5")
    assert txns.broker.asked(ApiKey.LIST_TRANSACTIONS)[-1].duration_filter == 5


def test_list_waits_for_a_coordinator_that_loads(txns: Transactions, tool: Tool) -> None:
    txns.errors[ApiKey.LIST_TRANSACTIONS] = [Errors.COORDINATOR_LOAD_IN_PROGRESS]
    txns.add("idle", 6)
    assert len(tool("list")) == 2


def test_list_is_refused(txns: Transactions, tool: Tool) -> None:
    txns.errors[ApiKey.LIST_TRANSACTIONS] = [Errors.COORDINATOR_NOT_AVAILABLE]
    ((said,),) = tool("list", 1)
    assert said.startswith("Failed to list transactions: ")


def test_a_duration_needs_a_broker_that_knows_it(txns: Transactions, tool: Tool) -> None:
    txns.broker.ranges[ApiKey.LIST_TRANSACTIONS] = (0, 0)
    assert len(tool("list")) == 1
    ((said,),) = tool("list --duration-filter 5", 1)
    assert said.startswith("Failed to list transactions: ")


def test_describe(txns: Transactions, tool: Tool) -> None:
    txns.add("payments", 5, ("b", 0), ("a", 1))
    txns.add("idle", 6)
    header, row = tool("describe --transactional-id payments")
    assert header[:-1] == [
        *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"),
        *("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"),
    ]
    assert row[:-1] == ["0", "payments", "5", "1", "Ongoing", "60000", str(NOW - 5_000), "5000", "a-1,b-0"]
    assert tool("describe --transactional-id idle")[1][6:9] == ["None", "None", ""]


def test_describe_one_that_is_not_there(tool: Tool) -> None:
    ((said,),) = tool("describe --transactional-id nobody", 1)
    assert said.startswith("Failed to describe transaction state of transactional-id `nobody`: ")
    assert said.endswith("the ID could not be found")


def test_describe_producers(txns: Transactions, tool: Tool) -> None:
    txns.producers["a", 1] = [producer(5, 0, 7), producer(6)]
    assert tool("describe-producers --topic a --partition 1")[1:] == [
        ["5", "1", "-1", "9", str(NOW), "7", ""],
        ["6", "1", "-1", "9", str(NOW), "None", ""],
    ]
    assert len(tool("describe-producers --topic a --partition 1 --broker-id 0")) == 3


@pytest.mark.parametrize(
    ("command", "errors", "sentence"),
    [
        ("--topic a --partition 9", [], "Failed to describe producers for partition a-9 on leader: "),
        (
            "--topic a --partition 0 --broker-id 7",
            [],
            "Failed to describe producers for partition a-0 on broker 7: There is no live broker with id 7",
        ),
        (
            "--topic a --partition 0 --broker-id 0",
            [Errors.NOT_LEADER_OR_FOLLOWER],
            "Failed to describe producers for partition a-0 on broker 0: ",
        ),
    ],
)
def test_producers_that_cannot_be_described(
    txns: Transactions, tool: Tool, command: str, errors: list[Errors], sentence: str
) -> None:
    txns.errors[ApiKey.DESCRIBE_PRODUCERS] = errors
    ((said,),) = tool(f"describe-producers {command}", 1)
    assert said.startswith(sentence)


def test_the_leader_of_a_partition_moves(txns: Transactions, tool: Tool) -> None:
    txns.errors[ApiKey.DESCRIBE_PRODUCERS] = [Errors.NOT_LEADER_OR_FOLLOWER]
    txns.producers["a", 0] = [producer(5)]
    assert len(tool("describe-producers --topic a --partition 0")) == 2


class TestAbort:
    def test_by_its_first_offset(self, txns: Transactions, tool: Tool) -> None:
        txns.producers["a", 0] = [producer(6, 0, 8), producer(5, 0, 7)]
        txns.errors[ApiKey.WRITE_TXN_MARKERS] = [Errors.NOT_LEADER_OR_FOLLOWER]
        assert tool("abort --topic a --partition 0 --start-offset 7") == []
        _, request = txns.broker.asked(ApiKey.WRITE_TXN_MARKERS)
        (marker,) = request.markers
        assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (5, 1, 0)
        assert not marker.transaction_result
        assert [(topic.name, topic.partition_indexes) for topic in marker.topics] == [("a", [0])]

    def test_by_its_producer(self, txns: Transactions, tool: Tool) -> None:
        tool("abort --topic a --partition 1 --producer-id 5 --producer-epoch 2 --coordinator-epoch -1")
        tool("abort --topic a --partition 1 --producer-id 5 --producer-epoch 2 --coordinator-epoch 3")
        markers = [request.markers[0] for request in txns.broker.asked(ApiKey.WRITE_TXN_MARKERS)]
        assert [(m.producer_id, m.producer_epoch, m.coordinator_epoch) for m in markers] == [(5, 2, 0), (5, 2, 3)]

    def test_none_begins_there(self, txns: Transactions, tool: Tool) -> None:
        txns.producers["a", 0] = [producer(5, 0, 7), producer(6)]
        said = "Could not find any open transactions starting at offset 8 on partition a-0"
        assert tool("abort --topic a --partition 0 --start-offset 8", 1) == [[said]]
        assert txns.broker.asked(ApiKey.WRITE_TXN_MARKERS) == []

    def test_it_is_refused(self, txns: Transactions, tool: Tool) -> None:
        txns.errors[ApiKey.WRITE_TXN_MARKERS] = [Errors.INVALID_PRODUCER_EPOCH]
        command = "abort --topic a --partition 0 --producer-id 5 --producer-epoch 0 --coordinator-epoch 0"
        ((said,),) = tool(command, 1)
        assert said.startswith("Failed to abort transaction AbortTransactionSpec(")
        assert Errors.INVALID_PRODUCER_EPOCH.message in said


class TestFindHanging:
    HEADER = (
        *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp"),
        "Duration(min)",
    )

    def test_what_no_coordinator_knows_hangs(self, txns: Transactions, tool: Tool) -> None:
        txns.add("known", 5, ("a", 0))
        txns.add("elsewhere", 6, ("b", 0))
        txns.producers["a", 0] = [producer(5, 20, 3), producer(6, 30, 4), producer(7, 40, 5)]
        txns.producers["a", 1] = [producer(8, 14, 6), producer(9, 50)]
        header, *rows = tool("find-hanging --topic a")
        assert tuple(header[:-1]) == self.HEADER
        assert rows == [
            ["a", "0", "6", "1", "-1", "4", str(NOW - 30 * MINUTE), "30", ""],
            ["a", "0", "7", "1", "-1", "5", str(NOW - 40 * MINUTE), "40", ""],
        ]
        (request,) = txns.broker.asked(ApiKey.LIST_TRANSACTIONS)
        assert sorted(request.producer_id_filters) == [5, 6, 7]

    def test_the_longest_time_out_is_given(self, txns: Transactions, tool: Tool) -> None:
        txns.producers["a", 1] = [producer(8, 14, 6)]
        assert len(tool("find-hanging --topic a --partition 1 --max-transaction-timeout 13")) == 2
        assert len(tool("find-hanging --topic a --partition 1 --max-transaction-timeout 14")) == 1

    def test_a_transactional_id_that_expires_meanwhile(self, txns: Transactions, tool: Tool) -> None:
        txns.add("gone", 5, ("a", 0))
        txns.producers["a", 0] = [producer(5, 20, 3)]

        def list_and_forget(request: Any) -> ListTransactionsResponse:
            listed = txns.list(request)
            txns.states.clear()
            return listed

        txns.broker.handlers[ApiKey.LIST_TRANSACTIONS] = list_and_forget
        assert [row[2] for row in tool("find-hanging --topic a")[1:]] == ["5"]

    def test_only_replicas_of_the_broker(self, txns: Transactions, tool: Tool) -> None:
        txns.cluster.replicas[TopicPartition("a", 1)] = [1]
        txns.producers = {("a", 0): [producer(5, 20, 3)], ("a", 1): [producer(6, 20, 3)], ("b", 0): [producer(7, 20)]}
        assert [row[:3] for row in tool("find-hanging --broker-id 0")[1:]] == [["a", "0", "5"]]
        asked = [
            (topic.name, topic.partition_indexes)
            for r in txns.broker.asked(ApiKey.DESCRIBE_PRODUCERS)
            for topic in r.topics
        ]
        assert asked == [("a", [0]), ("b", [0])]

    def test_nobody_is_asked_of_coordinators_without_need(self, txns: Transactions, tool: Tool) -> None:
        assert len(tool("find-hanging --broker-id 0")) == 1
        assert txns.broker.asked(ApiKey.LIST_TRANSACTIONS) == []
