from __future__ import annotations

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.records import OffsetKey, group_key, offset_key, read_key, read_offset_value
from kafkapy.coordinator.runtime.effects import Write
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkapy.record.batches import batches
from kafkapy.runtime.completion import spawn
from tests.coordinator.group.group_harness import GROUP, SESSION, Harness, commit_errors, subscription
from tests.coordinator.held_turns import HeldTurns

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
DAY = 24 * 3600 * 1000


@pytest.fixture
def h() -> Harness:
    return Harness()


def fetch(
    h: Harness, *partitions: tuple[str, int], stable: bool = False, group_id: str = GROUP
) -> list[tuple[int, Errors]]:
    response = h.fetch_offsets(group_id, [TopicPartition(*p) for p in partitions], stable)
    assert response.error_code == 0
    return [(p.committed_offset, Errors.for_code(p.error_code)) for topic in response.topics for p in topic.partitions]


# -------------------------------------------------------------------------------------------------- who may commit


def test_a_simple_consumer_commits_to_a_group_without_members(h: Harness) -> None:
    assert h.commit({T0: 5}) is Errors.NONE
    assert h.offsets() == {T0: 5}
    assert h.state() == "Empty"
    assert h.coordinator.describe_group(GROUP).protocol_type == ""


def test_the_group_without_a_name_has_offsets_too(h: Harness) -> None:
    assert h.commit({T0: 5}, group_id="") is Errors.NONE
    assert h.offsets("") == {T0: 5}


def test_a_member_commits(h: Harness) -> None:
    [leader] = h.stable_group()
    assert h.commit({T0: 5, T1: 6}, leader, 1) is Errors.NONE
    assert h.offsets() == {T0: 5, T1: 6}


def test_a_commit_renews_the_session(h: Harness) -> None:
    [leader] = h.stable_group()
    h.advance(SESSION - 1)
    h.commit({T0: 5}, leader, 1)
    h.advance(SESSION - 1)
    assert h.state() == "Stable"


@pytest.mark.parametrize(
    ("member", "generation", "error"),
    [
        ("", -1, Errors.UNKNOWN_MEMBER_ID),
        ("ghost", 1, Errors.UNKNOWN_MEMBER_ID),
        ("ghost", -1, Errors.UNKNOWN_MEMBER_ID),
        ("", 1, Errors.UNKNOWN_MEMBER_ID),
        ("leader", 2, Errors.ILLEGAL_GENERATION),
        ("leader", -1, Errors.ILLEGAL_GENERATION),
    ],
)
def test_who_may_not_commit_to_a_group_with_members(h: Harness, member: str, generation: int, error: Errors) -> None:
    [leader] = h.stable_group()
    assert h.commit({T0: 5}, leader if member == "leader" else member, generation) is error
    assert h.offsets() == {}


def test_a_member_of_a_group_that_is_gone(h: Harness) -> None:
    assert h.commit({T0: 5}, "ghost", 4) is Errors.ILLEGAL_GENERATION
    assert h.commit({T0: 5}, "ghost", 4, group_id="") is Errors.ILLEGAL_GENERATION
    assert h.state() == "Dead"


def test_a_member_of_a_group_that_is_empty_again(h: Harness) -> None:
    [leader] = h.stable_group()
    h.leave(leader)
    assert h.commit({T0: 5}, leader, 1) is Errors.UNKNOWN_MEMBER_ID
    assert h.commit({T0: 5}, leader, -1) is Errors.NONE


