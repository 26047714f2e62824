"""Requests that name very many things: others have their turn while they are answered, and the answer is the same."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.describe_producers import DescribeProducersRequest
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.runtime.completion import spawn
from tests.coordinator.group.group_harness import GROUP, Harness
from tests.coordinator.held_turns import HeldTurns
from tests.server.broker_core import TOPIC, MakeCore, topic_id_of
from tests.server.handlers.test_groups import Broker, FakeAuthorizer, deny
from tests.server.handlers.test_transactions import GROUP as TX_GROUP
from tests.server.handlers.test_transactions import TX, Producer

MANY = 10_000


def offset_fetch(topics: int) -> OffsetFetchRequest:
    return OffsetFetchRequest(
        group_id=GROUP,
        topics=[
            OffsetFetchRequest.OffsetFetchRequestTopic(name=f"t{n}", partition_indexes=list(range(MANY // topics)))
            for n in range(topics)
        ],
    )


def offset_fetch_of_groups(topics: int) -> OffsetFetchRequest:
    partitions = list(range(MANY // topics))
    wanted = [
        OffsetFetchRequest.OffsetFetchRequestTopics(name=f"t{n}", partition_indexes=partitions) for n in range(topics)
    ]
    groups = [
        OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=wanted),
        OffsetFetchRequest.OffsetFetchRequestGroup(group_id="none", topics=None),
    ]
    return OffsetFetchRequest(groups=groups)


def commit(topics: int, offset: int = 5) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    return OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=f"t{n}",
                partitions=[
                    partition(partition_index=p, committed_offset=offset, committed_metadata="m" * (4097 * (p == 9)))
                    for p in range(MANY // topics)
                ],
            )
            for n in range(topics)
        ],
    )


def delete_offsets(topics: int) -> OffsetDeleteRequest:
    partitions = [OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=p) for p in range(MANY // topics)]
    return OffsetDeleteRequest(
        group_id=GROUP,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(name=f"t{n}", partitions=partitions) for n in range(topics)
        ],
    )


def names() -> list[str]:
    return [f"g{n}" for n in range(MANY)]


REQUESTS: dict[str, tuple[int, Callable[[], Message]]] = {
    "offsets of a group": (5, lambda: offset_fetch(1)),
    "offsets of a group in many topics": (5, lambda: offset_fetch(MANY)),
    "offsets of groups": (8, lambda: offset_fetch_of_groups(1)),
    "offsets of groups in many topics": (8, lambda: offset_fetch_of_groups(MANY)),
    "a commit": (8, lambda: commit(1)),
    "a commit in many topics": (8, lambda: commit(MANY)),
    "a commit to ZooKeeper": (0, lambda: commit(1)),
    "offsets that are deleted": (0, lambda: delete_offsets(1)),
    "offsets of many topics that are deleted": (0, lambda: delete_offsets(MANY)),
    "groups that are deleted": (2, lambda: DeleteGroupsRequest(groups_names=names())),
    "a list of groups": (4, ListGroupsRequest),
    "groups": (0, lambda: DescribeGroupsRequest(groups=names())),
    "coordinators": (4, lambda: FindCoordinatorRequest(key_type=0, coordinator_keys=names())),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_others_have_their_turn_while_many_things_are_answered(name: str) -> None:
    version, make = REQUESTS[name]
    broker = Broker()
    broker.update({"t0": [0] * (MANY - 2)} | {f"t{n}": [0] for n in range(1, MANY, 2)})
    broker.h.commit({("t0", p): p for p in range(0, MANY, 7)} | {("other", 0): 1})
    for n in range(6000):
        broker.h.commit({("t0", 0): 1}, group_id=f"group {n}")
    deny(broker, "READ", "TOPIC", "t5")
    deny(broker, "DELETE", "GROUP", "g4")
    deny(broker, "DESCRIBE", "CLUSTER", "kafka-cluster")
    deny(broker, "DESCRIBE", "TOPIC", "t3")
    deny(broker, "DESCRIBE", "GROUP", "g3")
    in_one_turn = broker.ask(make(), version)
    assert broker.clock.yields == 0
    now = iter(range(10 * MANY))
    broker.clock.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    assert broker.ask(make(), version) == in_one_turn
    assert broker.clock.yields >= 3


OF_TOPICS: dict[str, tuple[int, Callable[[], Message]]] = {
    "unknown topics": (4, lambda: metadata([f"t{n}" for n in range(MANY)], allow_auto_topic_creation=False)),
    "what is allowed": (8, lambda: metadata([TOPIC, *names()], include_topic_authorized_operations=True)),
    "unknown ids": (12, lambda: metadata_by_ids([topic_id_of(TOPIC), *(n.to_bytes(16) for n in range(1, MANY))])),
    "the ends of epochs": (3, lambda: ends_of_epochs(MANY)),
    "the ends of logs": (1, lambda: list_offsets(MANY, -1)),
    "offsets at a time": (1, lambda: list_offsets(MANY, 1)),
    "old offsets": (0, lambda: list_offsets(MANY, -1)),
    "log dirs": (4, lambda: describe_log_dirs(MANY)),
    "replicas that move": (2, lambda: alter_log_dirs(MANY)),
}


def describe_log_dirs(partitions: int) -> DescribeLogDirsRequest:
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    return DescribeLogDirsRequest(
        topics=[topic(topic=name, partitions=list(range(1, partitions))) for name in (TOPIC, "no")]
    )


def alter_log_dirs(partitions: int) -> AlterReplicaLogDirsRequest:
    """Each of them to two dirs: the second order counts."""
    topic, order = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest.AlterReplicaLogDir
    wanted = [topic(name=name, partitions=list(range(partitions))) for name in (TOPIC, "no")]
    return AlterReplicaLogDirsRequest(dirs=[order(path=path, topics=wanted) for path in ("/x", "y")])


def metadata(topics: list[str], allow_auto_topic_creation: bool = False, **more: bool) -> MetadataRequest:
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    return MetadataRequest(topics=named, allow_auto_topic_creation=allow_auto_topic_creation, **more)


def metadata_by_ids(ids: list[bytes]) -> MetadataRequest:
    named = [MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]
    return MetadataRequest(topics=named, allow_auto_topic_creation=False)


def list_offsets(partitions: int, timestamp: int) -> ListOffsetsRequest:
    wanted = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=max(0, p - 1), timestamp=timestamp, max_num_offsets=1)
        for p in range(partitions)
    ]  # the first one is named twice
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=wanted) for name in (TOPIC, "none")]
    return ListOffsetsRequest(replica_id=-1, topics=topics)


def ends_of_epochs(partitions: int) -> OffsetForLeaderEpochRequest:
    wanted = [
        OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=p, current_leader_epoch=-1, leader_epoch=0)
        for p in range(partitions)
    ]
    topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=wanted) for name in (TOPIC, "no")]
    return OffsetForLeaderEpochRequest(replica_id=-2, topics=topics)


@pytest.mark.parametrize("name", OF_TOPICS)
def test_others_have_their_turn_while_many_topics_are_answered(
    make_core: MakeCore, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = os.statvfs("/")
    monkeypatch.setattr(os, "statvfs", lambda _: space)  # which others use, too
    version, make = OF_TOPICS[name]
    core = make_core()
    core.create_topic(TOPIC, partitions=3)
    client = core.connect()
    core.time.yields = 0
    in_one_turn = client.call(make(), version)
    assert core.time.yields == 0
    now = iter(range(10 * MANY))
    core.time.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    assert client.call(make(), version) == in_one_turn
    assert core.time.yields >= 1


def many_partitions() -> list[tuple[str, list[int]]]:
    """Few that exist, twice; very many that don't, of one topic and of many, one of them in two places."""
    others = [(f"t{n % (MANY - 1)}", [n, n]) for n in range(MANY)]
    return [(TOPIC, [1, 0, 1]), ("none", list(range(MANY))), *others, (TOPIC, list(range(MANY)))]


