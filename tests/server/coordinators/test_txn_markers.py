"""Markers written to the logs that this broker leads."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.record.batches import batches
from kafkapy.record.control_records import end_transaction_marker
from kafkapy.record.record_batch import RecordBatch
from kafkapy.runtime.completion import spawn
from kafkapy.server.coordinators.coordinator_log import CoordinatorLog
from kafkapy.server.coordinators.txn_markers import Marker, Outcome, TxnMarkerWriter
from tests.server.broker_core import TOPIC, BrokerCore, MakeCore, batch

TIMEOUT = 500
T0 = TopicPartition(TOPIC, 0)


class ToldGroups(GroupCoordinator):
    """Notes the transactions that it hears of."""

    def __init__(self) -> None:
        self.told: list[tuple[int, list[int], bool]] = []

    def on_transaction_completed(self, producer_id: int, partitions: Iterable[int], commit: bool) -> None:
        self.told.append((producer_id, list(partitions), commit))


class Written:
    """A writer, and what it has answered."""

    def __init__(self, core: BrokerCore) -> None:
        self.groups = ToldGroups()
        log = CoordinatorLog(core.replicas, core.cache, 1000)
        self.writer = TxnMarkerWriter(core.replicas, log, self.groups, core.time, TIMEOUT)
        self.answers: list[list[Outcome]] = []

    def write(self, *markers: Marker) -> None:
        spawn(self.writer.write(markers)).add_callback(lambda written: self.answers.append(written.result()))


def a_marker(
    *names: tuple[str, int], producer_id: int = 7, epoch: int = 3, commit: bool = True, coordinator_epoch: int = 5
) -> Marker:
    topics = [
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=[index]) for topic, index in names
    ]
    return Marker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=topics,
        coordinator_epoch=coordinator_epoch,
    )


def control_batches(core: BrokerCore) -> list[tuple[int, int, str, int]]:
    """(producer id, epoch, kind, coordinator epoch)"""
    data = (core.directory / "logs" / "t-0" / "00000000000000000000.log").read_bytes()
    found = []
    for each in batches(data):
        assert isinstance(each, RecordBatch)
        if each.is_control:
            marker = end_transaction_marker(each)
            assert marker is not None
            found.append((each.producer_id, each.producer_epoch, marker.control_type.name, marker.coordinator_epoch))
    return found


@pytest.mark.parametrize(("commit", "kind"), [(True, "COMMIT"), (False, "ABORT")])
def test_a_marker_is_a_control_batch(core: BrokerCore, commit: bool, kind: str) -> None:
    written = Written(core)
    written.write(a_marker((TOPIC, 0), commit=commit))
    assert written.answers == [[{T0: NONE}]]
    assert control_batches(core) == [(7, 3, kind, 5)]
    assert written.groups.told == []


def test_no_marker_at_all(core: BrokerCore) -> None:
    written = Written(core)
    written.write()
    written.write(a_marker())
    assert written.answers == [[], [{}]]


def test_each_partition_has_its_own_error(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic()
    core.create_topic("elsewhere", leader=1, replicas=[0, 1])
    core.create_topic("thin", replicas=[0, 1], isr=[0], min_insync_replicas="2")
    written = Written(core)
    written.write(a_marker((TOPIC, 0), ("elsewhere", 0), ("thin", 0), ("?", 0)), a_marker((TOPIC, 0), producer_id=8))
    assert written.answers == [
        [
            {
                T0: NONE,
                TopicPartition("elsewhere", 0): Errors.NOT_LEADER_OR_FOLLOWER,
                TopicPartition("thin", 0): Errors.NOT_ENOUGH_REPLICAS,
                TopicPartition("?", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
            },
            {T0: NONE},
        ]
    ]
    assert [(producer_id, kind) for producer_id, _, kind, _ in control_batches(core)] == [(7, "COMMIT"), (8, "COMMIT")]


def test_the_old_format_has_no_markers(make_core: MakeCore) -> None:
    core = make_core(inter_broker_protocol_version="2.8", log_message_format_version="0.10.0")
    core.create_topic()
    written = Written(core)
    written.write(a_marker((TOPIC, 0)))
    assert written.answers == [[{T0: Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT}]]


def test_old_coordinators_and_old_epochs_are_fenced(core: BrokerCore) -> None:
    written = Written(core)
    core.replicas.append_to_local_log(T0, bytearray(batch(producer=(7, 3, 0), is_transactional=True)), -1)
    written.write(a_marker((TOPIC, 0), epoch=2))
    written.write(a_marker((TOPIC, 0), epoch=4))
    written.write(a_marker((TOPIC, 0), epoch=4, coordinator_epoch=4))
    assert [answer[0][T0] for answer in written.answers] == [
        Errors.INVALID_PRODUCER_EPOCH,
        NONE,
        Errors.TRANSACTION_COORDINATOR_FENCED,
    ]


def test_the_answer_comes_when_all_are_committed(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic()
    two = core.create_topic("two", replicas=[0, 1])
    written = Written(core)
    written.write(a_marker((TOPIC, 0), ("two", 0)))
    assert written.answers == []
    core.leader_and_isr("two", [0], two, 0, 1, [0], [0, 1])
    core.advance(100)
    assert written.answers == [[{T0: NONE, TopicPartition("two", 0): NONE}]]


def test_a_marker_that_is_not_committed_in_time(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[0, 1])
    written = Written(core)
    written.write(a_marker((TOPIC, 0)))
    core.advance(TIMEOUT + 10)
    assert written.answers == [[{T0: Errors.REQUEST_TIMED_OUT}]]


def test_groups_hear_of_the_end_of_their_commits(core: BrokerCore) -> None:
    core.create_topic(GROUP_METADATA_TOPIC, 3)
    written = Written(core)
    written.write(
        a_marker((GROUP_METADATA_TOPIC, 0), (TOPIC, 0), (GROUP_METADATA_TOPIC, 2), (GROUP_METADATA_TOPIC, 7)),
        a_marker((GROUP_METADATA_TOPIC, 1), producer_id=8, commit=False),
        a_marker((GROUP_METADATA_TOPIC, 9), producer_id=9),
    )
    assert written.groups.told == [(7, [0, 2], True), (8, [1], False)]