def test_commits_during_a_rebalance(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    h.join(leader)
    assert h.commit({T0: 5}, follower, 1) is Errors.NONE  # PreparingRebalance: the last chance
    h.join(follower)
    assert h.state() == "CompletingRebalance"
    assert h.commit({T0: 6}, follower, 2) is Errors.REBALANCE_IN_PROGRESS
    assert h.offsets() == {T0: 5}


# -------------------------------------------------------------------------------------------------- what is kept


def test_what_is_in_the_log(h: Harness) -> None:
    now = h.clock.milliseconds()
    h.commit({T0: 5})
    [(key, value)] = h.log.records(h.log_of())
    assert key == offset_key(GROUP, TopicPartition(*T0))
    assert value is not None
    assert value[:2] == b"\0\3"
    assert read_offset_value(value) == (5, -1, "m", now, -1)


def test_a_commit_is_one_batch_without_a_producer(h: Harness) -> None:
    h.commit({T0: 5, T1: 6})
    [batch] = batches(bytes(h.log.logs[h.log_of()]))
    assert (batch.producer_id, batch.producer_epoch, batch.is_transactional) == (-1, -1, False)
    assert batch.base_sequence == 0
    assert len(list(batch.records())) == 2


def test_a_transactional_commit_has_its_producer(h: Harness) -> None:
    partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])
    request = TxnOffsetCommitRequest(
        group_id=GROUP, producer_id=9, producer_epoch=2, generation_id=-1, member_id="", topics=[topic]
    )
    commit = h.coordinator.new_transactional_commit(request)
    assert h.coordinator.commit_offsets(GROUP, commit).result() == {T0: Errors.NONE}
    [batch] = batches(bytes(h.log.logs[h.log_of()]))
    assert (batch.producer_id, batch.producer_epoch, batch.is_transactional) == (9, 2, True)
    assert batch.base_sequence == 0
    assert fetch(h, T0, stable=True) == [(-1, Errors.UNSTABLE_OFFSET_COMMIT)]
    h.coordinator.on_transaction_completed(9, [h.log_of().partition], commit=True)
    assert fetch(h, T0, stable=True) == [(5, Errors.NONE)]


def test_null_metadata_is_empty(h: Harness) -> None:
    h.commit({T0: 5}, metadata=None)
    [topic] = h.fetch_offsets().topics
    assert topic.partitions[0].metadata == ""


def test_retention_and_timestamp_of_old_clients(h: Harness) -> None:
    now = h.clock.milliseconds()
    h.commit({T0: 5}, retention=1000)
    h.commit({T1: 6}, timestamp=now - 7)
    (_, first), (_, second) = h.log.records(h.log_of())
    assert first is not None
    assert second is not None
    assert first[:2] == b"\0\1"
    assert read_offset_value(first).expire_timestamp == now + 1000
    assert read_offset_value(second).commit_timestamp == now - 7


def test_too_much_metadata_refuses_only_its_partition() -> None:
    h = Harness(config=GroupConfig(offsets=OffsetConfig(max_metadata_size=4)))
    assert h.commit({T0: 5}, metadata="12345") is Errors.OFFSET_METADATA_TOO_LARGE
    assert h.log.appended == 0
    assert h.commit({T0: 5}, metadata="1234") is Errors.NONE
    assert h.commit({T0: 6}, metadata="😀😀") is Errors.NONE  # four UTF-16 code units
    assert h.commit({T0: 7}, metadata="😀😀x") is Errors.OFFSET_METADATA_TOO_LARGE
    assert h.offsets() == {T0: 6}


def test_metadata_is_checked_partition_by_partition() -> None:
    from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest

    h = Harness(config=GroupConfig(offsets=OffsetConfig(max_metadata_size=4)))
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name="t",
                partitions=[
                    partition(partition_index=0, committed_offset=1, committed_metadata="long!"),
                    partition(partition_index=1, committed_offset=2, committed_metadata="ok"),
                ],
            )
        ],
    )
    assert commit_errors(h.send_commit(request)) == [Errors.OFFSET_METADATA_TOO_LARGE, Errors.NONE]
    assert h.offsets() == {T1: 2}


# -------------------------------------------------------------------------------------------------- on the way


def test_an_offset_counts_when_it_is_committed_to_the_log(h: Harness) -> None:
    h.commit({T0: 1})
    h.log.hold = True
    reply = h.start_commit({T0: 2})
    assert not reply.done
    assert fetch(h, T0) == [(1, Errors.NONE)]
    assert fetch(h, T0, T1, stable=True) == [(-1, Errors.UNSTABLE_OFFSET_COMMIT), (-1, Errors.NONE)]
    h.log.release()
    assert commit_errors(reply) == [Errors.NONE]
    assert fetch(h, T0, stable=True) == [(2, Errors.NONE)]


@pytest.mark.parametrize(
    ("append_error", "error"),
    [
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR),
        (Errors.KAFKA_STORAGE_ERROR, Errors.NOT_COORDINATOR),
        (Errors.MESSAGE_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE),
        (Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE),
        (Errors.INVALID_FETCH_SIZE, Errors.INVALID_COMMIT_OFFSET_SIZE),
        (Errors.REQUEST_TIMED_OUT, Errors.REQUEST_TIMED_OUT),
    ],
)
def test_an_append_that_fails(h: Harness, append_error: Errors, error: Errors) -> None:
    h.commit({T0: 1})
    h.log.error = append_error
    assert h.commit({T0: 2}) is error
    assert fetch(h, T0, stable=True) == [(1, Errors.NONE)]


