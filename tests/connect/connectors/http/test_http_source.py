"""The HTTP source beside a server: paging, offsets, repetitions, tags."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.http.http_source import HttpSourceConnector, HttpSourceTask
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.source import ExactlyOnceSupport
from tests.connect.connectors.http.http_server import Received, RecordingServer, Reply


class Source:
    """A task with a clock of its own, and the offsets of a worker."""

    def __init__(self, url: str, configs: dict[str, str], stored: Mapping[str, Any] | None = None) -> None:
        self.offsets: dict[str, Any] = dict(stored or {})
        self.now = 0.0
        reader = SimpleNamespace(offset=lambda partition: self.offsets.get(partition["entity"]))
        context: Any = SimpleNamespace(offset_storage_reader=lambda: reader)
        self.task = HttpSourceTask()
        self.task._clock = lambda: self.now
        self.task._stopped.set()  # it does not wait
        self.task.initialize(context)
        self.task.start({"url": url, "topic.name.pattern": "t-${entityName}", **configs})

    def poll(self, after_s: float = 0.0) -> list[Any]:
        self.now += after_s
        records = self.task.poll() or []
        for record in records:
            assert record.source_partition is not None
            self.offsets[record.source_partition["entity"]] = record.source_offset
        return [record.value for record in records]


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as running:
        yield running


def as_json(document: Any, **headers: str) -> Reply:
    return Reply(200, json.dumps(document).encode(), headers)


def query(request: Received) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}


def rows_after(rows: list[dict[str, Any]]) -> Callable[[Received], Reply]:
    """Two rows with ids above the query's."""
    return lambda request: as_json({"data": [row for row in rows if row["id"] > int(query(request)["after"])][:2]})


CHAINING = {
    "http.offset.mode": "CHAINING",
    "http.initial.offset": "0",
    "http.offset.json.pointer": "/id",
    "http.response.data.json.pointer": "/data",
    "http.request.parameters": "after=${offset}",
    "request.interval.ms": "5000",
}
CURSOR = {
    "http.offset.mode": "CURSOR_PAGINATION",
    "http.next.page.json.pointer": "/next",
    "http.response.data.json.pointer": "/items",
    "http.request.parameters": "cursor=${offset}",
    "request.interval.ms": "1000",
}


def test_records_chain_requests_and_a_restarted_task_goes_on(server: RecordingServer) -> None:
    rows = [{"id": i} for i in range(1, 6)]
    server.answer = rows_after(rows)
    source = Source(server.url, CHAINING)
    assert [source.poll() for _ in range(2)] == [rows[:2], rows[2:4]]
    again = Source(server.url, CHAINING, source.offsets)
    assert [again.poll(), again.poll()] == [rows[4:], []]
    assert (again.poll(), len(server.received)) == ([], 4)
    assert (again.poll(after_s=5), len(server.received)) == ([], 5)


def test_each_record_adds_one_to_a_simple_offset(server: RecordingServer) -> None:
    server.answer = lambda request: as_json([int(request.path[1:]) + i for i in range(2)])
    source = Source(f"{server.url}/${{offset}}", {"http.initial.offset": "10"})
    assert [source.poll(), source.poll()] == [[10, 11], [12, 13]]
    assert source.offsets == {"": {"offset": "14", "index": 0, "etag": None}}


def cursor_pages(pages: dict[str, dict[str, Any]]) -> Callable[[Received], Reply]:
    return lambda request: as_json(pages[query(request).get("cursor", "")])


def test_cursors_are_followed_and_the_last_page_may_grow(server: RecordingServer) -> None:
    pages: dict[str, dict[str, Any]] = {"": {"items": [1, 2], "next": "b"}, "b": {"items": [3]}}
    server.answer = cursor_pages(pages)
    source = Source(server.url, CURSOR)
    assert [source.poll(), source.poll(), source.poll(after_s=1)] == [[1, 2], [3], []]
    pages["b"] = {"items": [3, 4], "next": "c"}
    pages["c"] = {"items": []}
    assert [source.poll(after_s=1), source.poll(), source.poll(after_s=1)] == [[4], [], []]


def test_a_task_that_restarts_in_a_page_skips_what_was_read(server: RecordingServer) -> None:
    server.answer = cursor_pages({"": {"items": [1, 2, 3], "next": "b"}, "b": {"items": [4]}})
    records = Source(server.url, CURSOR).task.poll()
    assert records is not None
    again = Source(server.url, CURSOR, {"": records[0].source_offset})
    assert [again.poll(), again.poll()] == [[2, 3], [4]]


def test_links_are_followed_but_not_to_other_servers(server: RecordingServer) -> None:
    links = {"/a": '</b?x=1>; rel="next"', "/b?x=1": '<http://other.example/>; rel="next"'}
    server.answer = lambda request: as_json([request.path], Link=links[request.path])
    source = Source(f"{server.url}/a", {"http.offset.mode": "LINK_HEADER"})
    assert source.poll() == ["/a"]
    with pytest.raises(ConnectException, match="on another server"):
        source.poll()