def describe_producers(p: Producer) -> DescribeProducersRequest:
    of_topic = DescribeProducersRequest.TopicRequest
    named = [*many_partitions(), ("/", [0])]
    return DescribeProducersRequest(topics=[of_topic(name=name, partition_indexes=indexes) for name, indexes in named])


def add_partitions(p: Producer, transactional_id: str = TX) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=p.id.producer_id,
        v3_and_below_producer_epoch=p.id.epoch,
        v3_and_below_topics=partitions_to_add(many_partitions()),
    )


def partitions_to_add(named: list[tuple[str, list[int]]]) -> list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]:
    of_topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    return [of_topic(name=name, partitions=indexes) for name, indexes in named]


def add_to_transactions(p: Producer, named: list[tuple[str, list[int]]], ids: list[str]) -> AddPartitionsToTxnRequest:
    questions = [
        AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=p.id.producer_id,
            producer_epoch=p.id.epoch,
            verify_only=number % 2 == 0,
            topics=partitions_to_add(named),
        )
        for number, transactional_id in enumerate(ids)
    ]
    return AddPartitionsToTxnRequest(transactions=questions)


def commit_in_transaction(p: Producer, group_id: str = TX_GROUP) -> TxnOffsetCommitRequest:
    of_topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
    return TxnOffsetCommitRequest(
        transactional_id=TX,
        group_id=group_id,
        producer_id=p.id.producer_id,
        producer_epoch=p.id.epoch,
        topics=[
            of_topic(name=name, partitions=[partition(partition_index=i, committed_offset=7) for i in indexes])
            for name, indexes in many_partitions()
        ],
    )


