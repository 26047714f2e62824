"""Transactions: producers with transactional ids, their partitions, offsets and ends, and what is told about them.

Whoever asks is mostly the producer that has the id at present; sometimes one that was fenced, or somebody else.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkapy.protocol.messages.end_txn import EndTxnRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkapy.protocol.messages.list_transactions import ListTransactionsRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.record.records_builder import MemoryRecordsBuilder
from system_tests.beside_apache.draw import INTERNAL_TOPICS, LOG_BEGIN_MS, TOPICS, Draw
from system_tests.beside_apache.question import Question
from system_tests.beside_apache.records import FIRST_PRODUCER_ID
from system_tests.beside_apache.side import Appended, Side

TRANSACTIONAL_IDS = ("x0", "x1", "x2", "x3", "x4", "x5")
"""Of several partitions of `__transaction_state`."""
GROUPS_OF_TRANSACTIONS = ("tx-group", "tx-group-2")
"""No other operation names them: with Apache a group exists, empty, as soon as a TxnOffsetCommit names it that is refused; with
kafkapy, when it has offsets."""
_FIRST_BATCHED = 4
_TRANSACTIONAL_VERSION = 3
"""Produce and Fetch know transactions from this version on."""
_LONG_MS = 800_000
"""Longer than the test: whether a transaction times out between two questions would be chance."""
_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareAbort",
    "Dead",
    "ongoing",
    "Foo",
)

NOBODY = 77_777
"""The id of a producer that no broker has given out."""

_Topics = list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]


class Asker(NamedTuple):
    """Who asks in a transaction: the one that has `transactional_id`, or not quite."""

    transactional_id: str
    epochs_off: int
    """How far its epoch is from the present one."""
    is_other: bool
    """Does it have the producer id of nobody?"""

    def producer(self, side: Side) -> ProducerIdAndEpoch:
        producer = side.producer(self.transactional_id)
        producer_id = NOBODY if self.is_other else producer.producer_id
        return ProducerIdAndEpoch(producer_id, max(-1, producer.epoch + self.epochs_off))


def _asker(draw: Draw) -> Asker:
    transactional_id = draw.choice(TRANSACTIONAL_IDS) if draw.chance(0.97) else draw.one_of("", "nope")
    return Asker(transactional_id, draw.one_of(*[0] * 20, -1, 1), draw.chance(0.02))


def init_transactions(draw: Draw) -> Question:
    asker = _asker(draw)
    goes_on = draw.chance(0.3)
    timeout_ms = draw.one_of(*[_LONG_MS] * 9, 700_000, 0, -1, 10**6)

    def request(side: Side) -> Message:
        producer = asker.producer(side) if goes_on else ProducerIdAndEpoch()
        return InitProducerIdRequest(
            transactional_id=asker.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
        )

    version = draw.version(ApiKey.INIT_PRODUCER_ID)
    return Question(ApiKey.INIT_PRODUCER_ID, version, request, transactional_id=asker.transactional_id)


def _topics(draw: Draw) -> _Topics:
    """Of several that are named together all are refused if one is; which of the others' errors is told is Apache's choice."""
    topics = [
        AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name, [draw.one_of(0, 0, 1, 2)]) for name in _names(draw)
    ]
    if draw.chance(0.05):
        topics[0].partitions = [draw.one_of(3, 5, 0)]
    return topics


def _names(draw: Draw) -> list[str]:
    if draw.chance(0.03):
        return [draw.choice(INTERNAL_TOPICS)]
    return sorted({draw.choice(TOPICS) for _ in range(draw.one_of(1, 1, 2))})


def add_partitions_to_txn(draw: Draw) -> Question:
    """Clients before version 4; after that brokers, which add or verify, for several producers."""
    version = draw.version(ApiKey.ADD_PARTITIONS_TO_TXN) if draw.chance(0.3) else draw.randint(0, 3)
    count = draw.one_of(1, 1, 2) if version >= _FIRST_BATCHED else 1
    askers = {asker.transactional_id: asker for asker in (_asker(draw) for _ in range(count))}
    wanted = [(asker, _topics(draw), draw.chance(0.7)) for asker in askers.values()]

    def request(side: Side) -> Message:
        if version < _FIRST_BATCHED:
            asker, topics, _ = wanted[0]
            producer = asker.producer(side)
            return AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=asker.transactional_id,
                v3_and_below_producer_id=producer.producer_id,
                v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=topics,
            )
        return AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                    transactional_id=asker.transactional_id,
                    producer_id=asker.producer(side).producer_id,
                    producer_epoch=asker.producer(side).epoch,
                    verify_only=verify_only,
                    topics=topics,
                )
                for asker, topics, verify_only in wanted
            ]
        )

    return Question(ApiKey.ADD_PARTITIONS_TO_TXN, version, request)


def add_offsets_to_txn(draw: Draw) -> Question:
    asker, group = _asker(draw), draw.one_of(*GROUPS_OF_TRANSACTIONS, *GROUPS_OF_TRANSACTIONS, "")

    def request(side: Side) -> Message:
        return AddOffsetsToTxnRequest(asker.transactional_id, *asker.producer(side), group_id=group)

    return Question(ApiKey.ADD_OFFSETS_TO_TXN, draw.version(ApiKey.ADD_OFFSETS_TO_TXN), request)


def produce(draw: Draw) -> Question:
    """To one partition: a batch in the producer's transaction, if it has one there.

    Never of an epoch that is still to come: while the producer's transaction is open there, Apache takes that without asking
    the coordinator, and kafkapy does not.
    """
    version = draw.randint(_TRANSACTIONAL_VERSION, ApiKey.PRODUCE.max_version)
    asker = _asker(draw)
    asker = asker._replace(epochs_off=min(0, asker.epochs_off))
    topic, partition = draw.choice(TOPICS), draw.one_of(0, 0, 1, 2)
    count, time = draw.one_of(1, 1, 2, 5), LOG_BEGIN_MS + draw.randrange(10**9)
    sequences_off = draw.one_of(*[0] * 15, -count, 1, -1)
    acks, is_transactional = draw.one_of(-1, -1, 1), draw.chance(0.96)
    transactional_id = asker.transactional_id if draw.chance(0.97) else draw.one_of(None, "nope")

    def request(side: Side) -> Message:
        producer = asker.producer(side)
        sequence = side.sequences.get((producer, topic, partition), 0) + sequences_off
        builder = MemoryRecordsBuilder(
            producer_id=NOBODY if producer.producer_id < 0 else producer.producer_id,
            producer_epoch=max(0, producer.epoch),
            base_sequence=max(0, sequence),
            is_transactional=is_transactional,
        )
        for number in range(count):
            builder.append(time + number, b"k%d" % number, b"v")
        data = ProduceRequest.PartitionProduceData(partition, memoryview(builder.build()))
        topics = [ProduceRequest.TopicProduceData(topic, [data])]
        return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=5000, topic_data=topics)

    appended = Appended(asker.producer, topic, partition, count, max(0, sequences_off))
    return Question(ApiKey.PRODUCE, version, request, connection="produce", appends=appended)


def txn_offset_commit(draw: Draw) -> Question:
    """By somebody who is no member of the group, mostly."""
    asker, group = _asker(draw), draw.choice(GROUPS_OF_TRANSACTIONS)
    member_id, generation = draw.one_of(*[("", -1)] * 9, ("bogus", -1), ("bogus", 1), ("", 1))
    topics = []
    for name in _names(draw):
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=draw.one_of(0, 1, 2, 2, 5),
            committed_offset=draw.one_of(0, 5, 10, 2**40),
            committed_leader_epoch=draw.one_of(-1, 0),
            committed_metadata=draw.one_of("", None, "meta", "x" * 5000),
        )
        topics.append(TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name, [partition]))

    def request(side: Side) -> Message:
        return TxnOffsetCommitRequest(
            asker.transactional_id,
            group,
            *asker.producer(side),
            generation_id=generation,
            member_id=member_id,
            topics=topics,
        )

    return Question(ApiKey.TXN_OFFSET_COMMIT, draw.version(ApiKey.TXN_OFFSET_COMMIT), request)


def end_txn(draw: Draw) -> Question:
    asker, commits = _asker(draw), draw.chance(0.6)

    def request(side: Side) -> Message:
        return EndTxnRequest(asker.transactional_id, *asker.producer(side), committed=commits)

    version = draw.version(ApiKey.END_TXN)
    return Question(ApiKey.END_TXN, version, request, transactional_id=asker.transactional_id)


def next_step(draw: Draw) -> Question:
    """What a program with a transactional producer would do next, in no order of its own: most of it finds a transaction open."""
    return draw.one_of(
        *[add_partitions_to_txn] * 3, *[produce] * 5, *[end_txn] * 2, add_offsets_to_txn, txn_offset_commit
    )(draw)


def write_txn_markers(draw: Draw) -> Question:
    """As an operator ends a hanging transaction: of producers that no coordinator knows, or of those that have an id."""
    asker, unknown = _asker(draw), FIRST_PRODUCER_ID + draw.randrange(3)
    is_known, commits = draw.chance(0.5), draw.chance(0.5)
    epoch = draw.one_of(0, 0, 0, 1)
    topics = [
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(topic.name, topic.partitions)
        for topic in _topics(draw)
        if topic.name not in INTERNAL_TOPICS
    ]

    def request(side: Side) -> Message:
        producer = asker.producer(side)
        if not is_known or producer.producer_id < 0:
            producer = ProducerIdAndEpoch(unknown, epoch)
        marker = WriteTxnMarkersRequest.WritableTxnMarker(*producer, commits, topics, 0)
        return WriteTxnMarkersRequest(markers=[marker])

    return Question(ApiKey.WRITE_TXN_MARKERS, draw.version(ApiKey.WRITE_TXN_MARKERS), request)


# -------------------------------------------------------------------------------------------------------- questions


def offset_fetch(draw: Draw) -> Question:
    """Of the groups whose offsets are in transactions, and whether they wait for the ends of these."""
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(name, [0, 1, 2]) for name in _names(draw)]
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=draw.choice(GROUPS_OF_TRANSACTIONS), topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=draw.chance(0.5))
    return Question(ApiKey.OFFSET_FETCH, draw.randint(8, ApiKey.OFFSET_FETCH.max_version), request, repeats=True)


def describe_transactions(draw: Draw) -> Question:
    ids = sorted({_asker(draw).transactional_id for _ in range(draw.one_of(1, 2, 0))})
    request = DescribeTransactionsRequest(transactional_ids=ids)
    return Question(ApiKey.DESCRIBE_TRANSACTIONS, 0, request, repeats=True)


def list_transactions(draw: Draw) -> Question:
    states = sorted({draw.choice(_STATES) for _ in range(draw.one_of(0, 0, 1, 2))})
    some_ids, duration_ms = draw.chance(0.2), draw.one_of(-1, -1, 0, 10**9)
    transactional_id = draw.choice(TRANSACTIONAL_IDS)

    def request(side: Side) -> Message:
        ids = [side.producer(transactional_id).producer_id] if some_ids else []
        return ListTransactionsRequest(state_filters=states, producer_id_filters=ids, duration_filter=duration_ms)

    return Question(ApiKey.LIST_TRANSACTIONS, draw.version(ApiKey.LIST_TRANSACTIONS), request, repeats=True)


def find_coordinator(draw: Draw) -> Question:
    request = FindCoordinatorRequest(
        key=_asker(draw).transactional_id,
        key_type=1,
        coordinator_keys=sorted({_asker(draw).transactional_id for _ in range(draw.one_of(1, 2, 0))}),
    )
    return Question(
        ApiKey.FIND_COORDINATOR, draw.randint(1, ApiKey.FIND_COORDINATOR.max_version), request, repeats=True
    )
