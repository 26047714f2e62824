"""The sinks beside a server of Redis."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from kafkapy.common.config_def import ConfigException
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.connectors.redis.commands import Commands
from kafkapy.connect.connectors.redis.redis_sink import (
    RedisStringSinkConnector,
    RedisStringSinkTask,
    RedisTypedSinkConnector,
    RedisTypedSinkTask,
)
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.plugins import Plugins, class_name_of
from kafkapy.connect.records import SinkRecord
from tests.connect.connectors.redis.redis_server import RedisServer

PARTITION = TopicPartition("t", 0)
ROW = SchemaBuilder(Type.STRUCT).field("a", INT32_SCHEMA).field("b", OPTIONAL_STRING_SCHEMA).build()


class Sink:
    def __init__(self, server: RedisServer, configs: dict[str, str], *, reports: bool = False) -> None:
        self.reported: list[int] = []
        self.sought: dict[TopicPartition, int] = {}
        reporter = SimpleNamespace(report=self._report) if reports else None
        context: Any = SimpleNamespace(
            timeout=lambda ms: None, errant_record_reporter=lambda: reporter, offset=self.sought.__setitem__
        )
        uri = f"redis://127.0.0.1:{server.port}"
        typed = "redis.type" in configs
        self.task = RedisTypedSinkTask() if typed else RedisStringSinkTask()
        self.task.initialize(context)
        hosts = {"redis.uri": uri} if typed else {"redis.hosts": uri.removeprefix("redis://"), "redis.database": "0"}
        self.task.start({"name": "sink", **hosts, **configs})

    def _report(self, record: Any, error: BaseException) -> Future[None]:
        self.reported.append(record.kafka_offset)
        return Future()

    def put(self, *records: SinkRecord) -> None:
        self.task.put(records)


def record(offset: int, key: Any, value: Any) -> SinkRecord:
    return SinkRecord("t", 0, None, key, value.schema if isinstance(value, Struct) else None, value, offset)


@pytest.mark.integration
def test_keys_are_set_and_tombstones_delete_them(redis_server: RedisServer) -> None:
    sink = Sink(redis_server, {})
    sink.put(record(0, "a", "1"), record(1, b"b", b"\0"), record(2, "c", "3"), record(3, "a", None))
    found = {key: redis_server.client.get(key) for key in redis_server.client.scan_iter()}
    assert found == {b"b": b"\0", b"c": b"3", b"__kafka.offset.sink.t.0": b"4"}


@pytest.mark.integration
def test_a_restarted_task_begins_at_the_offset_that_redis_has(redis_server: RedisServer) -> None:
    Sink(redis_server, {}).put(record(6, "a", "1"))
    sink = Sink(redis_server, {})
    sink.task.open([PARTITION, TopicPartition("t", 1)])
    assert sink.sought == {PARTITION: 7}
    config = {"name": "sink", "redis.hosts": f"127.0.0.1:{redis_server.port}", "redis.database": "0"}
    connector = RedisStringSinkConnector()
    assert connector.alter_offsets(config, {PARTITION: 3})
    sink.task.open([PARTITION])
    assert sink.sought == {PARTITION: 3}
    connector.alter_offsets(config, {PARTITION: None})
    assert redis_server.client.exists("__kafka.offset.sink.t.0") == 0


@pytest.mark.integration
def test_a_transaction_without_an_answer_is_not_repeated(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Sink(redis_server, {"redis.type": "list", "redis.command": "rpush", "redis.multiexec": "true"})
    execute = redis.client.Pipeline.execute

    def lose_answer(pipeline: Any, raise_on_error: bool = True) -> Any:
        execute(pipeline, raise_on_error)
        raise redis.ConnectionError("gone")

    batch = [record(i, str(i), "x") for i in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(redis.client.Pipeline, "execute", lose_answer)
        with pytest.raises(RetriableException):
            sink.put(*batch)
    sink.put(*batch)
    sink.put(record(3, "3", "x"))
    assert redis_server.client.lrange("t", 0, -1) == [b"0", b"1", b"2", b"3"]


@pytest.mark.integration
def test_each_type_has_its_commands(redis_server: RedisServer) -> None:
    client = redis_server.client
    row = Struct(ROW, {"a": 5})
    Sink(redis_server, {"redis.type": "HASH"}).put(record(0, "k", row), record(1, "l", {"x": [1], "y": None}))
    assert (client.hgetall("t:k"), client.hgetall("t:l")) == ({b"a": b"5"}, {b"x": b"[1]"})
    Sink(redis_server, {"redis.type": "HASH"}).put(record(2, "k", None))
    assert client.exists("t:k") == 0
    Sink(redis_server, {"redis.type": "SET", "redis.key": "s"}).put(
        record(0, "a", ""), record(1, "b", ""), record(2, "a", None)
    )
    assert client.smembers("s") == {b"b"}
    Sink(redis_server, {"redis.type": "ZSET", "redis.key": "z"}).put(record(0, "a", 1.5), record(1, "b", "2"))
    assert client.zrange("z", 0, -1, withscores=True) == [(b"a", 1.5), (b"b", 2.0)]
    Sink(redis_server, {"redis.type": "STREAM", "redis.key": "${topic}-s"}).put(record(0, None, row))
    assert [fields for _, fields in client.xrange("t-s")] == [{b"a": b"5"}]
    Sink(redis_server, {"redis.type": "STRING", "redis.key": "p", "redis.separator": "/"}).put(record(0, 7, "v"))
    assert client.get("p/7") == b"v"


def test_json_documents_are_set_at_their_root() -> None:
    commands = Commands("JSON", "${topic}", ":", "LPUSH")
    assert commands.of(record(0, "k", {"a": 1})) == ("JSON.SET", b"t:k", "$", '{"a":1}')
    assert commands.of(record(0, "k", '{"a":1}')) == ("JSON.SET", b"t:k", "$", '{"a":1}')


@pytest.mark.integration
def test_what_redis_or_the_connector_refuses_is_reported(redis_server: RedisServer) -> None:
    redis_server.client.set("t", "no list")
    configs = {"redis.type": "LIST", "redis.multiexec": "true"}
    with pytest.raises(ConnectException, match="WRONGTYPE"):
        Sink(redis_server, configs).put(record(5, "a", ""))
    assert redis_server.client.get("__kafka.offset.sink.t.0") == b"5"
    sink = Sink(redis_server, configs, reports=True)
    sink.put(record(5, "a", ""), record(6, None, ""))
    assert sorted(sink.reported) == [5, 6]
    assert redis_server.client.get("__kafka.offset.sink.t.0") == b"7"
    with pytest.raises(DataException, match="no key"):
        Sink(redis_server, {}).put(record(0, None, "x"))


def test_a_server_that_is_away_is_tried_again() -> None:
    away: Any = SimpleNamespace(port=1)
    with pytest.raises(RetriableException, match="cannot be reached"):
        Sink(away, {}).put(record(0, "a", "x"))


def test_wrong_configs_are_refused() -> None:
    with pytest.raises(ConfigException, match="no transactions"):
        RedisTypedSinkConnector().start({"redis.cluster.enabled": "true", "redis.multiexec": "true"})
    with pytest.raises(ConfigException, match="one address"):
        RedisStringSinkTask().start({"redis.hosts": "a:1,b:2"})
    with pytest.raises(ConfigException, match="TIMESERIES"):
        RedisTypedSinkConnector().start({"redis.type": "TIMESERIES"})


@pytest.mark.parametrize(
    "name",
    [
        "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector",
        "com.redis.kafka.connect.RedisSinkConnector",
        "com.redis.kafka.connect.RedisStreamSourceConnector",
    ],
)
def test_java_names_find_connectors_and_tasks(name: str) -> None:
    plugins = Plugins()
    connector = plugins.new_connector(name)
    task = connector.task_class()
    assert plugins.find_class(class_name_of(task)) is task
