"""Which instance answers over HTTP, and what: with instances that are told what they have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from kafkapy.streams import Serdes, Stores, ValueAndTimestamp
from kafkapy.streams.assignment.task_id import HostInfo
from kafkapy.streams.errors import InvalidStateStoreException, UnknownStateStoreException
from kafkapy.streams.queries.http.answers import QueryAnswers, StoreAnswer
from kafkapy.streams.queries.http.json_values import UnreadableKey, key_of, plain
from kafkapy.streams.queries.store_query import StoreQueryParameters
from kafkapy.streams.queries.streams_metadata import KeyQueryMetadata, StreamsMetadata
from kafkapy.streams.records import Window, Windowed

A, B, C = (HostInfo(name, 80) for name in "abc")
HOSTS = {"ant": A, "bee": B, "cow": B}
COUNTS = {"ant": ValueAndTimestamp(1, 10), "bee": ValueAndTimestamp(2, 20), "cow": ValueAndTimestamp(3, 30)}


class View:
    """The keys of an instance, as a key-value or window store."""

    def __init__(self, entries: dict[str, Any]) -> None:
        self._entries = entries

    def get(self, key: str) -> Any:
        return self._entries.get(key)

    def range(self, key_from: str | None, key_to: str | None) -> Any:
        return iter([(key, value) for key, value in self._entries.items() if key >= (key_from or "")])

    def reverse_range(self, key_from: str | None, key_to: str | None) -> Any:
        return reversed(list(self.range(key_from, key_to)))

    def fetch(self, key: str, time_from: int, time_to: int) -> Any:
        return iter([(0, self._entries[key])])

    def fetch_all(self, time_from: int, time_to: int) -> Any:
        return iter([(Windowed(key, Window(5, 15)), value) for key, value in self._entries.items()])


class Instance:
    """One of an application in which A has "ant", B "bee" and "cow", and C nothing but a copy of B's."""

    def __init__(self, host: HostInfo, others: dict[HostInfo, Instance] | None = None) -> None:
        self.host = host
        self.asked: list[str] = []
        self.fails = False
        self._others = {} if others is None else others
        self._others[host] = self
        self.answers = QueryAnswers(self, host, self._fetch)

    def _fetch(self, host: HostInfo, url: str) -> StoreAnswer:
        self.asked.append(f"{host.host}{url}")
        if host not in self._others or self._others[host].fails:
            raise ConnectionRefusedError
        return self._others[host].get(url)

    def get(self, url: str) -> StoreAnswer:
        parts = urlsplit(url)
        return self.answers.answer([unquote(part) for part in parts.path.split("/")[1:]], dict(parse_qsl(parts.query)))

    def store(self, parameters: StoreQueryParameters) -> Any:
        if self.host is C and not parameters.stale_stores_enabled:
            raise InvalidStateStoreException("may have migrated")
        has = B if self.host is C else self.host
        return View({key: value for key, value in COUNTS.items() if HOSTS[key] == has})

    def query_metadata_for_key(self, store_name: str, key: Any, partition_of: Any) -> KeyQueryMetadata | None:
        assert partition_of.serialize("topic", key) == key.encode()
        host = HOSTS.get(key, A)
        return KeyQueryMetadata(host, frozenset({C} if host == B else ()), 0)

    def streams_metadata_for_store(self, store_name: str) -> list[StreamsMetadata]:
        if store_name != "counts":
            raise UnknownStateStoreException(f"no {store_name}")
        has, nothing = frozenset({"counts"}), frozenset[Any]()
        return [StreamsMetadata(host, has, nothing, nothing, nothing) for host in (A, B)]

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata]:
        return self.streams_metadata_for_store("counts")

    def key_serializer(self, store_name: str) -> Callable[[Any], bytes] | None:
        return None if self.host == HostInfo("d", 80) else lambda key: key.encode()


@pytest.fixture
def instances() -> dict[HostInfo, Instance]:
    found: dict[HostInfo, Instance] = {}
    for host in (A, B, C):
        Instance(host, found)
    return found


