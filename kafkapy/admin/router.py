"""Routes an admin client's requests to any broker, the controller, leaders or coordinators.

Requests are repeated until they succeed or the operation times out (Kafka's `KafkaAdminClient.Call` and
`AdminApiDriver`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from kafkapy.admin.results import Answer, K, Results, error_of, failure_of, told, value_of
from kafkapy.clients.client_apis import api_of
from kafkapy.clients.metadata import ClusterMetadata, Node
from kafkapy.clients.metadata_updater import exponential
from kafkapy.clients.network_client import NetworkClient, within
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    BootstrapError,
    BrokerResponseError,
    ClientError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoResponseError,
    NotControllerError,
    UnknownTopicOrPartitionError,
    as_client_error,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.metadata import MetadataRequest, MetadataResponse

GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators."""

T = TypeVar("T")

_log = logging.getLogger("kafkapy.admin")

_COORDINATOR_MOVED = frozenset(
    {
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.REQUEST_TIMED_OUT,
    }
)


class Call:
    """The deadline of a running operation, and the errors to raise when it has passed."""

    def __init__(self, name: str, timeout_ms: float, request_timeout_ms: int, time: Time) -> None:
        self.name = name
        self.timeout_ms = timeout_ms
        self.request_timeout_ms = request_timeout_ms
        self._time = time
        self._deadline = time.monotonic_ms() + timeout_ms

    @property
    def remaining_ms(self) -> float:
        return max(0.0, self._deadline - self._time.monotonic_ms())

    @property
    def server_timeout_ms(self) -> int:
        """Return the broker's limit for a request, after which it answers REQUEST_TIMED_OUT: less than the
        client's."""
        timeout = max(1, int(min(self.request_timeout_ms, self.remaining_ms)))
        return timeout - min(1_000, timeout // 2)

    def timed_out(self, last: KafkaError) -> KafkaError:
        sentence = f"Call {self.name} timed out after {self.timeout_ms:g} ms. Its last failure: {last.message}"
        return KafkaError(Errors.REQUEST_TIMED_OUT, sentence)

    def no_broker(self, node_id: int) -> KafkaError:
        return KafkaError(Errors.BROKER_NOT_AVAILABLE, f"There is no live broker with id {node_id}")


class Router:
    """Sends requests and repeats them while that may help.

    Error codes in responses are the caller's task, except NOT_CONTROLLER and those that mean that a leader or a
    coordinator has moved. `api_timeout_ms`: the default time limit of an operation.
    """

    def __init__(self, client: NetworkClient, api_timeout_ms: int | None = None) -> None:
        self.client = client
        self.request_timeout_ms = client.config.request_timeout_ms
        self.api_timeout_ms = self.request_timeout_ms if api_timeout_ms is None else api_timeout_ms
        self._coordinators: dict[tuple[int, str], int] = {}
        self._unreachable: set[int] = set()
        """Bootstrap servers that were reported: there is one warning for each."""
        self._give_up_ms: float | None = None
        """When `bootstrap_timeout_ms` ends."""

    def call(self, name: str, timeout_ms: float | None = None) -> Call:
        """`name`: the operation's in Kafka's `Admin`."""
        timeout = self.api_timeout_ms if timeout_ms is None else timeout_ms
        return Call(name, timeout, self.request_timeout_ms, self.client.driver.time)

    # --- retries

    async def retry(self, call: Call, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat `attempt` while it raises a retriable error; return its result."""

        async def the_only(_: list[None]) -> dict[None, T | KafkaError]:
            return {None: await attempt()}

        return value_of((await self.each(call, [None], the_only))[None])

    async def each(
        self,
        call: Call,
        keys: Iterable[K],
        attempt: Callable[[list[K]], Awaitable[Mapping[K, T | KafkaError]]],
        may_repeat: Callable[[Any], bool] = lambda result: False,
    ) -> Results[K, T]:
        """Run `attempt(keys)`, and repeat it until the deadline for the keys with a retriable error.

        An error that `attempt` raises applies to all of its keys; one that is not retriable is raised.
        """
        results: Results[K, T] = {}
        left = list(dict.fromkeys(keys))
        attempts = 0
        while left:
            outcome: Mapping[K, T | KafkaError]
            try:
                outcome = await within(self.client.driver, partial(attempt, left), call.remaining_ms)
                # `may_repeat` is called first, and for each key: it may have to forget a coordinator.
                left = [key for key in left if may_repeat(outcome[key]) or _unanswered(outcome[key])]
            except KafkaError as error:
                failure = as_client_error(error)
                if not failure.retriable:
                    raise failure from error
                outcome = dict.fromkeys(left, failure)
            results.update(outcome)
            if not left:
                break
            config = self.client.config
            delay = exponential(config.retry_backoff_ms, config.retry_backoff_max_ms, attempts)
            attempts += 1
            failures = [_failure(outcome[key]) for key in left]
            if delay >= call.remaining_ms:
                results.update({key: call.timed_out(failure) for key, failure in zip(left, failures, strict=True)})
                break
            if any(failure.invalid_metadata or failure.error is Errors.NOT_CONTROLLER for failure in failures):
                self.client.metadata.request_update()
            await self.client.driver.sleep(delay)
        return results

    # --- one broker, once

    async def ask(self, node_id: int, request: Any, **versions: int) -> Answer[Any]:
        response = await self.client.send(node_id, request, **versions)
        served = self.client.versions_of(node_id)
        assert served is not None
        version = served.latest_usable(
            api_of(request.API_KEY), versions.get("min_version", 0), versions.get("max_version", 32767)
        )
        return Answer(response, version, node_id)

    async def any_node(self) -> int:
        """Return an available broker.

        The first call tries the bootstrap servers in turn for `bootstrap_timeout_ms`, then raises `BootstrapError`,
        which is not retried.
        """
        if self.client.metadata.version:
            return await self.client.least_loaded_node()
        config, time = self.client.config, self.client.driver.time
        give_up_ms = self._give_up_ms
        if give_up_ms is None:
            give_up_ms = self._give_up_ms = time.monotonic_ms() + config.bootstrap_timeout_ms
        for node_id in [-1 - index for index in range(len(config.bootstrap))]:
            try:
                left = max(0.0, give_up_ms - time.monotonic_ms())
                await within(self.client.driver, partial(self.client.connect, node_id), left)
                self._give_up_ms = None
                return node_id
            except KafkaConnectionError as error:
                if node_id not in self._unreachable:
                    self._unreachable.add(node_id)
                    _log.warning("%s. Trying on.", error.message.replace("The connection", "Connection", 1))
            except KafkaTimeoutError:
                pass  # it does not respond
        sentence = f"None of the bootstrap servers could be reached: {','.join(map(str, config.bootstrap))}"
        hopeless = self.client.why_hopeless()
        if hopeless:
            raise BootstrapError(f"{sentence}: {hopeless}")
        if time.monotonic_ms() >= give_up_ms:
            self._give_up_ms = None
            raise BootstrapError(f"{sentence}. Gave up after {config.bootstrap_timeout_ms:g} ms")
        raise KafkaConnectionError(sentence)

    async def refresh(self, topics: Iterable[str] | None) -> ClusterMetadata:
        """Request metadata of these topics (None: all) from any broker; store its brokers and controller."""
        wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        return self.remember((await self.ask(await self.any_node(), metadata_request(wanted))).response)

    def remember(self, response: MetadataResponse) -> ClusterMetadata:
        self.client.metadata.update(response)
        self.client.adopt_bootstrap_connections()
        return ClusterMetadata.of(response)

    async def know(self, node_ids: Iterable[int]) -> None:
        """Update the metadata if it lacks one of these brokers."""
        if any(self.client.metadata.node(node_id) is None for node_id in node_ids):
            await self.refresh(())

    # --- destinations, with retries

    async def on_any(self, call: Call, request: Any, **versions: int) -> Answer[Any]:
        async def attempt() -> Answer[Any]:
            return await self.ask(await self.any_node(), request, **versions)

        return await self.retry(call, attempt)

    async def on_node(self, call: Call, node_id: int, request: Any, **versions: int) -> Answer[Any]:
        return value_of((await self.on_nodes(call, {node_id: request}, **versions))[node_id])

    async def on_nodes(self, call: Call, requests: Mapping[int, Any], **versions: int) -> Results[int, Answer[Any]]:
        """Return each broker's response to its request. One that does not answer in time does not delay the others."""

        async def ask(node_id: int) -> Answer[Any] | KafkaError:
            try:
                if self.client.metadata.node(node_id) is None:
                    raise call.no_broker(node_id)
                return await self.ask(node_id, requests[node_id], **versions)
            except KafkaError as error:
                return error

        async def attempt(left: list[int]) -> Results[int, Answer[Any]]:
            await self.know(left)
            return {node_id: await ask(node_id) for node_id in left}

        return await self.each(call, requests, attempt)

    async def on_controller(
        self, call: Call, request: Any, codes: Callable[[Any], Iterable[int]], **versions: int
    ) -> Answer[Any]:
        """Send a request to the controller. `codes` returns the error codes of a response.

        Only NOT_CONTROLLER is retried: after other errors, even retriable ones, the controller may still be
        working.
        """

        async def attempt() -> Answer[Any]:
            if not self.client.metadata.version:
                await self.refresh(())
            answer = await self.ask(await self.client.controller_id(), request, **versions)
            if Errors.NOT_CONTROLLER.code in codes(answer.response):
                raise NotControllerError("the controller has moved")
            return answer

        return await self.retry(call, attempt)

    async def on_leaders(
        self,
        call: Call,
        partitions: Iterable[TopicPartition],
        make: Callable[[list[TopicPartition]], Any],
        may_repeat: Callable[[Errors], bool],
        all_must_exist: bool = False,
        node_id: int | None = None,
        **versions: int,
    ) -> Results[TopicPartition, Answer[Any]]:
        """Send `make(partitions)` to the leaders; return each partition's part of the response.

        `may_repeat`: returns whether to look up the leader again after an error of a partition. `all_must_exist`: no
        request is sent if one of the partitions is not known. With `node_id`, only that broker is asked, without
        retries.
        """

        async def ask(leader: int, wanted: list[TopicPartition]) -> Results[TopicPartition, Answer[Any]]:
            try:
                answer = await self.ask(leader, make(wanted), **versions)
            except KafkaError as error:
                return dict.fromkeys(wanted, error)
            parts = {
                TopicPartition(topic.name, part.partition_index): Answer(part, answer.version, leader)
                for topic in answer.response.topics
                for part in topic.partitions
            }
            return told(parts, wanted, "leader", "partition")

        async def attempt(left: list[TopicPartition]) -> Results[TopicPartition, Answer[Any]]:
            if node_id is not None:
                await self.know([node_id])
                return await ask(node_id, left)
            results: Results[TopicPartition, Answer[Any]] = {}
            by_leader: dict[int, list[TopicPartition]] = {}
            for partition, leader in (await self.leaders(left, all_must_exist)).items():
                if isinstance(leader, KafkaError):
                    results[partition] = leader
                else:
                    by_leader.setdefault(leader, []).append(partition)
            for leader, wanted in by_leader.items():
                results.update(await ask(leader, wanted))
            return results

        def repeat(result: Answer[Any] | KafkaError) -> bool:
            failure = _failure_or_none(result)
            return node_id is None and failure is not None and may_repeat(failure.error)

        return await self.each(call, partitions, attempt, repeat)

    async def leaders(
        self, partitions: Iterable[TopicPartition], all_must_exist: bool = False
    ) -> Results[TopicPartition, int]:
        """Return the leader of each partition, or its error in the metadata."""
        wanted = list(partitions)
        cluster = await self.refresh(sorted({partition.topic for partition in wanted}))
        found: Results[TopicPartition, int] = {}
        for partition in wanted:
            try:
                found[partition] = cluster.leader_of(partition).id
            except KafkaError as error:
                found[partition] = as_client_error(error)
        if all_must_exist:
            unknown = [p for p in wanted if _is(found[p], Errors.UNKNOWN_TOPIC_OR_PARTITION)]
            if unknown:
                names = ", ".join(str(partition) for partition in sorted(unknown))
                missing = UnknownTopicOrPartitionError(f"The following partitions are not known: {names}")
                return dict.fromkeys(wanted, missing)
        return found

    async def on_coordinators(
        self,
        call: Call,
        keys: Iterable[str],
        make: Callable[[list[str]], Any],
        parts: Callable[[list[str], Any], Mapping[str, Any]],
        codes: Callable[[Any], Iterable[int]] = lambda part: [part.error_code],
        node_id: int | None = None,
        kind: int = GROUP,
        one_by_one_below: int = 0,
        **versions: int,
    ) -> Results[str, Answer[Any]]:
        """Send `make(keys)` to the coordinators; return each key's part of the response.

        `parts(keys, response)` splits a response; `codes` returns the error codes of a part, of which those that mean
        that the coordinator has moved or is loading are retried. Below version `one_by_one_below` a request has one
        key. With `node_id`, that broker is asked in place of the coordinators.
        """

        async def ask(coordinator: int, wanted: list[str]) -> Results[str, Answer[Any]]:
            try:
                served = (await self.client.connect(coordinator)).ranges.get(make(wanted[:1]).API_KEY, (0, 0))
                found: dict[str, Answer[Any]] = {}
                for some in [wanted] if served[1] >= one_by_one_below else [[key] for key in wanted]:
                    answer = await self.ask(coordinator, make(some), **versions)
                    for key, part in parts(some, answer.response).items():
                        found[key] = Answer(part, answer.version, coordinator)
                return told(found, wanted, "coordinator", "transactional id" if kind == TRANSACTION else "group")
            except KafkaError as error:
                return dict.fromkeys(wanted, error)

        async def attempt(left: list[str]) -> Results[str, Answer[Any]]:
            results: Results[str, Answer[Any]] = {}
            by_node: dict[int, list[str]] = {}
            found = dict.fromkeys(left, node_id) if node_id is not None else await self.find_coordinators(left, kind)
            for key, coordinator in found.items():
                if isinstance(coordinator, KafkaError):
                    results[key] = coordinator
                else:
                    by_node.setdefault(coordinator or 0, []).append(key)
            await self.know(by_node)
            for coordinator, wanted in by_node.items():
                results.update(await ask(coordinator, wanted))
            return results

        def repeat(result: Answer[Any] | KafkaError) -> bool:
            if isinstance(result, KafkaError):
                return result.error in _COORDINATOR_MOVED
            return any(Errors.for_code(code) in _COORDINATOR_MOVED for code in codes(result.response))

        def forget_and_repeat(result: Answer[Any] | KafkaError) -> bool:
            again = repeat(result)
            if again or _unanswered(result):
                self._coordinators.clear()
            return again

        return await self.each(call, keys, attempt, forget_and_repeat)

    async def on_coordinator(
        self,
        call: Call,
        key: str,
        request: Any,
        codes: Callable[[Any], Iterable[int]] = lambda response: [response.error_code],
        node_id: int | None = None,
        **versions: int,
    ) -> Answer[Any]:
        """Return the whole response of one group's coordinator."""
        answers = await self.on_coordinators(
            call, [key], lambda _: request, lambda keys, r: {keys[0]: r}, codes, node_id, **versions
        )
        return value_of(answers[key])

    async def find_coordinators(self, keys: Iterable[str], kind: int = GROUP) -> Results[str, int]:
        """Return the coordinator of each key; without retries. Coordinators that were found are cached."""
        wanted = list(keys)
        results: Results[str, int] = {
            key: self._coordinators[kind, key] for key in wanted if (kind, key) in self._coordinators
        }
        unknown = [key for key in wanted if key not in results]
        if not unknown:
            return results
        node_id = await self.any_node()
        versions = await self.client.connect(node_id)
        rows: list[tuple[str, Any]] = []
        if versions.latest_usable(ApiKey.FIND_COORDINATOR) >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=unknown)
            response = (await self.ask(node_id, request, min_version=4)).response
            rows = [(row.key, row) for row in response.coordinators]
        else:
            for key in unknown:
                request = FindCoordinatorRequest(key=key, key_type=kind)
                rows.append((key, (await self.ask(node_id, request, max_version=3)).response))
        for key, row in rows:
            error = error_of(row.error_code, row.error_message)
            if error is None:
                self._coordinators[kind, key] = row.node_id
                self.client.metadata.add_node(Node(row.node_id, row.host, row.port))
                self.client.adopt_bootstrap_connections()
            results[key] = error or row.node_id
        return told(results, wanted, "coordinator", "group")


def metadata_request(
    topics: Sequence[MetadataRequest.MetadataRequestTopic] | None, operations: bool = False
) -> VersionedRequest:
    """Build a Metadata request for these topics (None: all). `operations`: include the client's authorized
    operations."""

    def build(version: int) -> MetadataRequest:
        return MetadataRequest(
            topics=[] if version == 0 and topics is None else None if topics is None else list(topics),
            allow_auto_topic_creation=version
            < 4,  # version 3 and below have no such field: brokers create the requested topics
            include_cluster_authorized_operations=operations and 8 <= version <= 10,
            include_topic_authorized_operations=operations and version >= 8,
        )

    return VersionedRequest(MetadataRequest, build)


def _unanswered(result: object) -> bool:
    """Return whether the request was lost and may be sent again."""
    if isinstance(result, NoResponseError):
        return True
    return isinstance(result, ClientError) and not isinstance(result, BrokerResponseError) and result.retriable


def _failure_or_none(result: object) -> KafkaError | None:
    if isinstance(result, KafkaError):
        return result
    return (
        failure_of(result.response) if isinstance(result, Answer) and hasattr(result.response, "error_code") else None
    )


def _failure(result: object) -> KafkaError:
    return _failure_or_none(result) or KafkaError(Errors.REQUEST_TIMED_OUT, "no answer")


def _is(result: object, error: Errors) -> bool:
    return isinstance(result, KafkaError) and result.error is error
