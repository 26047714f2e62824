"""Requests to the right broker of a cluster, again and again until they succeed or their time is up.

The shell below the admin operations: it keeps the connections, knows how to reach any broker, the controller, a
partition's leader and a group's coordinator, and repeats what may be repeated (after Kafka's `KafkaAdminClient.Call`
and `AdminApiDriver`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.clients.metadata import Address, ClusterMetadata, Node, parse_bootstrap_servers
from kafkapy.common.time import SystemTime, Time
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.metadata import MetadataRequest

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

Results = dict[K, V | KafkaError]
"""What became of each key of an operation on many: its value, or the error that is final for it."""

_log = logging.getLogger("kafkapy.admin")


class ClusterClient:
    """One blocking connection to each broker that was needed so far. Not thread-safe.

    Times in ms, names and defaults as in Kafka's admin client config. Everything is raised as `KafkaError`.
    """

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str],
        *,
        client_id: str = "adminclient-1",
        request_timeout_ms: int = 30_000,
        default_api_timeout_ms: int = 60_000,
        retry_backoff_ms: int = 100,
        retry_backoff_max_ms: int = 1_000,
        socket_connection_setup_timeout_ms: int = 10_000,
        time: Time | None = None,
    ) -> None:
        self.bootstrap = parse_bootstrap_servers(bootstrap_servers)
        self.client_id = client_id
        self.request_timeout_ms = request_timeout_ms
        self.default_api_timeout_ms = default_api_timeout_ms
        self.retry_backoff_ms = retry_backoff_ms
        self.retry_backoff_max_ms = retry_backoff_max_ms
        self.connect_timeout_ms = socket_connection_setup_timeout_ms
        self.cluster = ClusterMetadata()
        self._time: Time = time or SystemTime()
        self._clients: dict[Address, BlockingClient] = {}
        self._deadline: int | None = None
        self._unreachable: set[Address] = set()
        """Told of already: one warning for each address is enough."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    # --- where to

    def any_node(self) -> BlockingClient:
        """A broker that can be reached: one that is connected, else one of the cluster, else a bootstrap server."""
        for client in self._clients.values():
            if client.connected:
                return client
        addresses = [Address(node.host, node.port) for node in self.cluster.nodes.values()]
        for address in dict.fromkeys(addresses + self.bootstrap):
            client = self._client(address)
            try:
                client.connect()
                return client
            except KafkaError as error:
                if address not in self._unreachable:
                    self._unreachable.add(address)
                    _log.warning("%s. Trying on.", error.message)
        tried = ",".join(map(str, self.bootstrap))
        raise KafkaError(Errors.NETWORK_EXCEPTION, f"None of the bootstrap servers could be reached: {tried}")

    def node(self, node_id: int) -> BlockingClient:
        """The broker with this id. Raises BROKER_NOT_AVAILABLE if the cluster has none, after asking it again."""
        if node_id not in self.cluster.nodes:
            self.refresh(())
        node = self.cluster.nodes.get(node_id)
        if node is None:
            raise KafkaError(Errors.BROKER_NOT_AVAILABLE, f"There is no live broker with id {node_id}")
        return self.client_of(node)

    def client_of(self, node: Node) -> BlockingClient:
        return self._client(Address(node.host, node.port))

    def controller(self) -> BlockingClient:
        """The active controller; COORDINATOR_NOT_AVAILABLE stands for "there is none at present" and is retriable."""
        if self.cluster.controller is None:
            self.refresh(())
        controller = self.cluster.controller
        if controller is None:
            raise KafkaError(Errors.COORDINATOR_NOT_AVAILABLE, "The cluster has no active controller at present")
        return self.client_of(controller)

    def forget_controller(self) -> None:
        """The next call of `controller` asks the cluster again."""
        self.cluster = ClusterMetadata(self.cluster.cluster_id, nodes=self.cluster.nodes)

    def _client(self, address: Address) -> BlockingClient:
        client = self._clients.get(address)
        if client is None:
            client = self._clients[address] = BlockingClient(
                *address,
                self.client_id,
                request_timeout_ms=self.request_timeout_ms,
                connect_timeout_ms=self.connect_timeout_ms,
                time=self._time,
            )
        return client

    # --- calls

    def call(self, client: BlockingClient, request: Any, version: int | None = None) -> Any:
        """One request, once, within what is left of the operation's time."""
        return client.call(request, version, self._remaining_ms())

    @property
    def server_timeout_ms(self) -> int:
        """How long a broker may work on a request before it answers REQUEST_TIMED_OUT: less than we wait for it."""
        timeout = self._remaining_ms()
        return timeout - min(1_000, timeout // 2)

    def _remaining_ms(self) -> int:
        if self._deadline is None:
            return self.request_timeout_ms
        return max(1, min(self.request_timeout_ms, self._deadline - self._time.monotonic_ms()))

    def refresh(self, topics: Iterable[str] | None) -> ClusterMetadata:
        """Ask any broker for metadata of these topics (None: all) and remember it."""
        wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        client = self.any_node()
        if wanted is None and client.versions().latest_usable(ApiKey.METADATA) == 0:
            wanted = []  # version 0 has no null: an empty list means all topics there
        response = self.call(client, MetadataRequest(topics=wanted, allow_auto_topic_creation=False))
        self.cluster = ClusterMetadata.of(response)
        return self.cluster

    def retry(self, name: str, attempt: Callable[[], T], timeout_ms: int | None = None) -> T:
        """The result of `attempt`, which is repeated while it raises a retriable error.

        Raises the first error that is not, or REQUEST_TIMED_OUT with the last one's text when `timeout_ms`
        (`default_api_timeout_ms`) is over.
        """
        results = self.retry_each(name, [name], lambda _: {name: attempt()}, timeout_ms)
        return value_of(results[name])

    def retry_each(
        self,
        name: str,
        keys: Iterable[K],
        attempt: Callable[[list[K]], Mapping[K, V | KafkaError]],
        timeout_ms: int | None = None,
        retriable: Callable[[Errors], bool] = lambda error: error.retriable,
    ) -> Results[K, V]:
        """Run `attempt(keys)` and repeat it for the keys that ended with a retriable error, as long as there is time.

        An error that `attempt` raises counts for all keys it was asked for; one that may not be repeated is raised.
        """
        timeout = self.default_api_timeout_ms if timeout_ms is None else timeout_ms
        results: Results[K, V] = {}
        left = list(dict.fromkeys(keys))
        backoff = self.retry_backoff_ms
        outer, self._deadline = self._deadline, self._time.monotonic_ms() + timeout
        try:
            while left:
                outcome: Mapping[K, V | KafkaError]
                try:
                    outcome = attempt(left)
                    results.update(outcome)
                    left = [key for key in left if _may_repeat(outcome[key], retriable)]
                except KafkaError as error:
                    if not error.error.retriable:
                        raise
                    self.forget_controller()  # it may have gone; another one is looked for
                    outcome = dict.fromkeys(left, error)
                if left and self._time.monotonic_ms() + backoff >= self._deadline:
                    results.update({key: _timed_out(name, timeout, outcome[key]) for key in left})
                    break
                if left:
                    self._time.sleep(backoff / 1000)
                    backoff = min(backoff * 2, self.retry_backoff_max_ms)
        finally:
            self._deadline = outer
        return results


def value_of(result: V | KafkaError) -> V:
    """The value of one key; raises its error."""
    if isinstance(result, KafkaError):
        raise result
    return result


def values_of(results: Mapping[K, V | KafkaError]) -> dict[K, V]:
    """All values; raises the first error there is (Kafka's `all().get()`)."""
    return {key: value_of(result) for key, result in results.items()}


def error_of(code: int, message: str | None = None) -> KafkaError | None:
    """The error that a response's fields stand for, None for success."""
    return None if code == 0 else KafkaError(Errors.for_code(code), message or None)


def nodes_by_id(cluster: ClusterMetadata) -> list[Node]:
    return sorted(cluster.nodes.values())


def _may_repeat(result: object, retriable: Callable[[Errors], bool]) -> bool:
    return isinstance(result, KafkaError) and (retriable(result.error) or result.error is Errors.NETWORK_EXCEPTION)


def _timed_out(name: str, timeout_ms: int, last: object) -> KafkaError:
    reason = last.message if isinstance(last, KafkaError) else "no answer"
    return KafkaError(
        Errors.REQUEST_TIMED_OUT, f"Call {name} timed out after {timeout_ms} ms. Its last failure: {reason}"
    )
