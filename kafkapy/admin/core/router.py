"""Where the requests of an admin client go: any broker, the controller, leaders, coordinators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from kafkapy.clients.client_apis import api_of
from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    BrokerResponseError,
    NoError,
    NotControllerError,
    UnknownTopicOrPartitionError,
    error_for,
    for_code,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.metadata import MetadataRequest

GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators."""

T = TypeVar("T")

ErrorClass = type[BrokerResponseError]

_MOVED = {Errors.NOT_COORDINATOR.code, Errors.COORDINATOR_NOT_AVAILABLE.code, Errors.COORDINATOR_LOAD_IN_PROGRESS.code}


class Answer(Generic[T]):
    """A response with the version in which it came."""

    __slots__ = ("response", "version")

    def __init__(self, response: T, version: int) -> None:
        self.response = response
        self.version = version


class Router:
    """Sends requests and repeats them while that may help, within `request_timeout_ms`.

    What a broker answers is left to the caller, but for NOT_CONTROLLER and errors of a coordinator that has moved.
    """

    def __init__(self, client: NetworkClient) -> None:
        self.client = client
        self.request_timeout_ms = client.config.request_timeout_ms
        self._coordinators: dict[tuple[int, str], int] = {}

    def _timeout(self, timeout_ms: float | None) -> int:
        return int(timeout_ms or self.request_timeout_ms)

    async def _ask(self, node_id: int, request: Any, **versions: int) -> Answer[Any]:
        """One broker, once."""
        response = await self.client.send(node_id, request, **versions)
        return Answer(response, self._version(node_id, request.API_KEY, **versions))

    def _version(self, node_id: int, api_key: int, min_version: int = 0, max_version: int = 32767) -> int:
        served = self.client.versions_of(node_id)
        assert served is not None
        return served.latest_usable(api_of(api_key), min_version, max_version)

    async def _any(self, request: Any, **versions: int) -> Answer[Any]:
        async def attempt() -> Answer[Any]:
            return await self._ask(await self.client.least_loaded_node(), request, **versions)

        return await self.client.retry(api_of(request.API_KEY).title, attempt)

    async def _node(self, node_id: int, request: Any, **versions: int) -> Answer[Any]:
        async def attempt() -> Answer[Any]:
            if self.client.metadata.node(node_id) is None:
                await self.client.metadata.request_update()
            return await self._ask(node_id, request, **versions)

        return await self.client.retry(api_of(request.API_KEY).title, attempt)

    async def _controller(
        self, request: Any, codes: Callable[[Any], Iterable[int]], timeout_ms: float | None = None, **versions: int
    ) -> Answer[Any]:
        """`codes`: the error codes of a response."""

        async def attempt() -> Answer[Any]:
            answer = await self._ask(await self.client.controller_id(), request, **versions)
            if Errors.NOT_CONTROLLER.code in codes(answer.response):
                raise NotControllerError("the controller has moved")
            return answer

        timeout = None if timeout_ms is None else timeout_ms + self.request_timeout_ms
        return await self.client.retry(api_of(request.API_KEY).title, attempt, timeout)

    # --- coordinators

    async def _coordinator_ids(self, keys: Iterable[str], kind: int = GROUP) -> dict[str, int]:
        """Key -> broker. What was found is remembered."""
        wanted = list(dict.fromkeys(keys))
        unknown = [key for key in wanted if (kind, key) not in self._coordinators]
        if unknown:
            await self.client.retry("FindCoordinator", lambda: self._find_coordinators(unknown, kind))
        return {key: self._coordinators[kind, key] for key in wanted}

    async def _find_coordinators(self, keys: list[str], kind: int) -> None:
        node_id = await self.client.least_loaded_node()
        versions = await self.client.connect(node_id)
        if versions.latest_usable(ApiKey.FIND_COORDINATOR) >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=keys)
            response = await self.client.send(node_id, request, min_version=4)
            found = [(row.key, row) for row in response.coordinators]
        else:
            found = []
            for key in keys:
                request = FindCoordinatorRequest(key=key, key_type=kind)
                found.append((key, await self.client.send(node_id, request, max_version=3)))
        for key, row in found:
            raise_code(row.error_code, row.error_message)
            self._coordinators[kind, key] = row.node_id

    async def _coordinator(
        self,
        keys: Iterable[str],
        make: Callable[[list[str]], Any],
        codes: Callable[[Any], Iterable[int]],
        node_id: int | None = None,
        kind: int = GROUP,
        **versions: int,
    ) -> list[tuple[int, Answer[Any]]]:
        """The answers to `make(keys)` of each coordinator, with its id. `codes`: the error codes of a response; those
        that say that the coordinator has moved or is busy loading lead to another attempt."""
        all_keys = list(keys)

        async def ask(coordinator: int, its_keys: list[str]) -> tuple[int, Answer[Any]]:
            answer = await self._ask(coordinator, make(its_keys), **versions)
            for code in codes(answer.response):
                if code in _MOVED:
                    raise error_for(code)
            return coordinator, answer

        async def attempt() -> list[tuple[int, Answer[Any]]]:
            if node_id is not None:
                return [await ask(node_id, all_keys)]
            by_node: dict[int, list[str]] = defaultdict(list)
            for key, coordinator in (await self._coordinator_ids(all_keys, kind)).items():
                by_node[coordinator].append(key)
            await self._know(by_node)
            try:
                return [await ask(coordinator, its_keys) for coordinator, its_keys in by_node.items()]
            except KafkaError:
                for key in all_keys:
                    self._coordinators.pop((kind, key), None)
                raise

        return await self.client.retry("coordinator", attempt)

    # --- leaders

    async def _leaders(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Leader -> partitions. Raises UnknownTopicOrPartitionError, LeaderNotAvailableError."""
        wanted = {TopicPartition(*partition) for partition in partitions}
        topics = sorted({partition.topic for partition in wanted})
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics],
            allow_auto_topic_creation=False,
        )
        response = (await self._any(_without_auto_creation(request))).response
        leaders: dict[int, list[TopicPartition]] = defaultdict(list)
        unknown = set(wanted)
        for topic in response.topics:
            for partition in topic.partitions:
                found = TopicPartition(topic.name, partition.partition_index)
                if found in wanted:
                    unknown.discard(found)
                    if partition.leader_id < 0:
                        raise error_for(Errors.LEADER_NOT_AVAILABLE, f"{found} has no leader at present")
                    leaders[partition.leader_id].append(found)
        if unknown:
            names = ", ".join(str(partition) for partition in sorted(unknown))
            raise UnknownTopicOrPartitionError(f"The following partitions are not known: {names}")
        await self._know(leaders)
        return leaders

    async def _know(self, node_ids: Iterable[int]) -> None:
        """Brokers that have joined since the last metadata."""
        if any(self.client.metadata.node(node_id) is None for node_id in node_ids):
            await self.client.metadata.request_update()

    async def _broker_ids(self) -> list[int]:
        return sorted((await self.client.metadata.request_update()).nodes)


def _without_auto_creation(request: MetadataRequest) -> VersionedRequest:
    """The switch is there from version 4 on; before, brokers create what they are asked for."""

    def build(version: int) -> MetadataRequest:
        return MetadataRequest(topics=request.topics, allow_auto_topic_creation=version < 4)

    return VersionedRequest(MetadataRequest, build)


def raise_code(code: int, message: str | None = None) -> None:
    """Raise the exception of an error code that isn't 0."""
    if code:
        raise error_for(code, message)


def raise_first(codes: Iterable[tuple[int, str | None]], ignored: Iterable[int] = ()) -> None:
    skip = {0, *ignored}
    for code, message in codes:
        if code not in skip:
            raise error_for(code, message)


def error_class(code: int) -> ErrorClass:
    """`NoError` for 0, as kafka-python reports success for one of many."""
    return NoError if code == 0 else for_code(code)


def error_text(code: int, message: str | None) -> str:
    """ "OK" or the error, as kafka-python writes it."""
    return "OK" if code == 0 else str(error_for(code, message))


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        grouped[topic].append(partition)
    return grouped


def topic_partitions(values: Mapping[Any, T]) -> dict[TopicPartition, T]:
    """Keys may be plain tuples."""
    return {TopicPartition(*key): value for key, value in values.items()}