def test_a_page_that_is_unchanged_is_not_read_again(server: RecordingServer) -> None:
    def answer(request: Received) -> Reply:
        return Reply(304) if request.headers.get("if-none-match") == '"1"' else as_json({"a": 1}, ETag='"1"')

    server.answer = answer
    configs = {"http.offset.mode": "SNAPSHOT", "request.interval.ms": "1000"}
    source = Source(server.url, configs)
    assert [source.poll(), source.poll(after_s=1)] == [[{"a": 1}], []]
    assert Source(server.url, configs, source.offsets).poll() == []


def test_failures_are_repeated_later_and_not_for_ever(server: RecordingServer) -> None:
    replies = [Reply(429, headers={"Retry-After": "30"}), as_json([1]), Reply(500), Reply(500)]
    server.answer = lambda request: replies.pop(0)
    configs = {"max.retries": "1", "retry.backoff.ms": "1000", "retry.backoff.policy": "CONSTANT_VALUE"}
    source = Source(server.url, {**configs, "request.interval.ms": "0"})
    assert [source.poll(), source.poll(29), len(server.received)] == [[], [], 1]
    assert [source.poll(1), source.poll(1)] == [[1], []]
    with pytest.raises(ConnectException, match="answered by 500"):
        source.poll(1)


def test_entities_have_offsets_and_topics_of_their_own(server: RecordingServer) -> None:
    server.answer = lambda request: as_json([{"k": request.path}])
    configs = {"entity.names": "a,b", "http.record.key.json.pointer": "/k", "request.interval.ms": "1000"}
    source = Source(f"{server.url}/${{entityName}}/${{offset}}", {**configs, "http.page.interval.ms": "1"})
    records = [record for _ in range(2) for record in source.task.poll() or ()]
    assert [(record.topic, record.key) for record in records] == [("t-a", "/a/0"), ("t-b", "/b/0")]
    connector = HttpSourceConnector()
    connector.start({"url": server.url, "topic.name.pattern": "t", "entity.names": "a,b,c"})
    assert [each["entity.names"] for each in connector.task_configs(2)] == ["a,c", "b"]


def test_a_body_is_posted(server: RecordingServer) -> None:
    server.answer = lambda request: as_json([1])
    Source(server.url, {"http.request.method": "POST", "http.request.body": '{"from": ${offset}}'}).poll()
    assert [(each.method, each.body) for each in server.received] == [("POST", b'{"from": 0}')]


def test_what_is_no_json_or_lacks_offsets_fails_the_task(server: RecordingServer) -> None:
    server.answer = lambda request: Reply(200, b"<html>")
    with pytest.raises(ConnectException, match="what is no JSON"):
        Source(server.url, {}).poll()
    server.answer = lambda request: as_json({"data": [{}]})
    with pytest.raises(ConnectException, match="no offset at /id"):
        Source(server.url, CHAINING).poll()


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"url": "x"}, "Expected http"),
        ({"http.offset.mode": "CHAINING"}, "needs it"),
        ({"http.offset.mode": "CURSOR_PAGINATION"}, "needs it"),
        ({"http.initial.offset": "x"}, "needs a number"),
        ({"http.response.data.json.pointer": "data"}, "JSON pointer"),
    ],
)
def test_wrong_configs_are_refused(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigException, match=message):
        HttpSourceConnector().start({"url": "http://x", "topic.name.pattern": "t", **configs})


def test_exactly_once_needs_offsets() -> None:
    connector = HttpSourceConnector()
    plain = {"url": "http://x", "topic.name.pattern": "t"}
    assert connector.exactly_once_support(plain) is ExactlyOnceSupport.SUPPORTED
    snapshot = {**plain, "http.offset.mode": "SNAPSHOT"}
    assert connector.exactly_once_support(snapshot) is ExactlyOnceSupport.UNSUPPORTED
    assert connector.alter_offsets(plain, [({"entity": ""}, {"offset": "5"}), ({"entity": "a"}, None)])
    with pytest.raises(ConnectException):
        connector.alter_offsets(plain, [({"entity": ""}, {"offset": 5})])


def test_an_answer_that_is_too_long_is_refused(server: RecordingServer) -> None:
    long = gzip.compress(json.dumps([{"id": 1, "text": "x" * 10_000}]).encode())
    server.answer = lambda request: Reply(200, long, {"Content-Encoding": "gzip"})
    with pytest.raises(ConnectException, match=r"more than 1000 bytes \(http\.response\.max\.bytes\)"):
        Source(server.url, {"http.response.max.bytes": "1000"}).poll()
    assert Source(server.url, {"http.response.max.bytes": "20000"}).poll()[0]["id"] == 1
