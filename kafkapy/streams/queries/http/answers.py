"""Answers HTTP queries, or forwards them to the right instance; without sockets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote, urlencode

from kafkapy.streams.assignment.task_id import HostInfo
from kafkapy.streams.errors import (
    InvalidStateStoreException,
    StreamsNotStartedException,
    UnknownStateStoreException,
)
from kafkapy.streams.queries.http.json_values import UnreadableKey, entry_of, key_of
from kafkapy.streams.queries.read_only_stores import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
)
from kafkapy.streams.queries.store_query import QueryableStoreType, StoreQueryParameters
from kafkapy.streams.queries.streams_metadata import KeyQueryMetadata, StreamsMetadata
from kafkapy.streams.state.state_store import KeyValueStore, SessionStore, WindowStore

MAX_LIMIT: Final = 10_000
_DEFAULT_LIMIT: Final = 100
_LONG_MAX: Final = (1 << 63) - 1
_KINDS: Final = {
    "keys": QueryableStoreType("KeyValueStoreType", KeyValueStore, ReadOnlyKeyValueStore, False),
    "windows": QueryableStoreType("WindowStoreType", WindowStore, ReadOnlyWindowStore, False),
    "sessions": QueryableStoreType("SessionStoreType", SessionStore, ReadOnlySessionStore, False),
}


class StoreAnswer(NamedTuple):
    """A response.

    Attributes:
        status: HTTP status.
        body: Data for the JSON body.
    """

    status: int
    body: dict[str, Any]


class QueriedInstance(Protocol):
    """The methods of `KafkaStreams` that the end point uses."""

    def store(self, parameters: StoreQueryParameters) -> Any: ...

    def query_metadata_for_key(self, store_name: str, key: Any, partition_of: Any) -> KeyQueryMetadata | None: ...

    def streams_metadata_for_store(self, store_name: str) -> list[StreamsMetadata]: ...

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata]: ...

    def key_serializer(self, store_name: str) -> Callable[[Any], bytes] | None: ...


Fetch = Callable[[HostInfo, str], StoreAnswer]
"""Forwards a query to another instance. Raises OSError if it cannot be reached."""


class QueryError(Exception):
    """A query cannot be answered.

    Args:
        status: HTTP status.
        message: One sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class QueryAnswers:
    """Answers queries of this instance's part of a store, and forwards others to the instance that has the part.

    A forwarded query (`local=true`) is not forwarded again.

    Args:
        instance: This instance.
        host: Its `application.server`.
        fetch: Forwards a query to another instance.
    """

    def __init__(self, instance: QueriedInstance, host: HostInfo, fetch: Fetch) -> None:
        self._instance = instance
        self._host = host
        self._fetch = fetch

    def answer(self, path: list[str], parameters: Mapping[str, str]) -> StoreAnswer:
        """Answer a GET request.

        Args:
            path: Parts of the path, decoded: `["state", "counts", "keys", "kafka"]`.
            parameters: The query's parameters.
        """
        try:
            match path:
                case ["state"]:
                    return StoreAnswer(200, {"instances": self._instances()})
                case ["state", store, kind] if kind in ("keys", "windows"):
                    return self._range(store, kind, parameters)
                case ["state", store, kind, key] if kind in _KINDS:
                    return self._of_key(store, kind, key, parameters)
            raise QueryError(404, "There is /state, /state/STORE/keys, /windows and /sessions, each with /KEY")
        except QueryError as error:
            return _error(error.status, str(error))
        except UnknownStateStoreException as error:
            return _error(404, str(error))
        except UnreadableKey as error:
            return _error(400, str(error))
        except (InvalidStateStoreException, StreamsNotStartedException, RuntimeError) as error:
            return _error(503, str(error))
        except TypeError as error:
            return _error(500, str(error))

    # --- one key ----------------------------------------------------------------------------------------------------------

    def _of_key(self, store: str, kind: str, text: str, parameters: Mapping[str, str]) -> StoreAnswer:
        serialize = self._instance.key_serializer(store)
        if serialize is None:
            return self._ask_one_that_has(store, kind, text, parameters)
        key = key_of(text, parameters.get("format") == "json", serialize)
        if _is_set(parameters, "local"):
            return self._local_of_key(store, kind, key, None, parameters)
        found = self._instance.query_metadata_for_key(store, key, _KeySerializer(serialize))
        if found is None:
            raise QueryError(503, "It is not known yet which instance has the key: try again")
        if found.active_host == self._host:
            return self._local_of_key(store, kind, key, found.partition, parameters)
        hosts = [found.active_host]
        if _is_set(parameters, "stale"):
            if self._host in found.standby_hosts:
                return self._local_of_key(store, kind, key, found.partition, parameters)
            hosts += sorted(found.standby_hosts)
        return self._ask(hosts, _url(store, kind, text, parameters))

    def _ask_one_that_has(self, store: str, kind: str, text: str, parameters: Mapping[str, str]) -> StoreAnswer:
        """Forward to an instance that has a part of the store, because this one has none and so does not know the
        serde of keys."""
        hosts = [
            one.host_info for one in self._instance.streams_metadata_for_store(store) if one.host_info != self._host
        ]
        if _number(parameters, "hops", 0) or not hosts or _is_set(parameters, "local"):
            raise QueryError(503, f"No instance is known that has a part of {store}: try again")
        return self._ask(hosts, _url(store, kind, text, {**parameters, "hops": "1"}, local=False))

    def _local_of_key(
        self, store: str, kind: str, key: Any, partition: int | None, parameters: Mapping[str, str]
    ) -> StoreAnswer:
        view = self._view(store, kind, partition, parameters)
        if kind == "keys":
            value = view.get(key)
            if value is None:
                raise QueryError(404, f"{store} has no such key")
            return StoreAnswer(200, {"store": store, **entry_of(key, value)})
        if kind == "sessions":
            return _entries(store, view.fetch(key), _limit(parameters))
        windows = view.fetch(key, _number(parameters, "from", 0), _number(parameters, "to", _LONG_MAX))
        return _entries(store, windows, _limit(parameters), key=key)

    # --- ranges -----------------------------------------------------------------------------------------------------------

    def _range(self, store: str, kind: str, parameters: Mapping[str, str]) -> StoreAnswer:
        limit = _limit(parameters)
        if _is_set(parameters, "local"):
            return self._local_range(store, kind, parameters, limit)
        entries: list[Any] = []
        truncated = False
        hosts = [
            one.host_info for one in self._instance.streams_metadata_for_store(store) if store in one.state_store_names
        ]
        if not hosts:
            raise QueryError(503, f"No instance is known that has a part of {store}: try again")
        for host in sorted(hosts):
            if host == self._host:
                found = self._local_range(store, kind, parameters, limit)
            else:
                found = self._ask([host], _url(store, kind, None, parameters))
            if found.status != 200:
                return found
            entries += found.body["entries"]
            truncated = truncated or found.body["truncated"]
        return StoreAnswer(
            200, {"store": store, "entries": entries[:limit], "truncated": truncated or len(entries) > limit}
        )

    def _local_range(self, store: str, kind: str, parameters: Mapping[str, str], limit: int) -> StoreAnswer:
        view = self._view(store, kind, None, parameters)
        if kind == "windows":
            times = _number(parameters, "from", 0), _number(parameters, "to", _LONG_MAX)
            return _entries(store, view.fetch_all(*times), limit)
        serialize = self._instance.key_serializer(store)
        ends = [
            None
            if name not in parameters or serialize is None
            else key_of(parameters[name], parameters.get("format") == "json", serialize)
            for name in ("from", "to")
        ]
        read = view.reverse_range if _is_set(parameters, "reverse") else view.range
        return _entries(store, read(*ends), limit)

    # --- within -----------------------------------------------------------------------------------------------------------

    def _view(self, store: str, kind: str, partition: int | None, parameters: Mapping[str, str]) -> Any:
        return self._instance.store(StoreQueryParameters(store, _KINDS[kind], partition, _is_set(parameters, "stale")))

    def _ask(self, hosts: list[HostInfo], url: str) -> StoreAnswer:
        """Return the response of the first instance that can be reached."""
        for host in hosts:
            try:
                return self._fetch(host, url)
            except OSError:
                continue
        names = ", ".join(f"{host.host}:{host.port}" for host in hosts)
        raise QueryError(502, f"The instance that has it cannot be reached: {names}")

    def _instances(self) -> list[dict[str, Any]]:
        return [
            {
                "host": f"{one.host_info.host}:{one.host_info.port}",
                "stores": sorted(one.state_store_names),
                "copies": sorted(one.standby_state_store_names),
            }
            for one in self._instance.metadata_for_all_streams_clients()
        ]


