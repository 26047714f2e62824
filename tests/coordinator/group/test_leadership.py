from __future__ import annotations

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.coordinator.runtime.owned_topic import LOAD_RETRY_MS, abs_hash
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.completion import spawn
from tests.coordinator.group.group_harness import GROUP, NOT_LEADER, SESSION, FakeLog, Harness, commit_errors

T0 = ("t", 0)


@pytest.fixture
def h() -> Harness:
    return Harness()


def partition(h: Harness) -> int:
    return h.coordinator.partition_for(GROUP)


def list_error(h: Harness) -> Errors:
    return Errors.for_code(spawn(h.coordinator.list_groups(ListGroupsRequest())).result().error_code)


def fetch_error(h: Harness) -> Errors:
    return Errors.for_code(h.fetch_offsets().error_code)


@pytest.mark.parametrize(
    ("group_id", "expected"),
    [("g1", 42), ("my-group", 12), ("console-consumer-12345", 6), ("ü😀x", 21), ("", 0)],  # asked of Kafka 3.9.1
)
def test_partition_of_a_group(h: Harness, group_id: str, expected: int) -> None:
    assert h.coordinator.partition_for(group_id) == expected


def test_the_lowest_hash_counts_as_zero() -> None:
    assert abs_hash("polygenelubricants") == 0  # hashCode is Integer.MIN_VALUE


def test_the_number_of_partitions_is_that_of_the_topic_once_it_is_known(h: Harness) -> None:
    log = FakeLog()
    log.partitions = None
    config = GroupConfig(offsets=OffsetConfig(topic_num_partitions=50))
    coordinator = GroupCoordinator(config, log, MockClock())
    assert coordinator.partition_for("g1") == 3242 % 50
    log.partitions = 7
    assert coordinator.partition_for("g1") == 3242 % 7
    log.partitions = 8
    assert coordinator.partition_for("g1") == 3242 % 7


def test_zookeeper_knows_the_number_of_partitions_better_than_the_metadata_so_far(h: Harness) -> None:
    log = FakeLog()
    log.partitions = 3
    coordinator = GroupCoordinator(GroupConfig(), log, MockClock())
    coordinator.startup(5)
    assert coordinator.partition_for("g1") == 3242 % 5


# -------------------------------------------------------------------------------------------------- who answers


def ask_everything(h: Harness) -> dict[str, Errors]:
    return {
        "join": h.join().error,
        "sync": h.sync("m").error,
        "heartbeat": h.heartbeat("m"),
        "leave": Errors.for_code(h.leave_group("m").error_code),
        "commit": h.commit({T0: 1}),
        "fetch": fetch_error(h),
        "describe": Errors.for_code(h.coordinator.describe_group(GROUP).error_code),
        "delete": Errors.for_code(spawn(h.coordinator.delete_groups([GROUP])).result()[0].error_code),
        "list": list_error(h),
    }


def test_before_startup_and_after_shutdown(h: Harness) -> None:
    h.coordinator.shutdown()
    assert set(ask_everything(h).values()) == {Errors.COORDINATOR_NOT_AVAILABLE}


def test_a_broker_that_does_not_lead_the_partition(h: Harness) -> None:
    h.coordinator.on_resignation(partition(h), 2)
    answers = ask_everything(h)
    assert answers.pop("list") is Errors.NONE
    assert set(answers.values()) == {Errors.NOT_COORDINATOR}
    assert h.coordinator.describe_group(GROUP).group_state == ""


def test_while_the_partition_loads(h: Harness) -> None:
    h.coordinator.on_resignation(partition(h), 2)
    h.coordinator.on_election(partition(h), 3)
    answers = ask_everything(h)
    assert answers.pop("sync") is Errors.REBALANCE_IN_PROGRESS
    assert answers.pop("heartbeat") is Errors.NONE
    assert set(answers.values()) == {Errors.COORDINATOR_LOAD_IN_PROGRESS}
    h.advance(0)
    assert fetch_error(h) is Errors.NONE


# -------------------------------------------------------------------------------------------------- load


