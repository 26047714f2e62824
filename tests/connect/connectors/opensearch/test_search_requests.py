"""The sinks beside a server that answers as a test says: busy servers, refused requests, divided requests; configs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.opensearch.mappings import mapping_of
from kafkapy.connect.connectors.opensearch.search_sink import (
    ElasticsearchSinkConnector,
    ElasticsearchSinkTask,
    OpensearchSinkConnector,
    OpensearchSinkTask,
)
from kafkapy.connect.connectors.opensearch.sink_config import index_name
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import timestamp_builder
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import BYTES_SCHEMA, STRING_SCHEMA, Type
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from tests.connect.connectors.http.http_server import Received, RecordingServer, Reply
from tests.connect.connectors.sink_driver import SinkDriver, sink_record

URL = "http://localhost:9200"


class Bulk:
    """Answers requests as a cluster; each operation takes the next of `statuses`, 200 after the last."""

    def __init__(self, *statuses: int, most: int = 1000) -> None:
        self.statuses = list(statuses)
        self.most = most
        self.executed: list[tuple[str, str | None]] = []

    def __call__(self, request: Received) -> Reply:
        if not request.path.startswith("/_bulk"):
            return Reply(200, b'{"t":{"mappings":{}}}')
        body = gzip.decompress(request.body) if request.headers.get("content-encoding") else request.body
        lines = [json.loads(line) for line in body.splitlines()]
        operations = [next(iter(line.items())) for line in lines if set(line) & {"index", "create", "update", "delete"}]
        if len(operations) > self.most:
            return Reply(413, b"too large")
        items = []
        for action, target in operations:
            status = self.statuses.pop(0) if self.statuses else 200
            item: dict[str, Any] = {"status": status}
            if status >= 300:
                item["error"] = {"type": "some_exception", "reason": "because"}
            else:
                self.executed.append((action, target.get("_id")))
            items.append({action: item})
        return Reply(200, json.dumps({"errors": True, "items": items}).encode())


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as running:
        yield running


def sink(url: str, **configs: str) -> SinkDriver:
    given = {name.replace("_", "."): value for name, value in configs.items()}
    return SinkDriver(OpensearchSinkTask(), {"connection.url": url, "schema.ignore": "true", **given})


def records(*keys: str) -> list[Any]:
    return [sink_record(i, key, {"n": i}) for i, key in enumerate(keys)]


def test_only_what_a_busy_server_refuses_is_repeated(server: RecordingServer) -> None:
    server.answer = bulk = Bulk(200, 429, 200)
    driver = sink(server.url)
    rows = records("a", "b", "c")
    with pytest.raises(RetriableException, match="429"):
        driver.put(*rows)
    driver.put(*rows)
    assert [key for _, key in bulk.executed] == ["a", "c", "b"]
    assert 50 <= driver.pauses[0] <= 100


def test_later_updates_of_a_document_are_repeated_with_the_earlier_one(server: RecordingServer) -> None:
    server.answer = bulk = Bulk(503, 200, 200)
    driver = sink(server.url, index_write_method="upsert")
    rows = records("a", "b", "a")
    with pytest.raises(RetriableException):
        driver.put(*rows)
    driver.put(*rows)
    assert [key for _, key in bulk.executed] == ["b", "a", "a", "a"]


def test_attempts_are_limited_and_retry_after_is_respected(server: RecordingServer) -> None:
    server.answer = lambda request: Reply(429, b"busy", {"Retry-After": "7"})
    driver = sink(server.url, max_retries="1")
    with pytest.raises(RetriableException, match="429: busy"):
        driver.put(*records("a"))
    with pytest.raises(ConnectException, match="After 2 attempts") as failure:
        driver.put(*records("a"))
    assert not isinstance(failure.value, RetriableException)
    assert driver.pauses == [7000]


def test_another_server_answers_for_one_that_does_not(server: RecordingServer) -> None:
    server.answer = bulk = Bulk()
    with RecordingServer(lambda request: Reply(503)) as busy:
        driver = sink(f"http://127.0.0.1:1,{busy.url},{server.url}")
        driver.put(*records("a"))
        driver.put(*records("b"))
        assert len(busy.received) == 1
    assert [key for _, key in bulk.executed] == ["a", "b"]


def test_a_request_that_is_too_large_is_divided(server: RecordingServer) -> None:
    server.answer = bulk = Bulk(most=2)
    sink(server.url).put(*records("a", "b", "c", "d", "e"))
    assert [key for _, key in bulk.executed] == ["a", "b", "c", "d", "e"]


def test_one_document_that_is_too_large_is_refused_alone(server: RecordingServer) -> None:
    answer = Bulk()
    server.answer = lambda request: Reply(413) if b"x" * 100 in request.body else answer(request)
    config = {"connection.url": server.url, "schema.ignore": "true"}
    driver = SinkDriver(OpensearchSinkTask(), config, reports=True)
    driver.put(sink_record(0, "a", {"n": 0}), sink_record(1, "b", {"n": "x" * 200}), sink_record(2, "c", {"n": 0}))
    assert [key for _, key in answer.executed] == ["a", "c"]
    assert list(driver.reported) == [1]


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_fail_the_task(server: RecordingServer, status: int) -> None:
    server.answer = lambda request: Reply(status, b"no")
    with pytest.raises(ConnectException, match=f"refuses access: {status}") as failure:
        sink(server.url).put(*records("a"))
    assert not isinstance(failure.value, RetriableException)


def test_an_answer_that_is_not_opensearchs_fails_the_task(server: RecordingServer) -> None:
    server.answer = lambda request: Reply(200, b"<html>")
    with pytest.raises(ConnectException, match="answers what OpenSearch does not"):
        sink(server.url).put(*records("a"))


def test_names_and_passwords_are_sent_and_requests_compressed(server: RecordingServer) -> None:
    server.answer = bulk = Bulk()
    config = {
        "connection.url": server.url,
        "schema.ignore": "true",
        "connection.username": "me",
        "connection.password": "secret",
        "connection.compression": "true",
    }
    SinkDriver(ElasticsearchSinkTask(), config).put(*records("a"))
    assert bulk.executed == [("index", "a")]
    assert server.received[-1].headers["authorization"] == "Basic bWU6c2VjcmV0"
    assert server.received[-1].headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("key", [b"bytes", True, 1.5, None, "", "x" * 513])
def test_a_key_that_is_no_id_is_an_error_of_the_record(server: RecordingServer, key: Any) -> None:
    server.answer = Bulk()
    with pytest.raises(DataException, match="key"):
        sink(server.url).put(sink_record(0, key, {}))


def test_requests_have_the_sizes_of_the_configs(server: RecordingServer) -> None:
    server.answer = Bulk()
    rows = records(*"abcdefgh")
    sink(server.url, batch_size="3").put(*rows)
    sizes = [len(each.body.splitlines()) // 2 for each in server.received if each.path.startswith("/_bulk")]
    assert sizes == [3, 3, 2]
    server.received.clear()
    sink(server.url, bulk_size_bytes="1").put(*rows[:2])
    assert len([each for each in server.received if each.path.startswith("/_bulk")]) == 2


def test_defaults_and_kinds_of_fields_are_in_mappings() -> None:
    rows = SchemaBuilder(Type.STRUCT).field("t", STRING_SCHEMA).field("b", BYTES_SCHEMA)
    rows.field("at", timestamp_builder().default(Instant(9)).build())
    rows.field("all", SchemaBuilder.array(SchemaBuilder(Type.INT64).default(4).build()).build())
    rows.field("ok", SchemaBuilder(Type.BOOLEAN).default(True).build())
    rows.field("map", SchemaBuilder.map(STRING_SCHEMA, STRING_SCHEMA).build())
    schema = rows.build()
    found = mapping_of(schema, compact_maps=True)["properties"]
    assert found["t"]["fields"]["keyword"]["type"] == "keyword"
    assert {name: found[name] for name in ("b", "at", "all", "ok", "map")} == {
        "b": {"type": "binary"},
        "at": {"type": "date", "null_value": 9},
        "all": {"type": "long", "null_value": 4},
        "ok": {"type": "boolean", "null_value": True},
        "map": {"type": "object"},
    }
    assert set(mapping_of(schema, compact_maps=False)["properties"]["map"]["properties"]) == {"key", "value"}
    with pytest.raises(DataException, match="struct or a map"):
        mapping_of(STRING_SCHEMA, compact_maps=True)


@pytest.mark.parametrize(
    ("topic", "index"), [("A.b", "a.b"), ("__x", "x"), (".", "dot"), ("..", "dotdot"), ("-", "topic")]
)
def test_indexes_have_names_that_the_server_accepts(topic: str, index: str) -> None:
    assert index_name(topic) == index


@pytest.mark.parametrize(
    ("make", "configs", "names"),
    [
        (OpensearchSinkConnector, {"connection.url": ""}, "connection.url"),
        (OpensearchSinkConnector, {"connection.url": "ftp://a"}, "connection.url"),
        (OpensearchSinkConnector, {"connection.url": "http://me:secret@a"}, "connection.username"),
        (OpensearchSinkConnector, {"topic.index.map": "a"}, "topic:name"),
        (OpensearchSinkConnector, {"data.stream.enabled": "true", "index.write.method": "upsert"}, "inserted"),
        (OpensearchSinkConnector, {"data.stream.enabled": "true", "behavior.on.null.values": "delete"}, "deletions"),
        (
            OpensearchSinkConnector,
            {"key.ignore": "true", "key.ignore.id.strategy": "none", "index.write.method": "upsert"},
            "inserted",
        ),
        (ElasticsearchSinkConnector, {"use.autogenerated.ids": "true", "write.method": "upsert"}, "inserted"),
        (ElasticsearchSinkConnector, {"external.resource.usage": "INDEX"}, "needs a mapping"),
        (ElasticsearchSinkConnector, {"topic.to.external.resource.mapping": "a:b"}, "external.resource.usage"),
    ],
)
def test_wrong_configs_are_refused(make: Callable[[], Any], configs: dict[str, str], names: str) -> None:
    with pytest.raises(ConfigException, match=names) as failure:
        make().start({"name": "a", "connection.url": URL, **configs})
    assert "secret" not in str(failure.value)


def test_configs_without_effect_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    OpensearchSinkConnector().start({"name": "a", "connection.url": URL, "linger.ms": "5"})
    assert "linger.ms" in caplog.text
