from __future__ import annotations

from itertools import count

from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.errors import Errors
from kafkapy.server.fetch.fetch_session import (
    FetchContext,
    FetchSessionCache,
    FullFetchContext,
    IncrementalFetchContext,
    SessionErrorContext,
)
from kafkapy.server.replication.fetch_params import FetchPartition, FetchResult


def cache(size: int = 10, time: MockTime | None = None) -> FetchSessionCache:
    ids = count(1)
    return FetchSessionCache(size, time or MockTime(), lambda: next(ids))


def fetch(partition: int, offset: int = 0) -> FetchPartition:
    return FetchPartition(TopicPartition("t", partition), ZERO_UUID, offset, -1, 1000, -1, -1)


def found(high_watermark: int = 5, records: bytes = b"", error: Errors = Errors.NONE) -> FetchResult:
    return FetchResult(error, high_watermark, log_start_offset=0, records=records, size=len(records))


def open_session(sessions: FetchSessionCache, partitions: int, follower: bool = False) -> FetchContext:
    context = sessions.context(0, 0, follower, False, [fetch(p) for p in range(partitions)], [])
    context.select([found() for p in range(partitions)])
    return context


def test_full_fetch_makes_a_session_and_answers_everything() -> None:
    sessions = cache()
    context = sessions.context(0, 0, False, False, [fetch(0), fetch(1)], [])
    assert isinstance(context, FullFetchContext)
    assert context.session_id == 1
    assert context.select([found(), found()]) == [0, 1]


def test_final_epoch_is_sessionless() -> None:
    sessions = cache()
    context = sessions.context(0, -1, False, False, [fetch(0)], [])
    assert context.session_id == 0
    assert len(sessions) == 0


def test_incremental_fetch_answers_only_news() -> None:
    sessions = cache()
    session_id = open_session(sessions, 3).session_id
    context = sessions.context(session_id, 1, False, False, [], [])
    assert isinstance(context, IncrementalFetchContext)
    assert [f.topic_partition.partition for f in context.fetches] == [0, 1, 2]
    assert context.select([found(), found(high_watermark=6), found(records=b"x")]) == [1, 2]


def test_served_partitions_go_to_the_end_of_the_order() -> None:
    sessions = cache()
    session_id = open_session(sessions, 3).session_id
    context = sessions.context(session_id, 1, False, False, [], [])
    context.select([found(records=b"x"), found(), found()])
    context = sessions.context(session_id, 2, False, False, [], [])
    assert [f.topic_partition.partition for f in context.fetches] == [1, 2, 0]


def test_an_error_is_told_again_until_it_is_gone_and_then_once_more() -> None:
    sessions = cache()
    session_id = open_session(sessions, 1).session_id
    bad = found(error=Errors.NOT_LEADER_OR_FOLLOWER)
    assert sessions.context(session_id, 1, False, False, [], []).select([bad]) == [0]
    assert sessions.context(session_id, 2, False, False, [], []).select([found()]) == [0]
    assert sessions.context(session_id, 3, False, False, [], []).select([found()]) == []


def test_partitions_are_added_changed_and_forgotten() -> None:
    sessions = cache()
    session_id = open_session(sessions, 2).session_id
    context = sessions.context(session_id, 1, False, False, [fetch(1, 7), fetch(2)], [("t", 0)])
    assert [(f.topic_partition.partition, f.fetch_offset) for f in context.fetches] == [(1, 7), (2, 0)]


def test_a_session_without_partitions_ends() -> None:
    sessions = cache()
    session_id = open_session(sessions, 1).session_id
    context = sessions.context(session_id, 1, False, False, [], [("t", 0)])
    assert context.session_id == 0
    assert len(sessions) == 0


def test_wrong_id_epoch_and_kind_of_names_are_errors() -> None:
    sessions = cache()
    session_id = open_session(sessions, 1).session_id
    for arguments, error in (
        ((99, 1, False, False), Errors.FETCH_SESSION_ID_NOT_FOUND),
        ((session_id, 2, False, False), Errors.INVALID_FETCH_SESSION_EPOCH),
        ((session_id, 1, False, True), Errors.FETCH_SESSION_TOPIC_ID_ERROR),
    ):
        context = sessions.context(*arguments, [], [])
        assert isinstance(context, SessionErrorContext)
        assert context.error is error


def test_epoch_wraps_to_one() -> None:
    sessions = cache()
    session_id = open_session(sessions, 1).session_id
    sessions._sessions[session_id].epoch = 2147483647
    assert isinstance(sessions.context(session_id, 2147483647, False, False, [], []), IncrementalFetchContext)
    assert isinstance(sessions.context(session_id, 1, False, False, [], []), IncrementalFetchContext)


def test_a_full_cache_refuses_until_a_session_is_stale() -> None:
    time = MockTime()
    sessions = cache(2, time)
    open_session(sessions, 1)
    open_session(sessions, 1)
    assert open_session(sessions, 1).session_id == 0
    time.advance(120_001)
    assert open_session(sessions, 1).session_id != 0
    assert len(sessions) == 2


def test_a_follower_drives_out_a_consumer_that_is_used_but_old() -> None:
    time = MockTime()
    sessions = cache(1, time)
    session_id = open_session(sessions, 5).session_id
    for epoch in range(1, 4):
        time.advance(60_000)
        sessions.context(session_id, epoch, False, False, [], [])
    assert open_session(sessions, 5).session_id == 0
    assert open_session(sessions, 1, follower=True).session_id != 0


def test_a_follower_drives_out_a_young_consumer_but_no_young_follower() -> None:
    sessions = cache(1)
    open_session(sessions, 5)
    assert open_session(sessions, 5).session_id == 0, "a consumer drives out nobody young"
    follower = open_session(sessions, 1, follower=True).session_id
    assert follower != 0
    assert open_session(sessions, 9, follower=True).session_id == 0


def test_only_the_old_ones_are_compared_with_a_new_consumer() -> None:
    time = MockTime()
    sessions = cache(2, time)
    old = open_session(sessions, 5).session_id
    for epoch in range(1, 3):
        time.advance(60_001)
        sessions.context(old, epoch, False, False, [], [])
    young = open_session(sessions, 1).session_id
    assert open_session(sessions, 5).session_id == 0
    assert open_session(sessions, 6).session_id != 0
    assert isinstance(sessions.context(young, 1, False, False, [], []), IncrementalFetchContext)
    assert isinstance(sessions.context(old, 3, False, False, [], []), SessionErrorContext)


def test_no_sessions_at_all() -> None:
    assert open_session(cache(0), 1).session_id == 0


def test_partitions_are_known_by_id_whatever_their_name() -> None:
    sessions = cache()
    topic_id = b"i" * 16
    unknown = FetchPartition(TopicPartition("", 0), topic_id, 0, -1, 1000, -1, -1)
    session_id = sessions.context(0, 0, False, True, [unknown], []).session_id
    known = FetchPartition(TopicPartition("t", 0), topic_id, 7, -1, 1000, -1, -1)
    context = sessions.context(session_id, 1, False, True, [known], [])
    assert [f.fetch_offset for f in context.fetches] == [7]
    assert sessions.context(session_id, 2, False, True, [], [(topic_id, 0)]).fetches == []


def test_a_session_may_begin_without_partitions() -> None:
    sessions = cache()
    session_id = sessions.context(0, 0, False, False, [], []).session_id
    assert session_id != 0
    context = sessions.context(session_id, 1, False, False, [fetch(0)], [])
    assert [f.topic_partition.partition for f in context.fetches] == [0]
