from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkapy.common.patterns import java_whole
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.subscription_state import FetchPosition, FetchState, SubscriptionState
from kafkapy.errors import IllegalStateError, NoOffsetForPartitionError
from kafkapy.structs import OffsetResetStrategy

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def assigned(*partitions: TopicPartition) -> SubscriptionState:
    state = SubscriptionState(OffsetResetStrategy.LATEST)
    state.assign_from_user(partitions)
    return state


def test_one_way_to_subscribe() -> None:
    state = SubscriptionState()
    state.subscribe(["t"])
    wrongs: list[Callable[[], object]] = [
        lambda: state.assign_from_user([P0]),
        lambda: state.subscribe(pattern="t.*"),
    ]
    for wrong in wrongs:
        with pytest.raises(IllegalStateError):
            wrong()
    state.unsubscribe()
    state.assign_from_user([P0])
    with pytest.raises(IllegalStateError):
        state.subscribe(["t"])


@pytest.mark.parametrize(
    ("topics", "error"),
    [([], ValueError), ("t", TypeError), (["a/b"], ValueError), ([""], ValueError), ([7], TypeError)],
)
def test_topics_are_checked_before_anything_changes(topics: list[str], error: type[Exception]) -> None:
    state = SubscriptionState()
    with pytest.raises(error):
        state.subscribe(topics)
    state.assign_from_user([P0])


def test_a_pattern_follows_the_topics() -> None:
    state = SubscriptionState()
    state.subscribe(pattern="t-|__")
    assert state.match(["t-a", "x", "__consumer_offsets"], exclude_internal=True)
    assert state.subscription == {"t-a"}
    assert not state.match(["t-a", "y"], exclude_internal=True)
    assert state.match(["t-a", "__consumer_offsets"], exclude_internal=False)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"\p{Alpha}+-", {"a-1", "b-1"}),
        ("[a-z&&[^b]]", {"a-1"}),
        ("(?<name>a|b)-", {"a-1", "b-1"}),
        ("(?P<name>a|b)-", {"a-1", "b-1"}),
    ],
)
def test_a_pattern_may_be_one_of_java(pattern: str, wanted: set[str]) -> None:
    state = SubscriptionState()
    state.subscribe(pattern=pattern)
    state.match(["a-1", "b-1", "é1-"], exclude_internal=True)
    assert state.subscription == wanted


def test_a_translated_pattern_is_taken_as_it_is() -> None:
    state = SubscriptionState()
    state.subscribe(pattern=java_whole(r"\p{Lower}"))
    state.match(["a", "ab"], exclude_internal=True)
    assert state.subscription == {"a"}


def test_partitions_that_stay_keep_their_state() -> None:
    state = SubscriptionState()
    state.subscribe(["t"])
    state.assign_from_subscribed([P0])
    state.seek(P0, 5)
    state.mark_pending_revocation([P0])
    state.assign_from_subscribed([P1, P0])
    assert state.position(P0) == FetchPosition(5)
    assert state.fetchable_partitions() == [P0]
    assert state.initializing_partitions() == {P1}
    with pytest.raises(ValueError, match="non-subscribed"):
        state.assign_from_subscribed([TopicPartition("other", 0)])


def test_seek_pause_and_reset() -> None:
    state = assigned(P0, P1)
    version = state.state(P0).version
    state.seek(P0, 5)
    assert state.state(P0).version > version
    state.state(P0).paused = True
    assert (state.fetchable_partitions(), state.paused_partitions()) == ([], {P0})
    state.request_offset_reset(P0)
    assert state.partitions_needing_reset(0) == {P0: OffsetResetStrategy.LATEST}
    assert state.position(P0) is None
    state.retry_later([P0], 100)
    assert state.partitions_needing_reset(99) == {}
    assert state.complete_reset(P0, OffsetResetStrategy.LATEST, FetchPosition(9))
    assert state.all_positions() == {P0: FetchPosition(9)}


def test_a_reset_that_was_overtaken_by_a_seek() -> None:
    state = assigned(P0)
    state.request_offset_reset(P0)
    state.seek(P0, 1)
    assert not state.complete_reset(P0, OffsetResetStrategy.LATEST, FetchPosition(9))
    assert state.position(P0) == FetchPosition(1)


def test_no_policy() -> None:
    state = SubscriptionState(OffsetResetStrategy.of("none"))
    state.assign_from_user([P0])
    with pytest.raises(NoOffsetForPartitionError):
        state.reset_initializing_positions(state.initializing_partitions())


def test_validation_by_a_newer_leader() -> None:
    state = assigned(P0)
    state.seek(P0, 5, offset_epoch=1)
    partition = state.state(P0)
    assert partition.await_validation(2)
    assert (partition.fetch_state, partition.is_fetchable) == (FetchState.AWAIT_VALIDATION, False)
    assert state.partitions_needing_validation(0) == [P0]
    partition.complete_validation()
    assert partition.is_fetchable
    assert not partition.await_validation(2)


def test_a_position_without_an_epoch_needs_no_validation() -> None:
    state = assigned(P0)
    state.seek(P0, 5)
    assert not state.state(P0).await_validation(3)
    assert state.position(P0) == FetchPosition(5, -1, 3)


def test_lag() -> None:
    partition = assigned(P0).state(P0)
    assert partition.lag() is None
    partition.seek(FetchPosition(4))
    partition.high_watermark, partition.last_stable_offset = 10, 7
    assert (partition.lag(), partition.lag(read_committed=True)) == (6, 3)


def test_preferred_replica_expires() -> None:
    partition = assigned(P0).state(P0)
    partition.prefer_read_replica(2, 100)
    assert (partition.read_replica(1, 99), partition.read_replica(1, 100)) == (2, 1)


def test_unassigned_partition() -> None:
    with pytest.raises(IllegalStateError):
        SubscriptionState().position(P0)


def test_a_pattern_that_is_none_changes_nothing() -> None:
    state = SubscriptionState()
    with pytest.raises(ValueError, match=r"'\*' is no regular expression"):
        state.subscribe(pattern="*")
    assert not state.auto_assigned
    state.subscribe(["t"])
