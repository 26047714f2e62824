"""ListOffsets and OffsetForLeaderEpoch."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.server.broker_core import TOPIC, BrokerCore, Client, MakeCore

NEWEST = 9
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
DEBUGGING_CONSUMER = -2
FOLLOWER = 1
Answer = ListOffsetsResponse.ListOffsetsPartitionResponse


def list_offsets(
    timestamp: int, *, topic: str = TOPIC, index: int = 0, epoch: int = -1, max_num_offsets: int = 1, **fields: Any
) -> ListOffsetsRequest:
    wanted = ListOffsetsRequest.ListOffsetsPartition(
        partition_index=index, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=max_num_offsets
    )
    fields.setdefault("replica_id", -1)
    return ListOffsetsRequest(
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])],
        **fields,
    )


def only(response: ListOffsetsResponse) -> Answer:
    ((answer,),) = [topic.partitions for topic in response.topics]
    return answer


def ask(client: Client, timestamp: int, version: int = NEWEST, **arguments: Any) -> tuple[Errors, int, int, int]:
    """(error, timestamp, offset, leader epoch)"""
    answer = only(client.call(list_offsets(timestamp, **arguments), version))
    return Errors.for_code(answer.error_code), answer.timestamp, answer.offset, answer.leader_epoch


@pytest.fixture
def history(make_core: MakeCore) -> BrokerCore:
    """Offsets 0 to 5 in three batches with the timestamps 1000, 3000, 2000; epoch 4; the log starts at 1."""
    core = make_core()
    core.create_topic(epoch=4)
    for timestamp in (1000, 3000, 2000):
        core.append(b"a", b"b", timestamp=timestamp)
    core.partition().delete_records(1)
    return core


@pytest.mark.parametrize(
    ("timestamp", "first_version", "expected"),
    [
        (LATEST, 1, (-1, 6, 4)),
        (EARLIEST, 1, (-1, 1, 4)),
        (MAX_TIMESTAMP, 7, (3000, 2, 4)),
        (EARLIEST_LOCAL, 8, (-1, 1, 4)),
        (LATEST_TIERED, 9, (-1, -1, -1)),
        (0, 1, (1000, 1, 4)),
        (1000, 1, (1000, 1, 4)),
        (1001, 1, (3000, 2, 4)),
        (3000, 1, (3000, 2, 4)),
        (3001, 1, (-1, -1, -1)),
        (-6, NEWEST + 1, None),
    ],
)
def test_each_kind_of_question_in_each_version(
    history: BrokerCore, timestamp: int, first_version: int, expected: tuple[int, int, int]
) -> None:
    client = history.connect()
    for version in range(1, NEWEST + 1):
        answer = ask(client, timestamp, version)
        if version < first_version:
            assert answer == (Errors.UNSUPPORTED_VERSION, -1, -1, -1)
        else:
            found, offset, epoch = expected
            assert answer == (Errors.NONE, found, offset, epoch if version >= 4 else -1)


@pytest.mark.parametrize(("timestamp", "expected"), [(LATEST, [6]), (EARLIEST, [1]), (1, []), (1 << 60, [6])])
def test_version_0_answers_with_base_offsets_of_segments(
    history: BrokerCore, timestamp: int, expected: list[int]
) -> None:
    answer = only(history.connect().call(list_offsets(timestamp), 0))
    assert (answer.error_code, list(answer.old_style_offsets)) == (0, expected)


def test_version_0_shows_consumers_nothing_above_the_high_watermark(make_core: MakeCore) -> None:
    core = make_core(others=(FOLLOWER,))
    core.create_topic(replicas=[0, FOLLOWER])
    core.append(b"a", b"b")
    assert list(only(core.connect().call(list_offsets(LATEST, max_num_offsets=10), 0)).old_style_offsets) == [0, 0]


def test_the_empty_log(core: BrokerCore, client: Client) -> None:
    assert ask(client, LATEST) == (Errors.NONE, -1, 0, 0)
    assert ask(client, EARLIEST)[:3] == (Errors.NONE, -1, 0)
    assert ask(client, MAX_TIMESTAMP) == (Errors.NONE, -1, -1, -1)
    assert ask(client, 0) == (Errors.NONE, -1, -1, -1)


def test_who_sees_how_far(make_core: MakeCore) -> None:
    core = make_core(others=(FOLLOWER,))
    core.create_topic(replicas=[0, FOLLOWER])
    core.append(b"a", timestamp=1000)
    client = core.connect()
    assert ask(client, LATEST)[2] == 0
    assert ask(client, LATEST, isolation_level=1)[2] == 0
    assert ask(client, LATEST, replica_id=FOLLOWER)[2] == 1
    assert ask(client, LATEST, replica_id=DEBUGGING_CONSUMER)[2] == 1
    assert ask(client, 1000)[2] == -1
    assert ask(client, 1000, replica_id=FOLLOWER)[2] == 0


def test_a_leader_that_does_not_know_yet_what_is_committed(make_core: MakeCore) -> None:
    core = make_core(others=(FOLLOWER,))
    topic_id = core.create_topic(replicas=[0, FOLLOWER])
    core.append(b"a", timestamp=1000)
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 1, [0, FOLLOWER], [0, FOLLOWER])
    client = core.connect()
    for timestamp in (LATEST, 1000, MAX_TIMESTAMP):
        assert ask(client, timestamp)[0] is Errors.OFFSET_NOT_AVAILABLE
    assert ask(client, LATEST, 5)[0] is Errors.OFFSET_NOT_AVAILABLE
    assert ask(client, LATEST, 4)[0] is Errors.LEADER_NOT_AVAILABLE
    assert ask(client, EARLIEST)[::2] == (Errors.NONE, 0)
    assert ask(client, LATEST, replica_id=FOLLOWER)[::2] == (Errors.NONE, 1)


def test_errors_of_partitions(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(epoch=4)
    core.create_topic("followed", replicas=[0, 1], leader=1)
    client = core.connect()
    assert ask(client, LATEST, topic="?")[0] is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(client, LATEST, index=1)[0] is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(client, LATEST, topic="followed")[0] is Errors.NOT_LEADER_OR_FOLLOWER
    assert ask(client, LATEST, topic="followed", replica_id=DEBUGGING_CONSUMER)[0] is Errors.NONE
    assert ask(client, LATEST, epoch=3)[0] is Errors.FENCED_LEADER_EPOCH
    assert ask(client, LATEST, epoch=5)[0] is Errors.UNKNOWN_LEADER_EPOCH
    assert ask(client, LATEST, epoch=4)[0] is Errors.NONE
    assert only(client.call(list_offsets(LATEST, topic="followed"), 0)).error_code == 6


def test_a_partition_that_is_named_twice(core: BrokerCore, client: Client) -> None:
    core.create_topic("u")
    request = list_offsets(LATEST)
    request.topics[0].partitions *= 2
    request.topics += list_offsets(LATEST, topic="u").topics
    response = client.call(request, NEWEST)
    errors = [[Errors.for_code(p.error_code) for p in topic.partitions] for topic in response.topics]
    assert errors == [[Errors.INVALID_REQUEST, Errors.INVALID_REQUEST], [Errors.NONE]]


# -- OffsetForLeaderEpoch


def end_of_epoch(client: Client, epoch: int, current: int = -1, topic: str = TOPIC, version: int = 4) -> Any:
    wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=current, leader_epoch=epoch
    )
    response = client.call(
        OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
        ),
        version,
    )
    (answer,) = response.topics[0].partitions
    return Errors.for_code(answer.error_code), answer.leader_epoch, answer.end_offset


@pytest.fixture
def reigns(make_core: MakeCore) -> BrokerCore:
    """Epoch 0: offsets 0 and 1; epoch 3: offset 2; epoch 5: the current one, without records."""
    core = make_core()
    topic_id = core.create_topic()
    core.append(b"a", b"b")
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 3, [0], [0])
    core.append(b"c")
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 5, [0], [0])
    return core


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(0, (0, 2)), (1, (0, 2)), (3, (3, 3)), (4, (3, 3)), (5, (5, 3)), (6, (-1, -1)), (-1, (-1, -1))],
)
def test_where_an_epoch_ended(reigns: BrokerCore, epoch: int, expected: tuple[int, int]) -> None:
    assert end_of_epoch(reigns.connect(), epoch) == (Errors.NONE, *expected)


def test_versions_before_1_do_not_name_the_epoch(reigns: BrokerCore) -> None:
    assert end_of_epoch(reigns.connect(), 1, version=0) == (Errors.NONE, -1, 2)
    assert end_of_epoch(reigns.connect(), 1, version=1) == (Errors.NONE, 0, 2)


def test_epoch_questions_check_the_current_epoch(reigns: BrokerCore) -> None:
    client = reigns.connect()
    assert end_of_epoch(client, 0, current=4) == (Errors.FENCED_LEADER_EPOCH, -1, -1)
    assert end_of_epoch(client, 0, current=6) == (Errors.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert end_of_epoch(client, 0, current=5) == (Errors.NONE, 0, 2)
    assert end_of_epoch(client, 0, topic="?") == (Errors.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
