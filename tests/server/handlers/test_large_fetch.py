"""A fetch of very many partitions takes turns, and finds what fetches of a few find."""

from __future__ import annotations

import itertools

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.server.metrics.sources import request_stats
from tests.server.broker_core import TOPIC, BrokerCore, MakeCore
from tests.server.handlers.test_cold_reads import Disk
from tests.server.handlers.test_fetch import NEWEST, error, fetch, values, wanted

PARTITIONS = 3
TIMES = 200
NAMES = 12
Answer = FetchResponse.PartitionData


@pytest.fixture
def core(make_core: MakeCore) -> BrokerCore:
    core = make_core()
    core.create_topic(partitions=PARTITIONS)
    return core


def many(*, offset: int = 0, times: int = TIMES, others: bool = False, **fields: int) -> FetchRequest:
    """Each partition again and again, which a fetch without a session may do: the broker has only a few."""
    named = [wanted(index, offset) for index in range(PARTITIONS)] * times
    if not others:
        return fetch((TOPIC, named), **fields)
    return fetch((TOPIC, [*named, wanted(9)]), ("unknown", [wanted()]), (TOPIC, named), **fields)


def slow(core: BrokerCore) -> None:
    """Each look at the time takes a millisecond, so each turn is soon over."""
    now = itertools.count(core.time.monotonic_ms())
    core.time.monotonic_ms = lambda: next(now)


def answers(response: FetchResponse | None) -> list[Answer]:
    assert response is not None
    return [partition for topic in response.responses for partition in topic.partitions]


@pytest.mark.parametrize(
    ("version", "times"), [(0, TIMES), (1, TIMES), (3, TIMES), (5, TIMES), (NAMES, TIMES), (NAMES, 2000)]
)
def test_it_finds_what_small_ones_find(core: BrokerCore, version: int, times: int) -> None:
    """2000 times: its frame is so large that it is decoded in a thread, too, and its answer is encoded in one."""
    core.append(b"a", b"b", index=0)
    core.append(b"c", index=2)
    client = core.connect()
    small = client.call(many(times=10, others=True), version)
    slow(core)
    core.time.yields = 0
    large = client.call(many(times=times, others=True), version)
    assert core.time.yields >= 3
    assert [topic.topic for topic in large.responses] == [topic.topic for topic in small.responses]
    for few, all_of_them in zip(small.responses, large.responses, strict=True):
        assert all_of_them.partitions[: len(few.partitions) - 1] == few.partitions[:-1]
        assert all_of_them.partitions[-1] == few.partitions[-1]
    assert len(answers(large)) == 2 * PARTITIONS * times + 2
    assert {error(answer) for answer in answers(large)} == {Errors.NONE, Errors.UNKNOWN_TOPIC_OR_PARTITION}


def test_all_partitions_share_its_limit(core: BrokerCore) -> None:
    for index in range(PARTITIONS):
        core.append(b"x" * 100, index=index)
    size = len(answers(core.connect().call(many(times=1), NAMES))[0].records or b"")
    got = answers(core.connect().call(many(max_bytes=size * 100 + 1), NAMES))
    with_records = [index for index, answer in enumerate(got) if values(answer)]
    assert with_records == list(range(100))
    got = answers(core.connect().call(many(max_bytes=1), NAMES))
    assert [index for index, answer in enumerate(got) if values(answer)] == [0], "one batch comes, whatever its size"


def test_it_waits_for_records(core: BrokerCore) -> None:
    client = core.connect()
    client.send(many(max_wait_ms=500), NAMES)
    core.advance(499)
    assert client.response() is None
    core.append(b"a", index=2)
    got = answers(client.response())
    assert [values(answer) for answer in got[:PARTITIONS]] == [[], [], [b"a"]]
    core.advance(1000)
    assert client.response() is None, "it is answered once"