def markers(p: Producer, count: int, named: list[tuple[str, list[int]]]) -> WriteTxnMarkersRequest:
    of_topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=p.id.producer_id,
        producer_epoch=p.id.epoch,
        transaction_result=False,
        topics=[of_topic(name=name, partition_indexes=indexes) for name, indexes in named],
    )
    none = WriteTxnMarkersRequest.WritableTxnMarker(producer_id=99, producer_epoch=0, topics=[])
    return WriteTxnMarkersRequest(markers=[none, *[marker] * count])


OF_TRANSACTIONS: dict[str, tuple[int, Callable[[Producer], Message]]] = {
    "producers": (0, describe_producers),
    "transactions": (0, lambda p: DescribeTransactionsRequest(transactional_ids=[TX, *names()])),
    "partitions of a transaction": (3, add_partitions),
    "partitions that somebody else adds": (3, lambda p: add_partitions(p, "g3")),
    "partitions that a broker adds": (5, lambda p: add_to_transactions(p, many_partitions(), [TX, TX])),
    "transactions to which a broker adds": (5, lambda p: add_to_transactions(p, [(TOPIC, [1])], [TX, TX, *names()])),
    "offsets of a transaction": (4, commit_in_transaction),
    "offsets of somebody else's group": (4, lambda p: commit_in_transaction(p, "g3")),
    "a marker": (1, lambda p: markers(p, 1, many_partitions())),
    "markers": (1, lambda p: markers(p, MANY, [("none", [0, 1, 0])])),
}