def test_of_two_commits_under_way_the_later_in_the_log_holds(h: Harness) -> None:
    h.log.hold = True
    h.start_commit({T0: 1})
    h.start_commit({T0: 2})
    first, second = h.log.held
    second[0](Errors.NONE, second[1])
    assert fetch(h, T0) == [(2, Errors.NONE)]
    first[0](Errors.NONE, first[1])
    assert fetch(h, T0, stable=True) == [(2, Errors.NONE)]


def test_a_commit_under_way_when_its_topic_is_deleted_leaves_nothing(h: Harness) -> None:
    h.log.hold = True
    h.start_commit({T0: 1})
    h.log.hold = False
    h.coordinator.handle_deleted_partitions([TopicPartition(*T0)])
    h.log.release()
    assert h.state() == "Dead"


# -------------------------------------------------------------------------------------------------- fetch


def test_fetch_of_what_is_not_there(h: Harness) -> None:
    assert fetch(h, T0, group_id="nobody") == [(-1, Errors.NONE)]
    assert h.offsets("nobody") == {}
    h.commit({T0: 1})
    assert fetch(h, U0, T1, T0) == [(-1, Errors.NONE), (-1, Errors.NONE), (1, Errors.NONE)]


def test_leader_epoch_is_kept(h: Harness) -> None:
    from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest

    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name="t",
                partitions=[
                    OffsetCommitRequest.OffsetCommitRequestPartition(
                        partition_index=0, committed_offset=9, committed_leader_epoch=4, committed_metadata="x"
                    )
                ],
            )
        ],
    )
    h.send_commit(request)
    [topic] = h.fetch_offsets(require_stable=True).topics
    [partition] = topic.partitions
    assert (partition.committed_offset, partition.committed_leader_epoch, partition.metadata) == (9, 4, "x")


# -------------------------------------------------------------------------------------------------- delete


def delete(h: Harness, *partitions: tuple[str, int], group_id: str = GROUP) -> Errors | dict[tuple[str, int], Errors]:
    named = [TopicPartition(topic, index) for topic, index in partitions]
    try:
        errors = spawn(h.coordinator.delete_offsets(group_id, named)).result()
    except KafkaError as error:
        return error.error
    return {(topic, index): error for (topic, index), error in errors.items()}


def test_delete_offsets_of_an_empty_group(h: Harness) -> None:
    h.commit({T0: 1, T1: 2})
    assert delete(h, T0, U0) == {T0: Errors.NONE, U0: Errors.NONE}
    assert h.offsets() == {T1: 2}
    assert h.log.records(h.log_of())[-1] == (offset_key(GROUP, TopicPartition(*T0)), None)


def test_deleting_the_last_offset_deletes_the_group(h: Harness) -> None:
    h.commit({T0: 1})
    delete(h, T0)
    assert h.state() == "Dead"
    assert delete(h, T0) is Errors.GROUP_ID_NOT_FOUND


def test_delete_offsets_of_a_live_group(h: Harness) -> None:
    [leader] = h.stable_group()  # subscribed to t
    h.commit({T0: 1, U0: 2}, leader, 1)
    assert delete(h, T0, U0) == {T0: Errors.GROUP_SUBSCRIBED_TO_TOPIC, U0: Errors.NONE}
    assert h.offsets() == {T0: 1}


def test_delete_offsets_of_a_live_group_whose_subscription_cannot_be_read(h: Harness) -> None:
    h.stable_group(protocols=[("range", b"junk")])
    assert delete(h, T0) == {T0: Errors.GROUP_SUBSCRIBED_TO_TOPIC}


def test_delete_offsets_of_a_live_group_of_another_type(h: Harness) -> None:
    join = h.join(protocol_type="connect")
    assert delete(h, T0) is Errors.NON_EMPTY_GROUP
    h.advance(3000)
    assert join.done


def test_delete_offsets_of_nobody(h: Harness) -> None:
    assert delete(h, T0, group_id="nobody") is Errors.GROUP_ID_NOT_FOUND
    assert delete(h, T0, group_id="") is Errors.INVALID_GROUP_ID