def test_its_time_is_up(core: BrokerCore) -> None:
    core.append(b"a", index=1)
    client = core.connect()
    client.send(many(max_wait_ms=500, min_bytes=1 << 20, times=TIMES), NAMES)
    core.advance(499)
    assert client.response() is None
    core.advance(10)
    assert [values(answer) for answer in answers(client.response())[:PARTITIONS]] == [[], [b"a"], []]


def test_what_comes_between_two_of_its_turns_is_not_missed(core: BrokerCore) -> None:
    """Whichever turn the records come in, the fetch does not sleep on them."""
    for number in itertools.count():
        turns = itertools.count()

        async def turn(number: int = number, turns: itertools.count[int] = turns) -> None:
            if next(turns) == number:
                core.append(b"a", index=0)

        core.time.yield_now = turn  # type: ignore[method-assign]
        core.time.should_yield = lambda extra_seconds=0.0: True  # type: ignore[method-assign]
        offset = core.partition(index=0).local_log(-1, True).log_end_offset
        client = core.connect()
        request = fetch((TOPIC, [wanted(0, offset), wanted(1)] * 300), max_wait_ms=500)
        client.send(request, NAMES)
        response = client.response()
        if response is None:  # nothing came: it waits
            assert next(turns) <= number
            break
        assert values(answers(response)[0]) in ([], [b"a"])
    assert number > 20


def test_a_session_of_very_many(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(partitions=501)
    topic_id = core.cache.topic_id(TOPIC)
    client = core.connect()
    first = client.call(fetch((topic_id, [wanted(p) for p in range(501)]), session_epoch=0), NEWEST)
    assert len(answers(first)) == 501
    core.append(b"a", index=500)
    then = client.call(fetch(session_id=first.session_id, session_epoch=1), NEWEST)
    assert [(answer.partition_index, values(answer)) for answer in answers(then)] == [(500, [b"a"])]


def test_a_client_that_has_gone_gets_no_answer(core: BrokerCore) -> None:
    client = core.connect()
    client.send(many(max_wait_ms=500), NAMES)
    client.channel.connectionLost()
    core.append(b"a")
    assert client.response() is None


def test_a_follower_moves_high_watermarks_and_wakes_who_waits_for_that(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(partitions=PARTITIONS, replicas=[0, 1])
    for index in range(PARTITIONS):
        core.append(b"a", index=index)
    reader, follower = core.connect(), core.connect()
    reader.send(fetch((TOPIC, [wanted(2)]), max_wait_ms=500), NAMES)
    assert reader.response() is None
    slow(core)
    got = answers(follower.call(many(offset=0, replica_id=1), NAMES))
    assert [values(answer) for answer in got[:PARTITIONS]] == [[b"a"]] * PARTITIONS
    assert reader.response() is None
    follower.send(many(offset=1, replica_id=1, max_wait_ms=500), NAMES)
    assert [values(answer) for answer in answers(reader.response())] == [[b"a"]]
    assert follower.response() is None
    core.append(b"b", index=1)
    assert [values(answer) for answer in answers(follower.response())[:PARTITIONS]] == [[], [b"b"], []]


def test_errors_are_counted_once(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(partitions=PARTITIONS)
    core.sockets.request_stats = request_stats()
    client = core.connect()
    client.call(many(times=2000, others=True), NAMES)
    counted = core.sockets.request_stats.clients[ApiKey.FETCH].errors
    assert counted[Errors.UNKNOWN_TOPIC_OR_PARTITION.code] == 2


def test_what_is_on_the_disk_is_read_in_a_thread(core: BrokerCore, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(PARTITIONS):
        core.append(b"a", index=index)
        core.append(b"b", index=index)
    disk = Disk(core, monkeypatch)
    disk.forget(1)
    client = core.connect()
    client.send(many(offset=1, times=TIMES), NAMES)
    assert client.response() is None
    while core.cold_reads.held:
        core.cold_reads.work()
    got = answers(client.response())
    assert [values(answer) for answer in got[-PARTITIONS:]] == [[b"b"]] * PARTITIONS