def test_groups_and_offsets_are_found_again(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    h.commit({T0: 5, ("u", 3): 6}, leader, 1)
    h.commit({T0: 7}, group_id="simple")
    before = h.coordinator.describe_group(GROUP)
    after = Harness(log=h.log)
    assert after.coordinator.describe_group(GROUP) == before
    assert after.offsets() == {T0: 5, ("u", 3): 6}
    assert after.offsets("simple") == {T0: 7}
    assert after.state("simple") == "Empty"
    assert after.heartbeat(follower) is Errors.NONE
    assert after.commit({T0: 8}, leader, 1) is Errors.NONE
    assert after.sync(leader).response.assignment == leader.encode()
    assert after.group().subscribed_topics == {"t"}


def test_members_have_their_session_timeout_to_be_heard_of(h: Harness) -> None:
    leader, _ = h.stable_group(2)
    after = Harness(log=h.log)
    after.advance(SESSION - 1)
    assert after.state() == "Stable"
    after.heartbeat(leader)
    after.advance(1)
    assert after.state() == "PreparingRebalance"
    after.advance(SESSION)
    assert after.state() == "Empty"


def test_static_members_are_found_again(h: Harness) -> None:
    leader, _ = h.stable_group(2, instances=True)
    after = Harness(log=h.log)
    instance = after.group().members[leader].group_instance_id
    assert after.group().members.static_member_id(instance or "") == leader
    assert after.group().members.leader_id == leader


def test_an_older_election_is_ignored(h: Harness) -> None:
    h.coordinator.on_resignation(partition(h), 5)
    h.coordinator.on_election(partition(h), 4)
    h.advance(0)
    assert fetch_error(h) is Errors.NOT_COORDINATOR
    h.coordinator.on_election(partition(h), 6)
    h.coordinator.on_resignation(partition(h), 5)
    h.advance(0)
    assert fetch_error(h) is Errors.NONE


def test_a_second_election_keeps_what_is_loaded(h: Harness) -> None:
    [leader] = h.stable_group()
    h.coordinator.on_election(partition(h), 9)
    assert h.heartbeat(leader) is Errors.NONE


def test_a_resignation_stops_a_load_under_way(h: Harness) -> None:
    h.commit({T0: 5})
    h.coordinator.on_resignation(partition(h), 2)
    h.coordinator.on_election(partition(h), 3)
    h.coordinator.on_resignation(partition(h), 4)
    h.advance(0)
    assert fetch_error(h) is Errors.NOT_COORDINATOR
    assert GROUP not in h.coordinator.groups


def test_a_load_that_fails_is_tried_again(h: Harness) -> None:
    h.commit({T0: 5})
    h.coordinator.on_resignation(partition(h), 2)
    h.log.read_error = OSError("a cable is out")
    h.coordinator.on_election(partition(h), 3)
    h.advance(LOAD_RETRY_MS - 1)
    assert fetch_error(h) is Errors.COORDINATOR_LOAD_IN_PROGRESS
    h.log.read_error = None
    h.advance(1)
    assert h.offsets() == {T0: 5}


def test_a_load_that_fails_is_not_tried_again_when_the_leader_is_another(h: Harness) -> None:
    h.coordinator.on_resignation(partition(h), 2)
    h.log.read_error = NOT_LEADER
    h.coordinator.on_election(partition(h), 3)
    h.advance(0)
    h.coordinator.on_resignation(partition(h), None)
    h.log.read_error = None
    h.advance(2 * LOAD_RETRY_MS)
    assert fetch_error(h) is Errors.NOT_COORDINATOR


def test_only_that_partition_is_unloaded(h: Harness) -> None:
    h.stable_group(group_id="other")
    h.stable_group()
    h.coordinator.on_resignation(partition(h), None)
    assert h.state("other") == "Stable"
    assert h.coordinator.describe_group(GROUP).error_code == Errors.NOT_COORDINATOR.code


def test_who_waits_is_sent_to_the_new_coordinator(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    joins = [h.join(leader), h.join()]
    h.coordinator.on_resignation(partition(h), 2)
    assert [reply.error for reply in joins] == [Errors.NOT_COORDINATOR] * 2
    assert joins[0].response.member_id == leader

    other = Harness()
    joins = [other.join(), other.join()]
    other.advance(6000)
    leader = joins[0].response.leader
    follower = next(j.response.member_id for j in joins if j.response.member_id != leader)
    sync = other.sync(follower)
    other.log.hold = True
    leader_sync = other.sync(leader)
    other.coordinator.on_resignation(partition(other), 2)
    assert sync.error is leader_sync.error is Errors.NOT_COORDINATOR
    other.log.release()
    other.advance(10 * SESSION)


def test_a_commit_under_way_when_the_group_moves_is_answered(h: Harness) -> None:
    h.log.hold = True
    reply = h.start_commit({T0: 1})
    h.coordinator.on_resignation(partition(h), 2)
    h.log.release(Errors.NOT_LEADER_OR_FOLLOWER)
    assert commit_errors(reply) == [Errors.NOT_COORDINATOR]


def test_no_timer_of_an_unloaded_group_does_anything(h: Harness) -> None:
    h.stable_group(2)
    h.join(version=4)
    records = len(h.log.records(h.log_of()))
    h.coordinator.on_resignation(partition(h), 2)
    h.advance(1_000_000)
    assert len(h.log.records(h.log_of())) == records


# -------------------------------------------------------------------------------------------------- transactions


def transactional_batch(h: Harness, offset: int, producer_id: int = 7) -> bytes:
    from kafkapy.coordinator.group.offsets import GroupOffset
    from kafkapy.coordinator.group.records import offset_key, offset_value
    from kafkapy.record.records_builder import MemoryRecordsBuilder

    builder = MemoryRecordsBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
    value = GroupOffset(offset, -1, "", 1)
    builder.append(1, offset_key(GROUP, TopicPartition(*T0)), offset_value(value))
    return builder.build()


@pytest.mark.parametrize(("commit", "expected"), [(True, {T0: 9}), (False, {T0: 5})])
def test_offsets_of_an_open_transaction_are_pending_until_its_marker(commit: bool, expected: dict[object, int]) -> None:
    h = Harness()
    h.commit({T0: 5})
    h.log.append(h.log_of(), transactional_batch(h, 9), lambda error, offset: None, 5_000)
    after = Harness(log=h.log)
    assert after.offsets() == {T0: 5}
    response = after.fetch_offsets(GROUP, [TopicPartition(*T0)], True)
    assert response.topics[0].partitions[0].error_code == Errors.UNSTABLE_OFFSET_COMMIT.code
    after.coordinator.on_transaction_completed(7, [1], commit)  # another partition
    assert after.offsets() == {T0: 5}
    after.coordinator.on_transaction_completed(7, [partition(after)], commit)
    assert after.offsets() == expected
    after.coordinator.on_transaction_completed(7, [partition(after)], commit)

    marker = EndTransactionMarker(ControlRecordType.COMMIT if commit else ControlRecordType.ABORT, 1)
    control = build_end_transaction_marker(timestamp=1, producer_id=7, producer_epoch=0, marker=marker)
    h.log.append(h.log_of(), control, lambda error, offset: None, 5_000)
    assert Harness(log=h.log).offsets() == expected


@pytest.mark.parametrize(("commit", "expected"), [(True, {T0: 9}), (False, {T0: 5})])
def test_a_transaction_that_ends_while_its_partition_is_read(commit: bool, expected: dict[object, int]) -> None:
    """Its marker lies behind what is read. Kafka has one thread for both, so that the one waits for the other."""
    h = Harness()
    h.commit({T0: 5})
    h.log.append(h.log_of(), transactional_batch(h, 9), lambda error, offset: None, 5_000)
    h.coordinator.on_resignation(partition(h), 2)
    h.coordinator.on_election(partition(h), 3)
    h.coordinator.on_transaction_completed(7, [partition(h)], commit)
    h.advance(0)
    response = h.fetch_offsets(GROUP, [TopicPartition(*T0)], True)
    assert response.topics[0].partitions[0].error_code == 0
    assert h.offsets() == expected


def test_what_ended_in_a_former_term_ends_nothing_in_the_next() -> None:
    h = Harness()
    h.coordinator.on_resignation(partition(h), 2)
    h.coordinator.on_election(partition(h), 3)
    h.coordinator.on_transaction_completed(7, [partition(h)], True)
    h.coordinator.on_resignation(partition(h), 4)
    h.log.append(h.log_of(), transactional_batch(h, 9), lambda error, offset: None, 5_000)
    h.coordinator.on_election(partition(h), 5)
    h.advance(0)
    assert h.offsets() == {}
    response = h.fetch_offsets(GROUP, [TopicPartition(*T0)], True)
    assert response.topics[0].partitions[0].error_code == Errors.UNSTABLE_OFFSET_COMMIT.code


def test_a_group_that_has_only_open_transactions_does_not_expire() -> None:
    h = Harness()
    h.log.append(h.log_of(), transactional_batch(h, 9), lambda error, offset: None, 5_000)
    after = Harness(log=h.log)
    after.advance(20 * OffsetConfig().retention_ms)
    assert after.state() == "Empty"
    after.coordinator.on_resignation(partition(after), None)
    after.coordinator.on_transaction_completed(7, [partition(after)], True)
