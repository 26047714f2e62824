"""Reading of change streams: places, errors that pass, places that are lost; the stream is made up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from bson.timestamp import Timestamp
from pymongo.errors import AutoReconnect, OperationFailure

from kafkapy.connect.connectors.mongodb.change_stream import ChangeEvents
from kafkapy.connect.connectors.mongodb.source_config import source_settings
from kafkapy.connect.errors import ConnectException

LOST = OperationFailure("the resume point may no longer be in the oplog", 286)


def event(number: int) -> dict[str, Any]:
    return {"_id": {"_data": f"{number}"}, "n": number}


class MadeUpStream:
    """Returns events, raises errors, and returns None forever after; an event `invalidate` ends it."""

    def __init__(self, clock: Clock, items: Iterable[Any]) -> None:
        self._clock, self._items = clock, list(items)
        self.resume_token: Any = {"_data": "begin"}
        self.alive = True

    def try_next(self) -> Any:
        if not self._items:
            self._clock.now += 0.1
            return None
        item = self._items.pop(0)
        if isinstance(item, Exception):
            raise item
        self.resume_token = item["_id"]
        self.alive = item.get("operationType") != "invalidate"
        return item

    def close(self) -> None:
        self.alive = False


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class MadeUpClient:
    """Opens one stream after the other; an error in place of one is raised. `opened` are the options."""

    def __init__(self, *streams: Any) -> None:
        self.clock = Clock()
        self._streams = list(streams)
        self.opened: list[dict[str, Any]] = []
        self.pipelines: list[Any] = []

    def watch(self, pipeline: Any, **options: Any) -> MadeUpStream:
        self.opened.append(options)
        self.pipelines.append(pipeline)
        items = self._streams.pop(0)
        if isinstance(items, Exception):
            raise items
        return MadeUpStream(self.clock, items)


def events(client: MadeUpClient, token: Any = None, **configs: str) -> ChangeEvents:
    given = {name.replace("_", "."): value for name, value in configs.items()}
    return ChangeEvents(client, source_settings(given), token, client.clock)


def test_a_batch_is_what_comes_within_a_moment() -> None:
    client = MadeUpClient([event(1), event(2), event(3)])
    stream = events(client, poll_max_batch_size="2")
    assert [each["n"] for each in stream.read()] == [1, 2]
    assert [each["n"] for each in stream.read()] == [3]
    assert stream.token == {"_data": "3"}
    assert stream.read() == []
    assert client.clock.now == pytest.approx(1.1, abs=0.15)


def test_options_are_those_of_the_configs() -> None:
    client = MadeUpClient([], [])
    configs = {"change_stream_full_document": "updateLookup", "batch_size": "7", "pipeline": '[{"$match": {"a": 1}}]'}
    events(client, {"_data": "5"}, **configs).read()
    assert client.pipelines == [[{"$match": {"a": 1}}]]
    expected = {
        "full_document": "updateLookup",
        "batch_size": 7,
        "start_after": {"_data": "5"},
        "max_await_time_ms": 100,
    }
    assert client.opened == [expected]
    at = {"startup_mode": "timestamp", "startup_mode_timestamp_start_at_operation_time": "1970-01-01T00:01:00Z"}
    events(client, **at).read()
    assert client.opened[1]["start_at_operation_time"] == Timestamp(60, 0)


def test_after_an_error_it_continues_where_it_was() -> None:
    client = MadeUpClient([event(1), AutoReconnect("gone")], AutoReconnect("still"), [event(2)])
    stream = events(client)
    assert [each["n"] for each in stream.read()] == [1]
    with pytest.raises(AutoReconnect):
        stream.read()
    assert [each["n"] for each in stream.read()] == [2]
    assert [each.get("start_after") for each in client.opened] == [None, {"_data": "1"}, {"_data": "1"}]


def test_after_an_invalidation_a_new_stream_begins() -> None:
    client = MadeUpClient([event(1), {**event(2), "operationType": "invalidate"}], [event(3)])
    stream = events(client)
    assert [each["n"] for each in stream.read()] == [1, 2]
    assert [each["n"] for each in stream.read()] == [3]
    assert client.opened[1]["start_after"] == {"_data": "2"}


def test_a_lost_place_fails_the_task_with_the_remedy() -> None:
    with pytest.raises(ConnectException, match=r"mongo\.errors\.tolerance=all"):
        events(MadeUpClient(LOST), {"_data": "1"}).read()


@pytest.mark.parametrize("when", ["opened", "read"])
def test_a_lost_place_may_be_tolerated(when: str, caplog: pytest.LogCaptureFixture) -> None:
    client = MadeUpClient(*([LOST] if when == "opened" else [[LOST]]), [event(9)])
    stream = events(client, {"_data": "1"}, mongo_errors_tolerance="all")
    found = stream.read() or stream.read()
    assert [each["n"] for each in found] == [9]
    assert "start_after" not in client.opened[1]
    assert "events are lost" in caplog.text


def test_what_the_server_refuses_fails_the_task() -> None:
    error = OperationFailure("The $changeStream stage is only supported on replica sets", 40573)
    with pytest.raises(ConnectException, match="only supported on replica sets"):
        events(MadeUpClient(error)).read()
