"""Parts of the proxy without servers: events and their keys, documents, back-pressure, instances, routes."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy import errors
from kafkapy.common.config_def import ConfigException
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.http.messages import HttpAnswer, HttpRequest, path_parts
from kafkapy.rest.config import RestConfig
from kafkapy.rest.consumer_instances import ConsumerInstances, InstanceRequest
from kafkapy.rest.consuming import _seek, _seek_to_beginning, _seek_to_end, _subscribe
from kafkapy.rest.context import PendingBytes
from kafkapy.rest.embedded import EmbeddedValues
from kafkapy.rest.events import EventsToSend, checked
from kafkapy.rest.rest_errors import RestRefusal, of_kafka
from kafkapy.rest.routing import RestRoute, RestRouter
from kafkapy.rest.v3_records import documents
from kafkapy.schemas.errors import SchemaRegistryUnavailableError
from kafkapy.structs import TopicPartition


def refusal(f: Any, *arguments: Any) -> RestRefusal:
    with pytest.raises(RestRefusal) as raised:
        f(*arguments)
    return raised.value


def events(body: bytes, kind: str = "application/x-ndjson", **query: str) -> EventsToSend:
    return checked(HttpRequest("POST", "/events/t", ("events", "t"), query, {"content-type": kind}, body))


def test_keys_of_events() -> None:
    lines = b'{"user":{"id":"a"},"n":1}\n{"user":{"id":2},"n":1}'
    assert events(lines) == EventsToSend(lines.splitlines(), None, None, None)
    assert events(lines, key="k").keys == [b"k", b"k"]
    assert events(lines, keyField="user.id").keys == [b"a", b"2"]
    for body, query, why in (
        (lines, {"keyField": "user.name"}, "Line 1 has no user.name"),
        (b"1\n{", {}, "Line 2 is no JSON"),
        (b"1", {"key": "k", "keyField": "f"}, "not both"),
        (b"\n \n", {}, "no event"),
        (b"[" * 100_000, {}, "too deeply"),
    ):
        with pytest.raises(RestRefusal, match=why) as raised:
            events(body, **query)
        assert raised.value.status == 400
    with pytest.raises(RestRefusal) as raised:
        events(b"1\n" * 100_001)
    assert raised.value.status == 413


def test_documents_one_after_the_other() -> None:
    assert list(documents(b' {"a":1}{"b":2}\n {"c":3} ')) == [{"a": 1}, {"b": 2}, {"c": 3}]
    for body, count in ((b"", 1), (b'{"a":1} 7 {"b":2}', 2), (b'{"a":', 1), (b"\xff", 1)):
        found = list(documents(body))
        assert len(found) == count
        assert isinstance(found[-1], RestRefusal)


def test_back_pressure() -> None:
    pending = PendingBytes(100)
    pending.take(500)
    busy = refusal(pending.take, 1)
    assert (busy.status, busy.retry_after) == (429, 1)
    pending.give_back(500)
    pending.take(60)
    pending.take(40)
    assert refusal(pending.take, 1).status == 429


def no_values() -> EmbeddedValues:
    raise AssertionError("nothing here has a schema")


class FakeConsumer:
    def __init__(self, **options: Any) -> None:
        self.options = options
        self.closed = False
        self.sought: dict[TopicPartition, int] = {}
        self.waiting: dict[TopicPartition, list[Any]] = {}

    def poll(self, timeout_ms: int, max_records: int) -> Any:
        return self.waiting

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.sought[partition] = offset

    def assignment(self) -> set[TopicPartition]:
        return set(self.waiting)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.sought.update(dict.fromkeys(partitions, 0))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self.sought.update(dict.fromkeys(partitions, 9))

    def close(self) -> None:
        self.closed = True


def record(partition: int, offset: int, value: bytes) -> Any:
    fields = dict.fromkeys(ConsumerRecord._fields)
    return ConsumerRecord(**{**fields, "topic": "t", "partition": partition, "offset": offset, "value": value})  # type: ignore[arg-type]


@pytest.fixture
def made() -> list[FakeConsumer]:
    return []


@pytest.fixture
def instances(made: list[FakeConsumer]) -> ConsumerInstances:
    def make(**options: Any) -> FakeConsumer:
        made.append(FakeConsumer(**options))
        return made[-1]

    return ConsumerInstances(make, idle_s=-1, most=2)


def test_instances(instances: ConsumerInstances, made: list[FakeConsumer]) -> None:
    given = InstanceRequest.of(
        {"name": "i", "format": "json", "auto.offset.reset": "earliest", "auto.commit.enable": "false"}
    )
    instances.create("g", given)
    assert made[0].options == {"group_id": "g", "auto_offset_reset": "earliest", "enable_auto_commit": False}
    assert refusal(instances.create, "g", given).code == 40902
    instances.create("other", given)
    assert refusal(instances.create, "third", given).status == 429
    instances.delete("other", "i")
    assert refusal(instances.use, "other", "i", lambda each: each).code == 40403
    instances.drop_idle()
    assert all(each.closed for each in made)
    for body in (
        {"format": "xml"},
        {"auto.offset.reset": "middle"},
        {"frills": 1},
        {"fetch.min.bytes": "x"},
        {"auto.commit.enable": 3},
    ):
        assert refusal(InstanceRequest.of, body).status == 422


def test_records_of_an_instance(instances: ConsumerInstances, made: list[FakeConsumer]) -> None:
    instances.create("g", InstanceRequest.of({"name": "i", "format": "json"}))
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    consumer = made[0]

    def read(kind: str | None = "json", max_bytes: int = 1_000) -> Any:
        consumer.sought.clear()
        return instances.use("g", "i", lambda each: each.records(kind, 0, max_bytes, no_values))

    consumer.waiting = {first: [record(0, 4, b"1"), record(0, 5, b"22"), record(0, 6, b"3")]}
    assert [each["value"] for each in read()] == [1, 22, 3]
    assert [each["offset"] for each in read(max_bytes=2)] == [4]
    assert consumer.sought == {first: 5}, "the rest comes with the next request"
    assert refusal(read, "binary").code == 40601
    consumer.waiting = {first: [record(0, 4, b"1"), record(0, 5, b"{")], second: [record(1, 7, b"2")]}
    assert [each["value"] for each in read()] == [1]
    assert consumer.sought == {first: 5, second: 7}
    consumer.waiting = {first: [record(0, 5, b"{")], second: [record(1, 7, b"2")]}
    assert "t-0 at offset 5" in refusal(read).message
    assert consumer.sought == {first: 6, second: 7}


def test_records_come_again_after_the_registry_was_away(instances: ConsumerInstances, made: list[FakeConsumer]) -> None:
    class AwayValues:
        def read(self, kind: str, data: bytes) -> Any:
            raise SchemaRegistryUnavailableError("no registry answers")

    instances.create("g", InstanceRequest.of({"name": "i", "format": "avro"}))
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    made[0].waiting = {first: [record(0, 4, b"1")], second: [record(1, 7, b"2")]}
    with pytest.raises(SchemaRegistryUnavailableError):
        instances.use("g", "i", lambda each: each.records("avro", 0, 1_000, AwayValues))  # type: ignore[arg-type]
    assert made[0].sought == {first: 4, second: 7}


def test_errors_of_kafka() -> None:
    for error, status, code in (
        (errors.InvalidConfigurationError("x"), 400, 40002),
        (errors.TopicAlreadyExistsError("x"), 400, 40002),
        (errors.UnknownTopicOrPartitionError("x"), 404, 40403),
        (errors.MessageSizeTooLargeError("x"), 413, 41301),
        (errors.ThrottlingQuotaExceededError("x"), 429, 42901),
        (errors.GroupAuthorizationFailedError("x"), 403, 40301),
        (errors.KafkaTimeoutError("x"), 500, 50003),
        (errors.IllegalStateError("x"), 500, 50002),
    ):
        refused = of_kafka(error)
        assert (refused.status, refused.code) == (status, code), error


def test_router() -> None:
    async def answer(request: HttpRequest, parts: tuple[str, ...]) -> Any:
        return {"parts": parts} if parts[0] != "gone" else None

    router = RestRouter([RestRoute("GET", ("a", None), answer)])

    def ask(method: str, path: str, **headers: str) -> int:
        answer = router.handle(HttpRequest(method, path, path_parts(path), {}, headers, b""))
        if isinstance(answer, HttpAnswer):
            return answer.status
        found: list[HttpAnswer] = []
        answer.addCallback(found.append)
        return found[0].status

    assert [ask("GET", "/a/x"), ask("HEAD", "/a/x"), ask("GET", "/a/gone")] == [200, 200, 204]
    assert [ask("GET", "/b/x"), ask("POST", "/a/x"), ask("GET", "/a/x", accept="text/html")] == [404, 405, 406]


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({}, "bootstrap.servers is missing"),
        ({"zookeeper.connect": "x:1"}, "set bootstrap.servers"),
        ({"bootstrap.servers": "x:1", "kafkapy.max.pending.bytes": "0"}, "kafkapy.max.pending.bytes"),
        ({"bootstrap.servers": "x:1", "kafkapy.max.pending.bytes": "²"}, "kafkapy.max.pending.bytes"),
        ({"bootstrap.servers": "x:1", "idle.timeout.ms": "9" * 5000}, "idle.timeout.ms"),
        ({"bootstrap.servers": "x:1", "producer.compression.type": "rar"}, "rar"),
        ({"bootstrap.servers": "x:1", "client.security.protocol": "NONE"}, "NONE"),
    ],
)
def test_bad_configs(properties: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigException, match=why):
        RestConfig.of(properties)


def test_config() -> None:
    given = {
        "bootstrap.servers": "PLAINTEXT://a:1,b:2",
        "client.client.id": "proxy",
        "schema.registry.url": "http://r:8081",
        "x.y": "1",
    }
    config = RestConfig.of(given)
    assert config.clients["client_id"] == "proxy"
    assert config.registry is not None
    assert config.warnings == ["The config x.y has no effect here"]


def test_positions_of_what_is_assigned() -> None:
    consumer = FakeConsumer()
    mine, other = {"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}
    for seek_to in (_seek_to_beginning, _seek_to_end):
        seek_to(consumer, {"partitions": []})
    assert consumer.sought == {}, "nothing is assigned yet"
    consumer.waiting = {TopicPartition("t", 0): []}
    for refused in (
        refusal(_seek, consumer, {"offsets": [{**mine, "offset": 3}, {**other, "offset": 3}]}),
        refusal(_seek_to_beginning, consumer, {"partitions": [other]}),
        refusal(_seek_to_end, consumer, {"partitions": [mine, other]}),
    ):
        assert (refused.status, refused.code) == (409, 40903)
        assert refused.message == "No current assignment for partition t-1"
    assert consumer.sought == {}, "all or nothing"
    _seek(consumer, {"offsets": [{**mine, "offset": 3}]})
    assert consumer.sought == {TopicPartition("t", 0): 3}
    _seek_to_end(consumer, {"partitions": []})
    assert consumer.sought == {TopicPartition("t", 0): 9}


def test_a_subscription_is_of_one_kind() -> None:
    assert refusal(_subscribe, FakeConsumer(), {}).status == 422
    assert refusal(_subscribe, FakeConsumer(), {"topics": ["t"], "topic_pattern": "t.*"}).code == 40903
