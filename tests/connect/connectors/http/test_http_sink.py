"""The HTTP sink beside a server: requests, batches, repetitions, authentication, errors of records."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.http.client_config import pause_ms
from kafkapy.connect.connectors.http.http_sink import HttpSinkConnector, HttpSinkTask
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.plugins import Plugins, class_name_of
from kafkapy.connect.records import SinkRecord
from tests.connect.connectors.http.http_server import Received, RecordingServer, Reply


class Sink:
    def __init__(self, url: str, configs: dict[str, str], *, reports: bool = False) -> None:
        self.timeouts: list[float] = []
        self.reported: list[int] = []
        reporter = SimpleNamespace(report=self._report) if reports else None
        context: Any = SimpleNamespace(timeout=self.timeouts.append, errant_record_reporter=lambda: reporter)
        self.task = HttpSinkTask()
        self.task.initialize(context)
        self.task.start({"http.api.url": url, **configs})

    def _report(self, record: Any, error: BaseException) -> Future[None]:
        self.reported.append(record.kafka_offset)
        return Future()

    def put(self, *records: SinkRecord) -> None:
        self.task.put(records)


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as running:
        yield running


def record(offset: int, value: Any, key: Any = None) -> SinkRecord:
    return SinkRecord("t", 0, None, key, None, value, offset)


def answers(*replies: Reply) -> Callable[[Received], Reply]:
    """The given answers, then 200."""
    waiting = list(replies)
    return lambda request: waiting.pop(0) if waiting else Reply()


def test_each_record_is_a_request_to_its_url(server: RecordingServer) -> None:
    configs = {"request.method": "put", "headers": "Content-Type:text/plain|X-Name: a b"}
    sink = Sink(f"{server.url}/${{topic}}/${{key}}", configs)
    sink.put(record(0, "one", "a/b"), record(1, {"n": 2}, 5), record(2, b"three", b"k"), record(3, None, "skipped"))
    assert [(each.method, each.path, each.body) for each in server.received] == [
        ("PUT", "/t/a%2Fb", b"one"),
        ("PUT", "/t/5", b'{"n":2}'),
        ("PUT", "/t/k", b"three"),
    ]
    headers = server.received[0].headers
    assert (headers["content-type"], headers["x-name"]) == ("text/plain", "a b")


def test_records_are_sent_in_batches_for_each_url(server: RecordingServer) -> None:
    configs = {"batch.max.size": "2", "batch.prefix": "<", "batch.suffix": ">", "batch.separator": ";"}
    sink = Sink(f"{server.url}/${{key}}", configs)
    sink.put(*(record(i, str(i), "ab"[i == 2]) for i in range(4)))
    assert [(each.path, each.body) for each in server.received] == [("/a", b"<0;1>"), ("/b", b"<2>"), ("/a", b"<3>")]


def test_a_batch_may_be_a_json_array(server: RecordingServer) -> None:
    configs = {"batch.max.size": "9", "batch.json.as.array": "true", "request.body.format": "json"}
    Sink(server.url, configs).put(record(0, "a"), record(1, {"b": [1.5, None]}))
    assert json.loads(server.received[0].body) == ["a", {"b": [1.5, None]}]


def test_patterns_are_replaced(server: RecordingServer) -> None:
    configs = {"regex.patterns": "^{~}$", "regex.replacements": '{"k":"${key}",~}'}
    Sink(server.url, configs).put(record(0, {"a": 1}, "x"))
    assert server.bodies() == [b'{"k":"x","a":1}']


def test_tombstones_delete_after_what_came_before(server: RecordingServer) -> None:
    sink = Sink(f"{server.url}/${{key}}", {"behavior.on.null.values": "delete", "batch.max.size": "9"})
    sink.put(record(0, "x", "a"), record(1, None, "a"), record(2, "y", "a"))
    assert [(each.method, each.body) for each in server.received] == [("POST", b"x"), ("DELETE", b""), ("POST", b"y")]


def test_a_failed_request_is_repeated_and_others_are_not(server: RecordingServer) -> None:
    server.answer = answers(Reply(), Reply(503, headers={"Retry-After": "70"}), Reply(500))
    sink = Sink(server.url, {"retry.backoff.ms": "100", "retry.backoff.policy": "CONSTANT_VALUE"})
    batch = [record(i, str(i)) for i in range(3)]
    for _ in range(2):
        with pytest.raises(RetriableException):
            sink.put(*batch)
    sink.put(*batch)
    assert server.bodies() == [b"0", b"1", b"1", b"1", b"2"]
    assert sink.timeouts == [70_000, 100]
    sink.put(batch[0])  # the same place again, after the consumer went back
    assert server.bodies()[-1] == b"0"


def test_after_the_last_attempt_the_task_fails_or_records_are_reported_or_skipped(server: RecordingServer) -> None:
    server.answer = lambda request: Reply(400, b"no") if request.body == b"bad" else Reply()
    configs = {"max.retries": "0"}
    with pytest.raises(ConnectException, match="answered by 400: no"):
        Sink(server.url, configs).put(record(0, "bad"))
    Sink(server.url, {**configs, "behavior.on.error": "log"}).put(record(0, "bad"), record(1, "good"))
    reporting = Sink(server.url, configs, reports=True)
    reporting.put(record(0, "bad"), record(1, "good"))
    assert reporting.reported == [0]
    assert server.bodies() == [b"bad", b"bad", b"good", b"bad", b"good"]


def test_codes_that_are_not_repeated_fail_at_once_and_missing_servers_do_not(server: RecordingServer) -> None:
    server.answer = lambda request: Reply(404)
    with pytest.raises(ConnectException) as raised:
        Sink(server.url, {"retry.on.status.codes": "429,500-"}).put(record(0, "x"))
    assert not isinstance(raised.value, RetriableException)
    with pytest.raises(RetriableException, match="has failed"):
        Sink("http://127.0.0.1:1", {}).put(record(0, "x"))


def test_users_and_tokens_are_sent(server: RecordingServer) -> None:
    basic = {"auth.type": "BASIC", "connection.user": "u", "connection.password": "p"}
    Sink(server.url, basic).put(record(0, "x"))
    Sink(server.url, {"auth.type": "bearer", "bearer.token": "secret"}).put(record(0, "x"))
    found = [each.headers["authorization"] for each in server.received]
    assert found == [f"Basic {base64.b64encode(b'u:p').decode()}", "Bearer secret"]


def test_an_oauth_token_is_used_until_it_is_refused(server: RecordingServer) -> None:
    tokens, refused = iter(range(9)), iter([False, True])

    def answer(request: Received) -> Reply:
        if request.path == "/token":
            assert b"grant_type=client_credentials" in request.body
            return Reply(200, json.dumps({"access_token": f"t{next(tokens)}", "expires_in": 3600}).encode())
        return Reply(401 if next(refused, False) else 200)

    server.answer = answer
    configs = {"auth.type": "OAUTH2", "oauth2.token.url": f"{server.url}/token", "oauth2.client.id": "i"}
    sink = Sink(f"{server.url}/data", {**configs, "oauth2.client.secret": "s"})
    sink.put(record(0, "a"), record(1, "b"), record(2, "c"))
    assert [(each.headers["authorization"], each.body) for each in server.received if each.path == "/data"] == [
        ("Bearer t0", b"a"),
        ("Bearer t0", b"b"),
        ("Bearer t1", b"b"),
        ("Bearer t1", b"c"),
    ]
    server.answer = lambda request: Reply(403)
    with pytest.raises(ConnectException, match="without a token"):
        Sink(server.url, {**configs, "oauth2.client.secret": "s"}).put(record(0, "a"))


def test_pauses_grow_and_dates_are_understood() -> None:
    config = {"retry.backoff.ms": 100, "retry.backoff.policy": "EXPONENTIAL_WITH_JITTER"}
    assert 200 <= pause_ms(config, 3, None) <= 400
    assert pause_ms(config, 1, "Thu, 01 Jan 1970 00:01:00 GMT", now=0) == 60_000
    assert pause_ms(config, 1, "nonsense") <= 100


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"http.api.url": "ftp://x"}, "Expected http"),
        ({"auth.type": "BASIC"}, "needs it"),
        ({"auth.type": "OAUTH2"}, "needs it"),
        ({"retry.on.status.codes": "x"}, "429,500-599"),
        ({"headers": "none"}, "Expected name:value"),
        ({"regex.patterns": "a~b", "regex.replacements": "c"}, "as many as"),
        ({"regex.patterns": "(", "regex.replacements": "c"}, "for configuration"),
    ],
)
def test_wrong_configs_are_refused(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigException, match=message):
        HttpSinkConnector().start({"http.api.url": "http://x", **configs})


@pytest.mark.parametrize("kind", ["Sink", "Source"])
def test_java_names_find_connectors_and_tasks(kind: str) -> None:
    plugins = Plugins()
    connector = plugins.new_connector(f"io.confluent.connect.http.Http{kind}Connector")
    task = connector.task_class()
    assert plugins.find_class(class_name_of(task)) is task