@pytest.mark.parametrize("name", OF_TRANSACTIONS)
def test_others_have_their_turn_in_between_of_transactions(
    make_core: MakeCore, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, make = OF_TRANSACTIONS[name]
    core = make_core()
    p = Producer(core)
    p.init()
    p.add((TOPIC, 0), (TOPIC, 1))
    p.add_offsets()
    authorizer = FakeAuthorizer()
    authorizer.denied = {
        ("READ", "TOPIC", "t5"),
        ("WRITE", "TOPIC", "t5"),
        ("WRITE", "TRANSACTIONAL_ID", "g3"),
        ("DESCRIBE", "TRANSACTIONAL_ID", "g3"),
        ("READ", "GROUP", "g3"),
    }
    for handler in (core.handlers.transactions, core.handlers.records):
        monkeypatch.setattr(handler, "_authorizer", authorizer)
    core.time.yields = 0
    in_one_turn = p.client.call(make(p), version)
    assert core.time.yields == 0
    now = iter(range(100 * MANY))
    core.time.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    assert p.client.call(make(p), version) == in_one_turn
    assert core.time.yields >= 100


def test_many_partitions_are_added_in_one_go(make_core: MakeCore) -> None:
    p = Producer(make_core())
    p.init()
    named = ((TOPIC, 0), (TOPIC, 1)) * 2000
    assert p.add(*named) == {(TOPIC, 0): Errors.NONE, (TOPIC, 1): Errors.NONE}
    [shown] = p.client.call(DescribeTransactionsRequest(transactional_ids=[TX]), 0).transaction_states
    assert [(topic.topic, sorted(topic.partitions)) for topic in shown.topics] == [(TOPIC, [0, 1])]


@pytest.mark.parametrize("named", [False, True])
def test_a_commit_shows_as_a_whole_or_not_at_all(named: bool) -> None:
    clock = HeldTurns()
    h = Harness(clock=clock)
    h.commit({("t", p): 1 for p in range(MANY)})
    partitions = (TopicPartition("t", p) for p in range(MANY)) if named else None
    fetched = spawn(h.coordinator.fetch_offsets(GROUP, partitions, False))
    clock.go_on()
    h.commit({("t", p): 2 for p in range(MANY + 5)})
    h.advance(0)
    [topic] = fetched.result().topics
    assert {p.committed_offset for p in topic.partitions} == {1}
    assert len(topic.partitions) == MANY
    assert {offset.value.offset for offset in h.group().offsets.committed.values()} == {2}


def test_a_large_commit_is_one_batch() -> None:
    broker = Broker()
    broker.update({"t0": [0] * MANY})
    broker.clock.holds = True
    answers = broker.send(commit(1, offset=7), 8)
    broker.h.commit({("t0", 3): 6})  # a small one overtakes it
    appended = broker.h.log.appended
    broker.clock.holds = False
    broker.clock.work()
    assert broker.h.log.appended == appended + 1
    [topic] = answers[0].topics
    assert {p.error_code for p in topic.partitions} == {0, Errors.OFFSET_METADATA_TOO_LARGE.code}
    assert broker.h.offsets() == {("t0", p): 7 for p in range(MANY) if p != 9}


def test_a_commit_that_the_log_would_not_take_is_refused_before_it_is_prepared() -> None:
    broker = Broker()
    broker.update({"t0": [0] * MANY})
    broker.h.log.max_batch = 100_000
    [topic] = broker.ask(commit(1), 8).topics
    errors = {p.error_code for p in topic.partitions}
    assert errors == {Errors.INVALID_COMMIT_OFFSET_SIZE.code, Errors.OFFSET_METADATA_TOO_LARGE.code}
    assert not broker.h.group().offsets


def test_a_large_commit_of_a_member_that_is_not_known_is_refused() -> None:
    broker = Broker()
    broker.update({"t0": [0] * MANY})
    request = commit(1)
    request.generation_id_or_member_epoch = 3
    [topic] = broker.ask(request, 8).topics
    assert {p.error_code for p in topic.partitions} == {Errors.ILLEGAL_GENERATION.code}


def test_very_many_offsets_are_deleted_in_batches_that_the_log_takes() -> None:
    broker = Broker()
    broker.update({"t0": [0] * MANY})
    broker.h.commit({("t0", p): p for p in range(MANY)} | {("other", 0): 1})
    appended = broker.h.log.appended
    assert {p.error_code for p in broker.ask(delete_offsets(1), 0).topics[0].partitions} == {0}
    assert broker.h.log.appended > appended + 1
    assert broker.h.offsets() == {("other", 0): 1}


def test_a_group_of_very_many_offsets_is_deleted_in_turns() -> None:
    broker = Broker()
    broker.h.commit({("t0", p): p for p in range(MANY)})
    now = iter(range(10 * MANY))
    broker.clock.monotonic_ms = lambda: next(now)
    [result] = broker.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2).results
    assert result.error_code == 0
    assert broker.clock.yields >= 3
    assert broker.h.coordinator.groups == {}
    assert {value for _, value in broker.h.log.records(broker.h.log_of())[-MANY:]} == {None}


def test_offsets_of_a_group_that_began_anew_are_not_deleted() -> None:
    clock = HeldTurns()
    h = Harness(clock=clock)
    h.commit({("t", p): p for p in range(MANY)})
    deleted = spawn(h.coordinator.delete_groups([GROUP]))
    clock.go_on()
    h.group().delete(0)
    del h.coordinator.groups[GROUP]
    h.commit({("t", MANY - 1): 1})
    for _ in range(MANY // 50 - 2):
        clock.go_on()
    assert not deleted.done
    assert h.offsets() == {("t", MANY - 1): 1}