def test_a_key_that_is_here(instances: dict[HostInfo, Instance]) -> None:
    answer = instances[A].get("/state/counts/keys/ant")
    assert answer == StoreAnswer(200, {"store": "counts", "key": "ant", "value": 1, "timestamp": 10})
    assert not instances[A].asked


def test_a_key_that_another_instance_has(instances: dict[HostInfo, Instance]) -> None:
    assert instances[A].get("/state/counts/keys/bee").body["value"] == 2
    assert instances[A].asked == ["b/state/counts/keys/bee?local=true"]
    assert not instances[B].asked


def test_a_key_that_is_nowhere(instances: dict[HostInfo, Instance]) -> None:
    assert instances[B].get("/state/counts/keys/zebra") == StoreAnswer(404, {"error": "counts has no such key"})


def test_a_copy_answers_if_that_is_wanted(instances: dict[HostInfo, Instance]) -> None:
    instances[B].fails = True
    answer = instances[A].get("/state/counts/keys/bee")
    assert answer == StoreAnswer(502, {"error": "The instance that has it cannot be reached: b:80"})
    assert instances[A].get("/state/counts/keys/bee?stale=true").body["value"] == 2
    assert instances[C].get("/state/counts/keys/bee?stale=true").body["value"] == 2
    assert instances[C].get("/state/counts/keys/bee?local=true").status == 503


def test_an_instance_without_tasks_asks_one_that_has_some(instances: dict[HostInfo, Instance]) -> None:
    new = Instance(HostInfo("d", 80), instances)
    assert new.get("/state/counts/keys/bee").body["value"] == 2
    assert new.get("/state/counts/keys/bee?hops=1").status == 503


def test_ranges_of_all_instances(instances: dict[HostInfo, Instance]) -> None:
    def keys(parameters: str) -> tuple[str, bool]:
        body = instances[B].get(f"/state/counts/keys{parameters}").body
        return " ".join(entry["key"] for entry in body["entries"]), body["truncated"]

    assert keys("") == ("ant bee cow", False)
    assert keys("?limit=2") == ("ant bee", True)
    assert keys("?from=b") == ("bee cow", False)
    assert keys("?local=true&reverse=true") == ("cow bee", False)
    instances[A].fails = True
    assert instances[B].get("/state/counts/keys").status == 502


def test_windows(instances: dict[HostInfo, Instance]) -> None:
    answer = instances[A].get("/state/counts/windows/bee?from=0&to=10")
    assert answer.body["entries"] == [{"start": 0, "value": 2, "timestamp": 20}]
    entries = instances[A].get("/state/counts/windows?local=true").body["entries"]
    assert entries == [{"key": "ant", "start": 5, "end": 15, "value": 1, "timestamp": 10}]


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/", 404),
        ("/state/unknown/keys", 404),
        ("/state/counts/cats", 404),
        ("/state/counts/keys?limit=many", 400),
        ("/state/counts/keys?limit=99999999999999999999", 400),
        ("/state/counts/keys/a?format=json", 400),
        ("/state", 200),
    ],
)
def test_statuses(instances: dict[HostInfo, Instance], url: str, status: int) -> None:
    assert instances[A].get(url).status == status


def test_keys_of_urls() -> None:
    def of(serde: Any) -> Callable[[Any], object]:
        return lambda key: serde.serializer().serialize("topic", key)

    assert key_of("42", False, of(Serdes.string())) == "42"
    assert key_of("42", False, of(Serdes.long())) == 42
    assert key_of("42", False, of(Serdes.byte_array())) == b"42"
    assert key_of('"42"', True, of(Serdes.string())) == "42"
    with pytest.raises(UnreadableKey):
        key_of("forty-two", False, of(Serdes.long()))
    with pytest.raises(UnreadableKey):
        key_of("[" * 100_000, True, of(Serdes.long()))


@dataclass
class Point:
    x: int
    y: float


def test_values_as_json() -> None:
    assert plain({1: [Point(1, math.inf), b"\0", None]}) == {"1": [{"x": 1, "y": "inf"}, {"base64": "AA=="}, None]}
    with pytest.raises(TypeError, match="no form in JSON"):
        plain(Stores)
