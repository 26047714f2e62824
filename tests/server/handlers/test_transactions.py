"""The transactional APIs from the request's bytes to the response's, over real coordinators and logs."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkapy.protocol.messages.end_txn import EndTxnRequest
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.list_transactions import ListTransactionsRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.server.authorizer import CLUSTER_NAME
from tests.server.broker_core import TOPIC, BrokerCore, Client, MakeCore, batch, topic_id_of
from tests.server.coordinators.test_txn_verifier import AskedCoordinator
from tests.server.handlers.test_groups import FakeAuthorizer

TX = "tx"
GROUP = "g"
PARTITIONS = 2
"""Of the coordinators' topics."""


class Producer:
    """A client of a broker that coordinates everything."""

    def __init__(self, core: BrokerCore, coordinates: bool = True) -> None:
        self.core = core
        core.create_topic(partitions=2)
        core.transactions.startup(core.producer_ids, PARTITIONS)
        core.groups.startup(PARTITIONS)
        if coordinates:
            core.create_topic(TRANSACTION_STATE_TOPIC, PARTITIONS, cleanup_policy="compact")
            core.create_topic(GROUP_METADATA_TOPIC, PARTITIONS, cleanup_policy="compact")
            core.advance(0)
        self.client: Client = core.connect()
        self.id = ProducerIdAndEpoch()

    def fenced(self) -> ProducerIdAndEpoch:
        return self.id._replace(epoch=self.id.epoch + 1)

    def init(self, version: int = 5, expected: ProducerIdAndEpoch = ProducerIdAndEpoch()) -> Errors:  # noqa: B008
        response = self.client.call(
            InitProducerIdRequest(
                transactional_id=TX,
                transaction_timeout_ms=60_000,
                producer_id=expected.producer_id,
                producer_epoch=expected.epoch,
            ),
            version,
        )
        self.core.advance(0)
        if response.error_code == 0:
            self.id = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
        return Errors.for_code(response.error_code)

    def add(
        self, *names: tuple[str, int], version: int = 3, producer: ProducerIdAndEpoch | None = None
    ) -> dict[tuple[str, int], Errors]:
        producer = self.id if producer is None else producer
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TX,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=topics_of(names or ((TOPIC, 0),)),
        )
        return results(self.behind_others(request, version).results_by_topic_v3_and_below)

    def behind_others(self, request: Message, version: int) -> Any:
        """The response of what may begin a transaction: in the next turn."""
        self.client.send(request, version)
        self.core.advance(0)
        response = self.client.response()
        assert response is not None, "not answered yet"
        return response

    def ask(
        self, *names: tuple[str, int], version: int = 5, verify_only: bool = True,
        producer: ProducerIdAndEpoch | None = None,
    ) -> dict[tuple[str, int], Errors]:  # fmt: skip
        """As another broker does."""
        producer = self.id if producer is None else producer
        question = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
            transactional_id=TX,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=verify_only,
            topics=topics_of(names or ((TOPIC, 0),)),
        )
        response = self.client.call(AddPartitionsToTxnRequest(transactions=[question]), version)
        (result,) = response.results_by_transaction
        assert result.transactional_id == TX
        return results(result.topic_results)

    def add_offsets(self, version: int = 3, producer: ProducerIdAndEpoch | None = None) -> Errors:
        producer = self.id if producer is None else producer
        request = AddOffsetsToTxnRequest(
            transactional_id=TX, producer_id=producer.producer_id, producer_epoch=producer.epoch, group_id=GROUP
        )
        return Errors.for_code(self.behind_others(request, version).error_code)

    def end(self, commit: bool = True, version: int = 3, producer: ProducerIdAndEpoch | None = None) -> Errors:
        producer = self.id if producer is None else producer
        request = EndTxnRequest(
            transactional_id=TX, producer_id=producer.producer_id, producer_epoch=producer.epoch, committed=commit
        )
        error = Errors.for_code(self.client.call(request, version).error_code)
        self.core.advance(0)
        return error

    def produce(self, sequence: int = 0, *, index: int = 0, version: int = 11) -> tuple[Errors, str | None]:
        records = batch(producer=(*self.id, sequence), is_transactional=True)
        data = ProduceRequest.PartitionProduceData(index=index, records=records)
        topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
        request = ProduceRequest(transactional_id=TX, acks=-1, timeout_ms=1_000, topic_data=[topic])
        answer = self.client.call(request, version).responses[0].partition_responses[0]
        return Errors.for_code(answer.error_code), answer.error_message

    def commit_offset(
        self, offset: int = 5, *, version: int = 4, name: tuple[str, int] = (TOPIC, 0), **group: Any
    ) -> Errors:
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=name[1], committed_offset=offset
        )
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=name[0], partitions=[partition])
        request = TxnOffsetCommitRequest(
            transactional_id=TX, group_id=GROUP, producer_id=self.id.producer_id, producer_epoch=self.id.epoch,
            topics=[topic], **group,
        )  # fmt: skip
        ((answer,),) = (topic.partitions for topic in self.client.call(request, version).topics)
        return Errors.for_code(answer.error_code)

    def committed(self, require_stable: bool = False) -> int | Errors:
        topic = OffsetFetchRequest.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])
        response = self.client.call(OffsetFetchRequest(groups=[group], require_stable=require_stable), 8)
        answer = response.groups[0].topics[0].partitions[0]
        error = Errors.for_code(answer.error_code)
        return int(answer.committed_offset) if error is NONE else error

    def member(self) -> str:
        """Of a group in generation 1."""
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        other = self.core.connect()
        other.send(
            JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=30_000,
                rebalance_timeout_ms=30_000,
                protocol_type="consumer",
                protocols=[protocol],
            ),
            3,
        )
        self.core.advance(6_000)
        member_id: str = other.response().member_id
        other.call(SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=member_id), 3)
        return member_id

    def state(self) -> str:
        response = self.client.call(DescribeTransactionsRequest(transactional_ids=[TX]), 0)
        state: str = response.transaction_states[0].transaction_state
        return state

    def load_again(self) -> None:
        """The coordinators of transactions are to be read, and have not been."""
        for index in range(PARTITIONS):
            self.core.transactions.coordinator.on_resignation(index, None)
            self.core.transactions.coordinator.on_election(index, 1)