class _KeySerializer:
    """A store's serializer of keys, in the form for metadata."""

    def __init__(self, serialize: Callable[[Any], bytes]) -> None:
        self._serialize = serialize

    def serialize(self, topic: str, key: Any) -> bytes:
        return self._serialize(key)


def _error(status: int, message: str) -> StoreAnswer:
    return StoreAnswer(status, {"error": message})


def _entries(store: str, found: Iterator[Any], limit: int, key: Any = None) -> StoreAnswer:
    """Return at most `limit` entries. With `key`, pairs are start and value of its windows."""
    taken = list(islice(found, limit + 1))
    entries = [entry_of(first, value) for first, value in taken[:limit]]
    if key is not None:
        entries = [{"start": entry.pop("key"), **entry} for entry in entries]
    return StoreAnswer(200, {"store": store, "entries": entries, "truncated": len(taken) > limit})


def _limit(parameters: Mapping[str, str]) -> int:
    return min(_number(parameters, "limit", _DEFAULT_LIMIT), MAX_LIMIT)


def _number(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 19:
        raise QueryError(400, f"{name} must be a number that is not negative")
    return min(int(text), _LONG_MAX)


def _is_set(parameters: Mapping[str, str], name: str) -> bool:
    return parameters.get(name) == "true"


def _url(store: str, kind: str, key: str | None, parameters: Mapping[str, str], *, local: bool = True) -> str:
    path = f"/state/{quote(store, safe='')}/{kind}" + ("" if key is None else f"/{quote(key, safe='')}")
    return f"{path}?{urlencode({**parameters, **({'local': 'true'} if local else {})})}"


def body_of(answer: StoreAnswer) -> bytes:
    """Encode a response as JSON."""
    return json.dumps(answer.body, ensure_ascii=False).encode()
