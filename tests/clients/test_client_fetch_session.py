"""The client's half of fetch sessions (KIP-227)."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.clients.fetch_session import FetchSessionHandler, PartitionRequest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse

A, B = TopicPartition("t", 0), TopicPartition("u", 0)
ID_1, ID_2 = b"1" * 16, b"2" * 16


def wish(offset: int, topic_id: bytes = ID_1) -> PartitionRequest:
    return PartitionRequest(offset, 100, 3, topic_id)


def named(request: FetchRequest) -> dict[TopicPartition, int]:
    return {TopicPartition(t.topic, p.partition): p.fetch_offset for t in request.topics for p in t.partitions}


def forgotten(request: FetchRequest) -> set[tuple[str, bytes, int]]:
    return {(t.topic, t.topic_id, p) for t in request.forgotten_topics_data for p in t.partitions}


def established(*wishes: tuple[TopicPartition, PartitionRequest]) -> FetchSessionHandler:
    session = FetchSessionHandler()
    session.next_request(dict(wishes))
    assert session.accept(FetchResponse(session_id=5), [tp for tp, _ in wishes])
    return session


def test_the_first_request_names_everything_and_asks_for_a_session() -> None:
    session = FetchSessionHandler()
    request, by_id = session.next_request({A: wish(1), B: wish(2, ID_2)})
    assert (request.session_id, request.session_epoch, by_id) == (0, 0, True)
    assert named(request) == {A: 1, B: 2}
    assert request.topics[0].partitions[0].current_leader_epoch == 3


def test_later_requests_name_what_changed() -> None:
    session = established((A, wish(1)), (B, wish(2, ID_2)))
    request, _ = session.next_request({A: wish(7), B: wish(2, ID_2)})
    assert (request.session_id, request.session_epoch) == (5, 1)
    assert named(request) == {A: 7}
    assert forgotten(request) == set()
    assert session.accept(FetchResponse(session_id=5), [A])
    request, _ = session.next_request({A: wish(7)})
    assert request.session_epoch == 2
    assert named(request) == {}
    assert forgotten(request) == {("u", ID_2, 0)}


def test_a_topic_that_was_made_anew_is_forgotten_by_its_old_id() -> None:
    session = established((A, wish(1)))
    request, _ = session.next_request({A: wish(0, ID_2)})
    assert named(request) == {A: 0}
    assert forgotten(request) == {("t", ID_1, 0)}


def test_ids_that_come_or_go_need_a_new_session() -> None:
    session = established((A, wish(1)))
    request, by_id = session.next_request({A: wish(1, bytes(16))})
    assert (request.session_id, request.session_epoch, by_id) == (5, 0, False)
    assert named(request) == {A: 1}


def test_epochs_skip_zero_when_they_wrap() -> None:
    session = established((A, wish(1)))
    session.epoch = 2**31 - 1
    session.next_request({A: wish(1)})
    assert session.accept(FetchResponse(session_id=5), [])
    assert session.epoch == 1


def test_a_session_that_the_broker_does_not_know() -> None:
    session = established((A, wish(1)))
    session.next_request({A: wish(1)})
    assert not session.accept(FetchResponse(error_code=Errors.FETCH_SESSION_ID_NOT_FOUND.code), [])
    assert (session.session_id, session.epoch) == (0, 0)


def test_other_errors_and_lost_answers_replace_the_session() -> None:
    failures: list[Callable[[FetchSessionHandler], bool | None]] = [
        lambda s: s.accept(FetchResponse(error_code=Errors.INVALID_FETCH_SESSION_EPOCH.code), []),
        lambda s: s.failed(),
        lambda s: s.accept(FetchResponse(session_id=5), [B]),
    ]
    for fail in failures:
        session = established((A, wish(1)))
        session.next_request({A: wish(1)})
        assert not fail(session)
        assert (session.session_id, session.epoch) == (5, 0)
        request, _ = session.next_request({A: wish(1)})
        assert named(request) == {A: 1}


def test_a_broker_without_room_for_sessions() -> None:
    session = FetchSessionHandler()
    for _ in range(2):
        request, _ = session.next_request({A: wish(1)})
        assert (request.session_id, request.session_epoch) == (0, 0)
        assert named(request) == {A: 1}
        assert session.accept(FetchResponse(session_id=0), [A])


def test_a_session_that_the_broker_closes() -> None:
    session = established((A, wish(1)))
    session.next_request({A: wish(2)})
    assert session.accept(FetchResponse(session_id=0), [A])
    assert session.is_full


def test_a_full_answer_that_leaves_partitions_out_is_of_no_use() -> None:
    session = FetchSessionHandler()
    session.next_request({A: wish(1), B: wish(2)})
    assert not session.accept(FetchResponse(session_id=5), [A])
    assert session.session_id == 0
    session.next_request({A: wish(1)})
    assert not session.accept(FetchResponse(throttle_time_ms=100), [])


def test_without_sessions_every_request_is_full() -> None:
    session = FetchSessionHandler(incremental=False)
    for _ in range(2):
        request, _ = session.next_request({A: wish(1)})
        assert (request.session_id, request.session_epoch) == (0, -1)
        assert session.accept(FetchResponse(session_id=0), [A])
    assert session.closing_request() is None


def test_closing() -> None:
    session = established((A, wish(1)))
    request = session.closing_request()
    assert request is not None
    assert (request.session_id, request.session_epoch, request.topics) == (5, -1, [])
    assert session.closing_request() is None


# --- as followers use it: by changes


def test_changes_are_added_to_what_was_wanted() -> None:
    session = FetchSessionHandler()
    session.request({A: wish(1), B: wish(2, ID_2)}, ())
    assert session.accept(FetchResponse(session_id=5))
    request, by_id = session.request({A: wish(4)}, [B])
    assert (request.session_id, request.session_epoch, by_id) == (5, 1, True)
    assert named(request) == {A: 4}
    assert forgotten(request) == {("u", ID_2, 0)}
    assert session.partitions == {A: wish(4)}
    topic = FetchResponse.FetchableTopicResponse(topic_id=ID_1)
    assert session.name_of(topic) == "t"
    session.failed()
    request, _ = session.request({}, ())
    assert (request.session_id, request.session_epoch) == (5, 0)
    assert named(request) == {A: 4}


def test_a_topic_without_an_id_makes_all_be_called_by_name() -> None:
    session = FetchSessionHandler()
    session.request({A: wish(1)}, ())
    assert session.accept(FetchResponse(session_id=5))
    request, by_id = session.request({B: wish(2, ZERO_UUID)}, ())
    assert (request.session_epoch, by_id) == (0, False)
    assert named(request) == {A: 1, B: 2}
    assert session.accept(FetchResponse(session_id=6))
    request, by_id = session.request({B: wish(2, ID_2)}, ())
    assert (request.session_epoch, by_id) == (0, True)
    assert session.request({}, (), may_use_ids=False)[1] is False