@pytest.fixture
def p(make_core: MakeCore) -> Producer:
    producer = Producer(make_core())
    assert producer.init() is NONE
    return producer


def topics_of(names: tuple[tuple[str, int], ...]) -> list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]:
    return [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in names]


def results(topics: Any) -> dict[tuple[str, int], Errors]:
    return {
        (topic.name, result.partition_index): Errors.for_code(result.partition_error_code)
        for topic in topics
        for result in topic.results_by_partition
    }


def test_what_begins_gives_way_to_what_has_begun(p: Producer) -> None:
    """With many producers the wait is before their transactions, not at the ends. Of one on its way nothing waits."""
    begin = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TX,
        v3_and_below_producer_id=p.id.producer_id,
        v3_and_below_producer_epoch=p.id.epoch,
        v3_and_below_topics=topics_of(((TOPIC, 0), (TOPIC, 1))),
    )
    p.client.send(begin, 3)
    other = p.core.connect()
    assert other.call(DescribeTransactionsRequest(transactional_ids=[TX]), 0).transaction_states[
        0
    ].transaction_state == ("Empty")
    assert p.client.response() is None
    p.core.advance(0)
    assert set(results(p.client.response().results_by_topic_v3_and_below).values()) == {NONE}
    assert set(results(p.client.call(begin, 3).results_by_topic_v3_and_below).values()) == {NONE}


