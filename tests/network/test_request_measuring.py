"""What a connection notes of its requests where they are measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkapy.common.metrics_requests import RequestStats, RequestStatsByApi
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatResponse
from tests.network.loopback import Loopback, LoopbackClient


@pytest.fixture
def loop(make_loopback: Callable[..., Loopback]) -> Loopback:
    loop = make_loopback()
    loop.server.request_stats = RequestStatsByApi(max(ApiKey), ApiKey.FETCH)
    return loop


def stats_of(loop: Loopback, api_key: ApiKey) -> RequestStats:
    assert loop.server.request_stats is not None
    stats = loop.server.request_stats.clients[api_key]
    stats.fold()
    return stats


def held(loop: Loopback) -> LoopbackClient:
    """A client whose next request is not answered before somebody does."""
    loop.hold = True
    return loop.connect(loop.listen())


def test_answered_at_once(loop: Loopback) -> None:
    client = loop.connect(loop.listen())
    client.heartbeat()
    client.response()
    stats = stats_of(loop, ApiKey.HEARTBEAT)
    assert (stats.total.count, stats.local.count, stats.remote.sum, stats.send.sum) == (1, 1, 0, 0)


def test_an_answer_that_waits(loop: Loopback) -> None:
    client = held(loop)
    client.heartbeat()
    loop.until(lambda: bool(loop.requests))
    loop.now += 3
    loop.answer(loop.requests[0])
    client.response()
    stats = stats_of(loop, ApiKey.HEARTBEAT)
    assert (stats.total.sum, stats.local.sum, stats.remote.sum, stats.send.sum) == (3000, 0, 3000, 0)


def test_a_client_that_is_slow_to_read(loop: Loopback) -> None:
    loop.records = b"x" * (6 << 20)
    client = loop.connect(loop.listen(), receive_buffer=1 << 14)
    client.fetch()
    loop.until(lambda: bool(loop.requests))
    loop.turns()
    assert stats_of(loop, ApiKey.FETCH).count == 0
    loop.now += 2
    client.response()
    loop.until(lambda: stats_of(loop, ApiKey.FETCH).count == 1)
    stats = stats_of(loop, ApiKey.FETCH)
    assert (stats.total.sum, stats.remote.sum, stats.send.sum) == (2000, 0, 2000)


def test_throttling_is_no_part_of_the_time(loop: Loopback) -> None:
    client = held(loop)
    client.heartbeat()
    loop.until(lambda: bool(loop.requests))
    loop.requests[0].respond(HeartbeatResponse(), throttle_ms=20)
    client.response()
    stats = stats_of(loop, ApiKey.HEARTBEAT)
    assert (stats.total.sum, stats.throttle.sum, stats.throttle.count) == (0, 20, 1)


def test_errors(loop: Loopback) -> None:
    client = held(loop)
    client.heartbeat()
    loop.until(lambda: bool(loop.requests))
    loop.requests[0].respond(HeartbeatResponse(error_code=27))
    client.response()
    assert stats_of(loop, ApiKey.HEARTBEAT).errors == {27: 1}


def test_errors_of_fetches_count_when_the_handler_says_so(loop: Loopback) -> None:
    client = held(loop)
    client.fetch()
    loop.until(lambda: bool(loop.requests))
    partitions = [
        FetchResponse.PartitionData(partition_index=i, error_code=code) for i, code in enumerate((0, 6, 6, 3))
    ]
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=partitions)])
    loop.requests[0].failed = True
    loop.requests[0].respond(response)
    client.response()
    assert stats_of(loop, ApiKey.FETCH).errors == {6: 2, 3: 1}


def test_followers_are_apart(loop: Loopback) -> None:
    client = held(loop)
    client.fetch()
    loop.until(lambda: bool(loop.requests))
    loop.requests[0].mark_follower()
    loop.answer(loop.requests[0])
    client.response()
    client.fetch()
    loop.until(lambda: len(loop.requests) == 2)
    loop.answer(loop.requests[1])
    client.response()
    assert loop.server.request_stats is not None
    assert loop.server.request_stats.fetch_of_followers.count == 1


def test_nothing_is_measured_where_nobody_asks(make_loopback: Callable[..., Loopback]) -> None:
    loop = make_loopback()
    client = loop.connect(loop.listen())
    client.heartbeat()
    client.response()
    assert loop.server.request_stats is None