# -------------------------------------------------------------------------------------------------- expiry


RETENTION = OffsetConfig().retention_ms
CHECK = OffsetConfig().retention_check_interval_ms


def expired(h: Harness, now: int) -> list[TopicPartition]:
    """The offsets that are taken back if it is `now`."""
    count, effects = h.group().expire_offsets(now)
    records = [write.records for write in effects if isinstance(write, Write) and not isinstance(write.records, bytes)]
    keys = [read_key(key) for of_write in records for key, _ in of_write]
    partitions = [key.partition for key in keys if isinstance(key, OffsetKey)]
    assert len(partitions) == count
    return partitions


def test_a_simple_group_expires_from_the_commit_on(h: Harness) -> None:
    h.commit({T0: 1})
    h.advance(DAY)
    h.commit({T1: 2})
    h.advance(RETENTION - DAY - 1)
    assert h.offsets() == {T0: 1, T1: 2}
    h.advance(CHECK)
    assert h.offsets() == {T1: 2}
    h.advance(DAY)
    assert h.state() == "Dead"
    # It never had a generation, so there is no record of the group to take back.
    assert [key for key, value in h.log.records(h.log_of()) if value is None] == [
        offset_key(GROUP, TopicPartition(*T0)),
        offset_key(GROUP, TopicPartition(*T1)),
    ]