def test_what_begins_lets_others_have_their_turns(p: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = [p.core.connect() for _ in range(3)]
    for client in clients:
        client.send(
            AddOffsetsToTxnRequest(transactional_id="nobody", producer_id=1, producer_epoch=0, group_id=GROUP), 3
        )
    answered: list[int] = []

    def should_yield() -> bool:
        answered.append(sum(bool(client.transport.sent) for client in clients))
        return True

    monkeypatch.setattr(p.core.time, "should_yield", should_yield)
    p.core.advance(0)
    assert answered == [1, 2, 3]
    assert [client.response().error_code for client in clients] == [Errors.INVALID_PRODUCER_ID_MAPPING.code] * 3


# -- a transaction, in all versions


@pytest.mark.parametrize("version", range(ApiKey.INIT_PRODUCER_ID.max_version + 1))
def test_init_producer_id(make_core: MakeCore, version: int) -> None:
    p = Producer(make_core())
    for epoch in range(3):
        assert p.init(version) is NONE
        assert p.id == (1000, epoch)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction(p: Producer, version: int, commit: bool) -> None:
    assert p.add((TOPIC, 0), (TOPIC, 1), version=version) == {(TOPIC, 0): NONE, (TOPIC, 1): NONE}
    assert p.add_offsets(version) is NONE
    assert p.state() == "Ongoing"
    assert p.produce() == (NONE, None)
    assert p.commit_offset(version=version) is NONE
    log = p.core.partition().leader_log()
    assert (log.last_stable_offset, log.high_watermark) == (0, 1)
    assert p.committed(require_stable=True) is Errors.UNSTABLE_OFFSET_COMMIT
    assert p.committed() == -1
    assert p.end(commit, version) is NONE
    assert p.state() == ("CompleteCommit" if commit else "CompleteAbort")
    assert (log.last_stable_offset, log.high_watermark) == (2, 2)
    assert p.core.partition(TOPIC, 1).leader_log().high_watermark == 1, "a marker alone"
    assert p.committed(require_stable=True) == (5 if commit else -1)
    assert p.end(commit, version) is NONE, "said again"
    assert p.end(not commit, version) is Errors.INVALID_TXN_STATE


# -- errors by version


def known_as(version: int, first_with_fenced: int) -> Errors:
    return Errors.PRODUCER_FENCED if version >= first_with_fenced else Errors.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("version", range(4))
def test_who_is_fenced(p: Producer, version: int) -> None:
    expected = known_as(version, 2)
    assert p.add(version=version, producer=p.fenced()) == {(TOPIC, 0): expected}
    assert p.add_offsets(version, p.fenced()) is expected
    assert p.end(True, version, p.fenced()) is expected


@pytest.mark.parametrize("version", [3, 4, 5])
def test_who_goes_on_as_somebody_else_is_fenced(p: Producer, version: int) -> None:
    assert p.init(version, ProducerIdAndEpoch(p.id.producer_id, 9)) is known_as(version, 4)


def test_an_unknown_producer(p: Producer) -> None:
    stranger = ProducerIdAndEpoch(99, 0)
    assert p.add(producer=stranger) == {(TOPIC, 0): Errors.INVALID_PRODUCER_ID_MAPPING}
    assert p.add_offsets(producer=stranger) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert p.end(producer=stranger) is Errors.INVALID_PRODUCER_ID_MAPPING


def test_a_broker_that_does_not_coordinate(make_core: MakeCore) -> None:
    p = Producer(make_core(), coordinates=False)
    assert p.init() is Errors.NOT_COORDINATOR
    assert p.add() == {(TOPIC, 0): Errors.NOT_COORDINATOR}
    assert p.end() is Errors.NOT_COORDINATOR


def test_all_or_none_of_the_partitions_are_added(p: Producer) -> None:
    assert p.add((TOPIC, 0), ("?", 0), (GROUP_METADATA_TOPIC, 0)) == {
        (TOPIC, 0): Errors.OPERATION_NOT_ATTEMPTED,
        ("?", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        (GROUP_METADATA_TOPIC, 0): Errors.TOPIC_AUTHORIZATION_FAILED,
    }
    assert p.state() == "Empty"


# -- what brokers ask


@pytest.mark.parametrize(
    ("version", "expected"), [(4, Errors.TRANSACTION_ABORTABLE), (5, Errors.TRANSACTION_ABORTABLE)]
)
def test_verification(p: Producer, version: int, expected: Errors) -> None:
    p.add((TOPIC, 0), (GROUP_METADATA_TOPIC, 0))
    assert p.add_offsets() is NONE
    assert p.ask((TOPIC, 0), (TOPIC, 1), version=version) == {(TOPIC, 0): expected, (TOPIC, 1): expected}
    p.add((TOPIC, 0))
    assert p.ask((TOPIC, 0), (TOPIC, 1), version=version) == {(TOPIC, 0): NONE, (TOPIC, 1): expected}
    assert p.ask(version=version, producer=p.fenced()) == {(TOPIC, 0): Errors.PRODUCER_FENCED}


def test_brokers_may_add_partitions_of_internal_topics(p: Producer) -> None:
    name = (GROUP_METADATA_TOPIC, 0)
    assert p.ask(name, verify_only=False) == {name: NONE}
    assert p.ask(name) == {name: NONE}


# -- produce (KIP-890)


@pytest.mark.parametrize(
    ("version", "expected", "message"),
    [
        (3, Errors.INVALID_TXN_STATE, None),
        (10, Errors.INVALID_TXN_STATE, "Partition was not added to the transaction"),
        (11, Errors.TRANSACTION_ABORTABLE, None),
    ],
)
def test_records_outside_of_a_transaction(p: Producer, version: int, expected: Errors, message: str | None) -> None:
    assert p.produce(version=version) == (expected, message)
    p.add((TOPIC, 1))
    assert p.produce(version=version) == (expected, message)
    assert p.produce(index=1, version=version) == (NONE, None)
    p.end()
    assert p.produce(1, index=1, version=version) == (expected, message), "it is over"
    assert p.core.partition().leader_log().log_end_offset == 0


@pytest.mark.parametrize("version", [3, 11])
def test_records_while_the_coordinator_is_loading(p: Producer, version: int) -> None:
    p.add()
    p.load_again()
    error, message = p.produce(version=version)
    assert error is Errors.NOT_ENOUGH_REPLICAS
    if version >= 8:
        assert message is not None
        assert message.endswith("Underlying error: COORDINATOR_LOAD_IN_PROGRESS")
    p.core.advance(0)
    assert p.produce(version=version) == (NONE, None)
    p.load_again()
    assert p.produce(1, version=version) == (NONE, None), "it has begun, so nobody is asked"


def test_records_of_a_fenced_producer(p: Producer) -> None:
    p.add()
    old = p.id
    assert p.init() is Errors.CONCURRENT_TRANSACTIONS
    assert p.init() is NONE
    assert p.id == (old.producer_id, old.epoch + 2)
    p.id = old
    assert p.produce()[0] is Errors.INVALID_PRODUCER_EPOCH


# -- offsets


def test_offsets_need_a_transaction(p: Producer) -> None:
    for version, expected in ((3, Errors.INVALID_TXN_STATE), (4, Errors.TRANSACTION_ABORTABLE)):
        assert p.commit_offset(version=version) is expected
    p.add_offsets()
    assert p.commit_offset(version=3) is NONE


@pytest.mark.parametrize(
    ("version", "expected"),
    [(0, Errors.COORDINATOR_NOT_AVAILABLE), (1, Errors.COORDINATOR_NOT_AVAILABLE), (2, Errors.COORDINATOR_LOAD_IN_PROGRESS)],
)  # fmt: skip
def test_offsets_while_a_coordinator_is_loading(p: Producer, version: int, expected: Errors) -> None:
    p.add_offsets()
    p.load_again()
    assert p.commit_offset(version=version) is expected


def test_offsets_of_members(p: Producer) -> None:
    """A producer that says for which member it commits is checked (KIP-447); one that does not is fenced by its own id."""
    member_id = p.member()
    p.add_offsets()
    assert p.commit_offset(generation_id=1, member_id=member_id) is NONE
    assert p.commit_offset(generation_id=2, member_id=member_id) is Errors.ILLEGAL_GENERATION
    assert p.commit_offset(generation_id=1, member_id="x") is Errors.UNKNOWN_MEMBER_ID
    assert p.commit_offset(generation_id=1, member_id=member_id, group_instance_id="x") is Errors.UNKNOWN_MEMBER_ID
    assert p.commit_offset(generation_id=1) is Errors.UNKNOWN_MEMBER_ID
    for version in range(5):
        assert p.commit_offset(version=version) is NONE


def test_offsets_of_a_member_of_an_unknown_group(p: Producer) -> None:
    p.add_offsets()
    assert p.commit_offset(generation_id=1, member_id="x") is Errors.UNKNOWN_MEMBER_ID


def test_offsets_of_unknown_topics(p: Producer) -> None:
    p.add_offsets()
    assert p.commit_offset(name=("?", 0)) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert p.commit_offset(name=(TOPIC, 9)) is Errors.UNKNOWN_TOPIC_OR_PARTITION


# -- markers and administration


@pytest.mark.parametrize("version", range(ApiKey.WRITE_TXN_MARKERS.max_version + 1))
def test_write_txn_markers(p: Producer, version: int) -> None:
    """An operator ends a transaction that hangs (KIP-664)."""
    p.add()
    p.produce()
    topics = [
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0, 9]),
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="?", partition_indexes=[0]),
    ]
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=p.id.producer_id, producer_epoch=p.id.epoch, transaction_result=False, topics=topics
    )
    (answer,) = p.client.call(WriteTxnMarkersRequest(markers=[marker]), version).markers
    assert answer.producer_id == p.id.producer_id
    assert {
        (topic.name, partition.partition_index): Errors.for_code(partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    } == {
        (TOPIC, 0): NONE,
        (TOPIC, 9): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("?", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert p.core.partition().leader_log().last_stable_offset == 2


def test_describe_and_list(p: Producer) -> None:
    p.add((TOPIC, 1))
    shown, unknown = p.client.call(DescribeTransactionsRequest(transactional_ids=[TX, "?"]), 0).transaction_states
    assert (shown.error_code, shown.transactional_id, shown.transaction_state) == (0, TX, "Ongoing")
    assert [(topic.topic, topic.partitions) for topic in shown.topics] == [(TOPIC, [1])]
    assert Errors.for_code(unknown.error_code) is Errors.TRANSACTIONAL_ID_NOT_FOUND
    for version in range(ApiKey.LIST_TRANSACTIONS.max_version + 1):
        (listed,) = p.client.call(ListTransactionsRequest(), version).transaction_states
        assert (listed.transactional_id, listed.producer_id, listed.transaction_state) == (TX, 1000, "Ongoing")
        assert not p.client.call(ListTransactionsRequest(state_filters=["Empty"]), version).transaction_states


def test_a_deleted_topic_does_not_hold_up_a_transaction(p: Producer) -> None:
    p.add((TOPIC, 0), (TOPIC, 1))
    p.core.update_metadata(TOPIC, [0], topic_id_of(TOPIC), -2, 1, [0], [0])
    assert p.end() is NONE
    assert p.state() == "PrepareCommit"
    p.core.advance(2_000)
    assert p.state() == "CompleteCommit"


# -- another broker coordinates


class Asking(Producer):
    """A client of a broker that has to ask broker 1."""

    def __init__(self, core: BrokerCore) -> None:
        super().__init__(core, coordinates=False)
        self.id = ProducerIdAndEpoch(7, 0)
        self.coordinator = AskedCoordinator()
        verifier: Any = core.transactions.verifier
        verifier._brokers = {1: self.coordinator}
        topic_id = topic_id_of(TRANSACTION_STATE_TOPIC)
        core.update_metadata(TRANSACTION_STATE_TOPIC, range(PARTITIONS), topic_id, 1, 0, [1], [1])

    def send(self, *indexes: int, acks: int = 1, sequence: int = 0) -> None:
        records = batch(producer=(*self.id, sequence), is_transactional=True)
        data = [ProduceRequest.PartitionProduceData(index=index, records=records) for index in indexes]
        topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=data)
        self.client.send(ProduceRequest(transactional_id=TX, acks=acks, timeout_ms=1_000, topic_data=[topic]), 11)

    def answers(self) -> dict[int, Errors]:
        response = self.client.response()
        assert response is not None, "not answered yet"
        return {p.index: Errors.for_code(p.error_code) for p in response.responses[0].partition_responses}


def test_records_wait_for_the_coordinator_and_what_follows_waits_for_them(make_core: MakeCore) -> None:
    a = Asking(make_core(others=(1,)))
    a.send(0, 1)
    a.send(1, sequence=1)
    assert a.client.response() is None
    assert len(a.coordinator.requests) == 1
    a.coordinator.answer({TopicPartition(TOPIC, 0): Errors.TRANSACTION_ABORTABLE})
    assert a.answers() == {0: Errors.TRANSACTION_ABORTABLE, 1: NONE}
    assert not a.coordinator.requests, "the transaction has begun in partition 1"
    assert a.answers() == {1: NONE}
    ends = [a.core.partition(TOPIC, index).leader_log().log_end_offset for index in (0, 1)]
    assert ends == [0, 2]


@pytest.mark.parametrize("error", [Errors.CONCURRENT_TRANSACTIONS, Errors.NOT_COORDINATOR, Errors.NETWORK_EXCEPTION])
def test_records_that_may_be_sent_again(make_core: MakeCore, error: Errors) -> None:
    a = Asking(make_core(others=(1,)))
    a.send(0)
    a.coordinator.answer({TopicPartition(TOPIC, 0): error})
    assert a.answers() == {0: Errors.NOT_ENOUGH_REPLICAS}
    a.send(0)
    a.coordinator.answer()
    assert a.answers() == {0: NONE}


def test_a_producer_that_wants_no_answer_is_cut_off(make_core: MakeCore) -> None:
    a = Asking(make_core(others=(1,)))
    a.send(0, acks=0)
    a.coordinator.answer({TopicPartition(TOPIC, 0): Errors.TRANSACTION_ABORTABLE})
    assert a.client.closed


# -- who is allowed


def test_who_is_not_allowed_to(p: Producer) -> None:
    authorizer = FakeAuthorizer()
    handler: Any = p.core.handlers.transactions
    handler._authorizer = authorizer
    p.add_offsets()
    denied = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    authorizer.denied = {("WRITE", "TRANSACTIONAL_ID", TX)}
    assert p.add() == {(TOPIC, 0): denied}
    assert p.add_offsets() is denied
    assert p.end() is denied
    assert p.commit_offset() is denied
    assert p.state() == "Ongoing"
    authorizer.denied = {("READ", "GROUP", GROUP)}
    assert p.add_offsets() is Errors.GROUP_AUTHORIZATION_FAILED
    assert p.commit_offset() is Errors.GROUP_AUTHORIZATION_FAILED
    authorizer.denied = {("READ", "TOPIC", TOPIC), ("WRITE", "TOPIC", TOPIC)}
    assert p.commit_offset() is Errors.TOPIC_AUTHORIZATION_FAILED
    assert p.add((TOPIC, 0), ("?", 0)) == {
        (TOPIC, 0): Errors.TOPIC_AUTHORIZATION_FAILED,
        ("?", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_who_is_not_allowed_to_see(p: Producer) -> None:
    p.add()
    authorizer = FakeAuthorizer()
    handler: Any = p.core.handlers.transactions
    handler._authorizer = authorizer
    authorizer.denied = {("DESCRIBE", "TOPIC", TOPIC)}
    (shown,) = p.client.call(DescribeTransactionsRequest(transactional_ids=[TX]), 0).transaction_states
    assert (shown.transaction_state, shown.topics) == ("Ongoing", [])
    authorizer.denied = {("DESCRIBE", "TRANSACTIONAL_ID", TX)}
    (shown,) = p.client.call(DescribeTransactionsRequest(transactional_ids=[TX]), 0).transaction_states
    assert Errors.for_code(shown.error_code) is Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert p.client.call(ListTransactionsRequest(), 0).transaction_states == []


def test_brokers_apis_are_for_brokers(p: Producer) -> None:
    authorizer = FakeAuthorizer()
    handler: Any = p.core.handlers.transactions
    handler._authorizer = authorizer
    authorizer.denied = {("CLUSTER_ACTION", "CLUSTER", CLUSTER_NAME)}
    response = p.client.call(AddPartitionsToTxnRequest(), 5)
    assert Errors.for_code(response.error_code) is Errors.CLUSTER_AUTHORIZATION_FAILED
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=p.id.producer_id, producer_epoch=p.id.epoch, transaction_result=True,
        topics=[WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])],
    )  # fmt: skip
    request = WriteTxnMarkersRequest(markers=[marker])
    assert p.client.call(request, 1).markers[0].topics[0].partitions[0].error_code == 0, "operators may, too"
    authorizer.denied.add(("ALTER", "CLUSTER", CLUSTER_NAME))
    (answer,) = p.client.call(request, 1).markers
    assert Errors.for_code(answer.topics[0].partitions[0].error_code) is Errors.CLUSTER_AUTHORIZATION_FAILED
