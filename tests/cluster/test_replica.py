"""A follower's progress as its leader sees it."""

from __future__ import annotations

from kafkapy.cluster.replica import Replica
from kafkapy.log.log_types import LogOffsetMetadata

MAX_LAG_MS = 100


def known() -> Replica:
    """A follower that was in sync when the leader's epoch began."""
    replica = Replica(1)
    replica.reset(0, 0, is_new_leader=True, in_sync=True)
    return replica


def fetched(replica: Replica, offset: int, now_ms: int, leader_end: int) -> None:
    replica.update_fetch_state(LogOffsetMetadata(offset), 0, now_ms, leader_end)


def test_whoever_has_reached_the_leaders_end_is_caught_up_now() -> None:
    replica = known()
    fetched(replica, 10, 500, leader_end=10)
    assert replica.last_caught_up_ms == 500
    assert replica.is_caught_up(10, 10_000, MAX_LAG_MS), "as long as nothing is appended"
    assert replica.is_caught_up(11, 600, MAX_LAG_MS)
    assert not replica.is_caught_up(11, 601, MAX_LAG_MS)


def test_whoever_has_reached_the_end_of_the_fetch_before_was_caught_up_then() -> None:
    replica = known()
    fetched(replica, 5, 500, leader_end=10)
    assert replica.last_caught_up_ms == 0
    fetched(replica, 10, 550, leader_end=20)
    assert replica.last_caught_up_ms == 500
    fetched(replica, 15, 600, leader_end=30)
    assert replica.last_caught_up_ms == 500


def test_a_fetch_tells_what_is_stored() -> None:
    replica = known()
    assert (replica.log_end_offset.message_offset, replica.log_start_offset) == (-1, -1)
    replica.update_fetch_state(LogOffsetMetadata(7), 3, 1, 10)
    assert (replica.log_end_offset.message_offset, replica.log_start_offset) == (7, 3)
