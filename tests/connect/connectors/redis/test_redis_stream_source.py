"""The source of streams beside a server of Redis."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.connect.connectors.redis.redis_stream_source import RedisStreamSourceConnector, RedisStreamSourceTask
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport
from tests.connect.connectors.redis.redis_server import RedisServer

GROUP = "kafka-consumer-group"


def started(server: Any, stored: str | None = None, **configs: str) -> RedisStreamSourceTask:
    task = RedisStreamSourceTask()
    reader = SimpleNamespace(offset=lambda partition: stored and {"id": stored})
    context: Any = SimpleNamespace(offset_storage_reader=lambda: reader)
    task.initialize(context)
    plain = {"redis.uri": f"redis://127.0.0.1:{server.port}", "redis.stream.name": "s", "redis.stream.block": "1"}
    task.start({**plain, "redis.connection.retry.delay.ms": "1", **configs})
    return task


def ids(records: list[SourceRecord] | None) -> list[str]:
    return [record.key for record in records or ()]


def pending(server: RedisServer) -> int:
    found: int = server.client.xpending("s", GROUP)["pending"]
    return found


@pytest.mark.integration
def test_entries_become_records_and_are_acknowledged_when_they_are_in_kafka(redis_server: RedisServer) -> None:
    for number in (1, 2):
        redis_server.client.xadd("s", {"n": number}, id=f"{number}-0")
    task = started(redis_server)
    records = task.poll()
    assert records is not None
    first = records[0]
    assert (first.topic, first.key, first.timestamp, first.value["body"]) == ("s", "1-0", 1, {"n": "1"})
    assert (task.poll(), pending(redis_server)) == (None, 2)
    task.commit_record(first, None)
    task.commit()
    assert pending(redis_server) == 1


@pytest.mark.integration
def test_a_restarted_task_repeats_only_what_is_not_in_kafka(redis_server: RedisServer) -> None:
    for number in range(1, 5):
        redis_server.client.xadd("s", {"n": number}, id=f"{number}-0")
    assert len(started(redis_server).poll() or ()) == 4
    redis_server.client.xdel("s", "4-0")
    redis_server.client.xadd("s", {"n": 5}, id="5-0")
    again = started(redis_server, "2-0", **{"batch.size": "1"})
    assert [ids(again.poll()) for _ in range(3)] == [["3-0"], ["5-0"], []]
    assert pending(redis_server) == 2


@pytest.mark.integration
def test_tasks_share_a_stream_and_a_group_may_begin_at_the_end(redis_server: RedisServer) -> None:
    redis_server.client.xadd("s", {"n": 0})
    tasks = [
        started(redis_server, **{"task.id": str(number), "redis.stream.offset": "$", "batch.size": "1"})
        for number in range(2)
    ]
    assert [task.poll() for task in tasks] == [None, None]
    added = [redis_server.client.xadd("s", {"n": number}).decode() for number in range(2)]
    assert [ids(task.poll()) for task in tasks] == [[added[0]], [added[1]]]


@pytest.mark.integration
def test_entries_may_be_acknowledged_first(redis_server: RedisServer) -> None:
    redis_server.client.xadd("s", {"n": 0})
    task = started(redis_server, **{"redis.stream.delivery": "at-most-once"})
    assert (len(task.poll() or ()), pending(redis_server)) == (1, 0)


@pytest.mark.integration
def test_a_key_that_is_no_stream_fails_the_task(redis_server: RedisServer) -> None:
    redis_server.client.set("s", "text")
    with pytest.raises(ConnectException, match="WRONGTYPE"):
        started(redis_server).poll()


def test_a_server_that_is_away_is_tried_again() -> None:
    with pytest.raises(RetriableException, match="cannot be reached"):
        started(SimpleNamespace(port=1)).poll()


def test_exactly_once_needs_acknowledgements_after_the_write() -> None:
    connector = RedisStreamSourceConnector()
    config = {"redis.stream.name": "s"}
    assert connector.exactly_once_support(config) is ExactlyOnceSupport.SUPPORTED
    assert (
        connector.exactly_once_support({**config, "redis.stream.delivery": "at-most-once"})
        is ExactlyOnceSupport.UNSUPPORTED
    )