def test_a_group_without_members_expires_from_when_it_became_empty(h: Harness) -> None:
    [leader] = h.stable_group()
    h.commit({T0: 1}, leader, 1)
    for _ in range(RETENTION // (SESSION - 1) // 2):
        h.advance(SESSION - 1)
        h.heartbeat(leader)
    h.leave(leader)
    h.advance(RETENTION - CHECK)
    assert h.offsets() == {T0: 1}
    h.advance(2 * CHECK)
    assert h.state() == "Dead"
    assert [key for key, value in h.log.records(h.log_of()) if value is None] == [
        offset_key(GROUP, TopicPartition(*T0)),
        group_key(GROUP),
    ]


def test_a_stable_group_loses_only_what_it_is_not_subscribed_to(h: Harness) -> None:
    [leader] = h.stable_group()
    h.commit({T0: 1, U0: 2}, leader, 1)
    now = h.clock.milliseconds()
    assert expired(h, now + RETENTION - 1) == []
    assert expired(h, now + RETENTION) == [TopicPartition(*U0)]
    assert h.offsets() == {T0: 1}


def test_nothing_expires_while_a_group_rebalances_or_cannot_be_read(h: Harness) -> None:
    [leader] = h.stable_group()
    h.commit({U0: 2}, leader, 1)
    far = h.clock.milliseconds() + 10 * RETENTION
    h.join(version=3)
    assert h.state() == "PreparingRebalance"
    assert expired(h, far) == []

    other = Harness()
    [leader] = other.stable_group(protocols=[("range", b"junk")])
    other.commit({U0: 2}, leader, 1)
    assert expired(other, far) == []


def test_groups_of_other_types_keep_their_offsets_while_they_live(h: Harness) -> None:
    join = h.join(protocol_type="connect")
    h.advance(3000)
    member = join.response.member_id
    h.sync(member)
    h.commit({T0: 1}, member, 1)
    assert expired(h, h.clock.milliseconds() + 10 * RETENTION) == []


def test_an_explicit_time_to_expire_counts_instead_of_the_retention(h: Harness) -> None:
    h.commit({T0: 1}, retention=DAY)
    h.commit({T1: 2}, retention=10 * RETENTION)
    h.advance(DAY + CHECK)
    assert h.offsets() == {T1: 2}
    h.advance(2 * RETENTION)
    assert h.offsets() == {T1: 2}


def test_pending_offsets_do_not_expire(h: Harness) -> None:
    h.commit({T0: 1})
    h.log.hold = True
    h.start_commit({T0: 2})
    assert expired(h, h.clock.milliseconds() + 10 * RETENTION) == []


def test_others_have_their_turn_while_groups_expire() -> None:
    clock = HeldTurns()
    h = Harness(clock=clock)
    for n in range(450):
        h.commit({T0: n}, group_id=f"g{n}")
    before = clock.yields
    h.advance(RETENTION + CHECK)
    assert h.coordinator.groups == {}
    assert clock.yields - before >= 450


def test_nothing_expires_after_a_shutdown() -> None:
    clock = HeldTurns()
    h = Harness(clock=clock)
    h.commit({T0: 1})
    clock.advance(RETENTION + CHECK)
    h.coordinator.shutdown()
    clock.go_on()
    assert clock.waiting == []
    assert h.group().offsets


def test_a_topic_that_is_deleted_takes_its_offsets_along(h: Harness) -> None:
    [leader] = h.stable_group(group_id="live")
    h.commit({T0: 1, U0: 2}, leader, 1, group_id="live")
    h.commit({T0: 1}, group_id="simple")
    h.coordinator.handle_deleted_partitions([TopicPartition(*T0), TopicPartition(*T1)])
    assert h.offsets("live") == {U0: 2}
    assert h.state("live") == "Stable"
    assert h.state("simple") == "Dead"
    assert h.log.records(h.log_of("simple"))[-1] == (offset_key("simple", TopicPartition(*T0)), None)


def test_a_topic_that_is_deleted_takes_empty_groups_along_that_have_no_offsets(h: Harness) -> None:
    """Kafka looks at all groups then, of whatever topics."""
    for group in ("empty", "kept"):
        [leader] = h.stable_group(group_id=group)
        if group == "kept":
            h.commit({U0: 1}, leader, 1, group_id=group)
        h.leave(leader, group_id=group)
    h.stable_group(group_id="stable")
    assert h.coordinator.begin_transactional_commit("transactional") is Errors.NONE
    assert h.state("transactional") == "Empty"
    h.coordinator.handle_deleted_partitions([TopicPartition(*T0)])
    states = [h.state(group) for group in ("empty", "kept", "stable", "transactional")]
    assert states == ["Dead", "Empty", "Stable", "Dead"]


def test_the_group_of_a_transaction_that_was_refused_goes_with_the_next_expiry(h: Harness) -> None:
    """As in Kafka it is there before the transaction is looked for."""
    assert h.coordinator.begin_transactional_commit("") is Errors.INVALID_GROUP_ID
    assert h.coordinator.begin_transactional_commit("g") is Errors.NONE
    assert h.state("g") == "Empty"
    h.advance(CHECK)
    assert "g" not in h.coordinator.groups


def test_offsets_of_a_deleted_topic_go_a_chunk_at_a_time_and_spare_the_commits_to_its_successor() -> None:
    clock = HeldTurns()
    h = Harness(clock=clock)
    [leader] = h.stable_group()
    partitions = [("t", p) for p in range(60)]
    h.commit(dict.fromkeys([*partitions, U0], 1), leader, 1)
    h.coordinator.handle_deleted_partitions([TopicPartition(*p) for p in partitions])
    clock.go_on()  # the group
    clock.go_on()  # the first chunk
    assert h.offsets() == dict.fromkeys([*partitions[50:], U0], 1)
    clock.advance(5)
    h.commit({("t", 55): 7}, leader, 1)
    h.advance(0)
    assert h.offsets() == {("t", 55): 7, U0: 1}


def test_groups_are_looked_through_one_by_one() -> None:
    clock = HeldTurns()
    h = Harness(clock=clock)
    for group in ("a", "b", "c"):
        h.commit({T0: 1, U0: 1}, group_id=group)
    h.coordinator.handle_deleted_partitions([TopicPartition(*T0)])
    clock.go_on()
    clock.go_on()
    assert [h.offsets(group) for group in ("a", "b")] == [{U0: 1}, {T0: 1, U0: 1}]
    clock.advance(5)
    h.commit({T0: 7}, group_id="b")
    h.advance(0)
    assert [h.offsets(group) for group in ("a", "b", "c")] == [{U0: 1}, {T0: 7, U0: 1}, {U0: 1}]


def test_tombstones_that_fail_are_only_logged(h: Harness) -> None:
    h.commit({T0: 1})
    h.log.error = Errors.NOT_LEADER_OR_FOLLOWER
    h.coordinator.handle_deleted_partitions([TopicPartition(*T0)])
    assert h.state() == "Dead"


def test_subscribed_topics_are_those_of_all_members(h: Harness) -> None:
    joins = [h.join(protocols=[("range", subscription("a", "b"))]), h.join(protocols=[("range", subscription("c"))])]
    h.advance(6000)
    assert all(reply.done for reply in joins)
    assert h.group().subscribed_topics == {"a", "b", "c"}
