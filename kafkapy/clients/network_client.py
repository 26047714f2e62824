"""Connections and requests to all brokers of a cluster (Kafka's `NetworkClient`)."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.broker_releases import release_of
from kafkapy.clients.client_apis import api_of
from kafkapy.clients.client_driver import ClientDriver
from kafkapy.clients.client_metadata import COORDINATOR_IDS, ClientMetadata
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.connection import ANY_VERSION, ConnectionState
from kafkapy.clients.driver import Driver, wait_for
from kafkapy.clients.foreign_listeners import ForeignListeners
from kafkapy.clients.metadata import Address, ClusterMetadata, Node
from kafkapy.clients.metadata_updater import MetadataUpdater, exponential
from kafkapy.clients.network_metrics import NetworkMetrics
from kafkapy.clients.node_connection import NodeConnection
from kafkapy.clients.socket_transport import PEER_CLOSED
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    Cancelled,
    IllegalStateError,
    KafkaTimeoutError,
    NoBrokersAvailable,
    NodeNotReadyError,
    NoResponseError,
    as_client_error,
    error_for,
)
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.completion import CancelledError, Completion, first_of, spawn

T = TypeVar("T")

_log = logging.getLogger("kafkapy.clients")

_MAX_IDLE_CHECK_MS = 60_000


class _Backoff:
    """Consecutive failures of one broker, and the end of its back-off."""

    __slots__ = ("failures", "until_ms")

    def __init__(self) -> None:
        self.failures = 0
        self.until_ms = 0.0


class NetworkClient:
    """Connections to brokers, on one driver's thread.

    Invariant: `_connections` has at most one connection for each node id, none of them closed. Bootstrap servers have
    negative ids; a group's coordinator also has the id that `coordinator_node_id` returns.
    """

    def __init__(self, driver: Driver, config: ClientConfig) -> None:
        self.driver = ClientDriver(driver)
        """The driver of all parts of the client; their timers end when the client is closed."""
        self.config = config
        self._updater = MetadataUpdater(self)
        self.metadata = ClientMetadata(self._updater.wanted, config.allow_auto_create_topics)
        self.metadata.listeners.append(self._forget_moved_nodes)
        self.closed = False
        self._may_reopen = True
        self.metrics = NetworkMetrics(config.metrics_num_samples, config.metrics_sample_window_ms)
        self._versions_seen: NodeApiVersions | None = None
        self._bootstrap = {
            -1 - index: Node(-1 - index, address.host, address.port) for index, address in enumerate(config.bootstrap)
        }
        self._connections: dict[int, NodeConnection] = {}
        self._backoffs: dict[int, _Backoff] = {}
        self._authentication_errors: dict[int, KafkaError] = {}
        self._last_failure = ""
        self._foreign = ForeignListeners(self.driver, config.bootstrap, config.socket.tls is not None)
        self._check_idle_later()

    # --- one broker

    def send(
        self,
        node_id: int,
        request: Any,
        *,
        timeout_ms: float | None = None,
        min_version: int = 0,
        max_version: int = ANY_VERSION,
    ) -> Completion[Any]:
        """Send `request`, a message or an object with `API_KEY` and `build(version) -> message`; return its response's
        completion.

        Connects first if necessary, after the back-off. `timeout_ms` None: request_timeout_ms. Completes with None
        for a Produce with acks=0. Fails with KafkaTimeoutError, KafkaConnectionError (DisconnectError if the request may
        have reached the broker), NodeNotReadyError (the node is not in the metadata), IncompatibleBrokerVersion, or
        the authentication's error.
        """
        connection = self._connections.get(node_id)
        if connection is None:
            try:
                connection = self._open(node_id)
            except KafkaError as error:
                return Completion.failed(error)
        timeout = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        return connection.send(request, api_of(request.API_KEY), min_version, max_version, timeout)

    def is_ready(self, node_id: int) -> bool:
        """Return whether a request would be sent immediately. False also while too many are in flight or the broker
        throttles."""
        connection = self._connections.get(node_id)
        return connection is not None and connection.connection.can_send

    def ready(self, node_id: int) -> bool:
        """Return `is_ready`; connect if there is no connection and no back-off."""
        if node_id not in self._connections and self.connection_delay_ms(node_id) <= 0:
            try:
                self._open(node_id)
            except KafkaError:
                return False
        return self.is_ready(node_id)

    def connection_delay_ms(self, node_id: int) -> float:
        """Return the rest of the broker's back-off in ms; 0 if there is none."""
        backoff = self._backoffs.get(node_id)
        return 0 if backoff is None else max(0.0, backoff.until_ms - self.driver.time.monotonic_ms())

    def versions_of(self, node_id: int) -> NodeApiVersions | None:
        """Return the broker's versions; None before its handshake."""
        connection = self._connections.get(node_id)
        return None if connection is None else connection.connection.versions

    def broker_release(self) -> tuple[int, ...] | None:
        """Return the brokers' release, guessed from their versions, or the option `api_version`; None before any
        handshake."""
        known = self.config.pinned_versions or self._versions_seen
        for node_id in self._connections:
            known = known or self.versions_of(node_id)
        return None if known is None else release_of(known)

    def connect(self, node_id: int) -> Completion[NodeApiVersions]:
        """Connect if necessary; return the completion of the broker's versions. Fails like `send`."""
        connection = self._connections.get(node_id)
        if connection is None:
            try:
                connection = self._open(node_id)
            except KafkaError as error:
                return Completion.failed(error)
        return connection.established

    def authentication_error(self, node_id: int) -> KafkaError | None:
        """Return the error with which the broker refused the last handshake."""
        return self._authentication_errors.get(node_id)

    def disconnect(self, node_id: int) -> None:
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            self._versions_seen = connection.connection.versions or self._versions_seen
            connection.close()

    def bootstrap_connected(self) -> bool:
        """Return whether there is a connection to any broker."""
        return any(connection.state is ConnectionState.READY for connection in self._connections.values())

    def why_hopeless(self) -> str:
        """Describe the bootstrap servers if none of them is a usable Kafka listener; else return ""."""
        return "; ".join(self._foreign.sentences.values()) if self._foreign.hopeless.done else ""

    def _silent(self) -> list[str]:
        """Describe the brokers that have accepted a connection and don't answer the handshake."""
        silent = {node.address for node in self._connections.values() if node.connection.is_unanswered}
        return [f"{address} has taken the connection and does not answer" for address in sorted(silent)]

    def why_unreachable(self) -> str:
        """Describe the end of the last connection if no broker is connected; else return ""."""
        return "" if self.bootstrap_connected() else self._last_failure

    def _open(self, node_id: int) -> NodeConnection:
        if self.closed:
            raise IllegalStateError("The client is closed")
        node = self._bootstrap.get(node_id) if node_id < 0 else self.metadata.node(node_id)
        if node is None:
            raise NodeNotReadyError(f"There is no live broker with id {_true_id(node_id)}")
        connection = NodeConnection(
            self,
            self.driver,
            self.config,
            Address(node.host, node.port),
            node_id=node_id,
            connect_timeout_ms=self._connect_timeout_ms(node_id),
            metrics=self.metrics.of_node(_true_id(node_id)),
        )
        self._connections[node_id] = connection
        connection.open(self.connection_delay_ms(node_id))
        return connection

    def _connect_timeout_ms(self, node_id: int) -> float:
        backoff = self._backoffs.get(node_id)
        first, most = self.config.socket_connection_setup_timeout_ms, self.config.socket_connection_setup_timeout_max_ms
        return exponential(first, max(first, most), backoff.failures if backoff is not None else 0)

    def connection_ready(self, connection: NodeConnection) -> None:
        self.metrics.created.record(1, self.driver.time.monotonic_ms())
        self._backoffs.pop(connection.node_id, None)
        self._authentication_errors.pop(connection.node_id, None)

    def connection_lost(self, connection: NodeConnection, reason: str, was_ready: bool) -> None:
        node_id = connection.node_id
        if self._connections.get(node_id) is connection:
            del self._connections[node_id]
        backoff = self._backoffs.setdefault(node_id, _Backoff())
        delay = exponential(self.config.reconnect_backoff_ms, self.config.reconnect_backoff_max_ms, backoff.failures)
        backoff.failures += 1
        backoff.until_ms = self.driver.time.monotonic_ms() + delay
        if connection.connection.authentication_error is not None:
            self._authentication_errors[node_id] = connection.connection.authentication_error
        if not was_ready and not self.closed:
            self._foreign.connection_failed(connection.address, connection.connection.failure, reason)
        if was_ready:
            self.metrics.closed.record(1, self.driver.time.monotonic_ms())
        verb = "ended" if was_ready else "could not be established"
        self._last_failure = f"The connection to {connection.address} {verb}: {reason}"
        self.tell_of_loss(node_id, self._last_failure, not was_ready and backoff.failures == 1)
        if self.metadata.version and not self.closed:
            self.metadata.request_update()

    def tell_of_loss(self, node_id: int, sentence: str, is_first: bool) -> None:
        """Log a lost connection. `is_first`: this was the first attempt to reach the broker."""
        _log.log(logging.WARNING if is_first else logging.INFO, "Broker %s: %s", _true_id(node_id), sentence)

    # --- any broker

    def least_loaded_node(self) -> Completion[int]:
        """Return an available broker, preferably a connected one with few requests in flight.

        If all have failed recently, it waits for the shortest back-off.
        """
        return spawn(self._least_loaded_node())

    async def _least_loaded_node(self) -> int:
        while not self.closed:
            best, delay = self._best_node()
            if best is not None:
                return best
            await self.driver.sleep(max(1.0, delay))
        raise IllegalStateError("The client is closed")

    def _best_node(self) -> tuple[int | None, float]:
        """Return the node, or None and the ms until one may be available."""
        known = list(self.metadata.cluster.nodes)
        random.shuffle(known)
        usable = [node_id for node_id in known if self.connection_delay_ms(node_id) <= 0]
        if not usable:  # before the first response, and when all known brokers have failed (KIP-899)
            usable = [node_id for node_id in self._bootstrap if self.connection_delay_ms(node_id) <= 0]
            random.shuffle(usable)
        if not usable:
            return None, min(self.connection_delay_ms(node_id) for node_id in (*known, *self._bootstrap))
        return min(usable, key=self._load), 0.0

    def _load(self, node_id: int) -> tuple[int, int, float]:
        """Return the sort key of a node: recently failed nodes come last, so that all others are tried before one is
        tried again."""
        connection = self._connections.get(node_id)
        backoff = self._backoffs.get(node_id)
        failed_ms = backoff.until_ms if backoff is not None else 0
        if connection is None:
            return 1, 0, failed_ms
        return (0 if connection.state is ConnectionState.READY else 1), connection.connection.pending, failed_ms

    def metadata_age_seconds(self) -> float:
        return self._updater.age_ms / 1000

    def figures(self) -> dict[str, float]:
        """Return the metrics of all brokers from `NetworkMetrics`. Thread-safe."""
        connections = [each.connection for each in list(self._connections.values())]
        ready = sum(connection.state is ConnectionState.READY for connection in connections)
        in_flight = sum(connection.pending for connection in connections)
        return self.metrics.figures(self.driver.time.monotonic_ms(), ready, in_flight)

    # --- metadata

    def drop_bootstrap_connections(self) -> None:
        for node_id in [node_id for node_id in self._connections if node_id < 0]:
            if not self._connections[node_id].connection.pending:
                self.disconnect(node_id)

    def adopt_bootstrap_connections(self) -> None:
        """Keep the connections of bootstrap servers that the metadata has identified as brokers."""
        for node in self.metadata.cluster.nodes.values():
            for node_id in self._bootstrap:
                connection = self._connections.get(node_id)
                at_home = connection is not None and connection.address == (node.host, node.port)
                if connection is not None and at_home and node.id not in self._connections:
                    self._connections[node.id] = self._connections.pop(node_id)
                    self.metrics.adopt(node.id, node_id)
                    connection.node_id = node.id

    def _forget_moved_nodes(self, cluster: ClusterMetadata) -> None:
        """Close connections to brokers whose address has changed."""
        for node_id, connection in list(self._connections.items()):
            node = self.metadata.node(node_id) if node_id >= 0 else None
            if node is not None and (node.host, node.port) != connection.address:
                self._backoffs.pop(node_id, None)
                self.disconnect(node_id)

    # --- idle connections

    def _check_idle_later(self) -> None:
        idle = self.config.connections_max_idle_ms
        if idle is not None and idle >= 0:
            self.driver.call_later(max(1, min(idle, _MAX_IDLE_CHECK_MS)), self._close_idle)

    def _close_idle(self) -> None:
        since = self.driver.time.monotonic_ms() - self.config.connections_max_idle_ms
        for node_id, node_connection in list(self._connections.items()):
            connection = node_connection.connection
            if (
                connection.state is ConnectionState.READY
                and not connection.pending
                and connection.last_used_ms <= since
            ):
                self.disconnect(node_id)
        self._check_idle_later()

    # --- with retries

    async def start(self, timeout_ms: float | None = None) -> None:
        """Run `bootstrap`; if it fails or is cancelled, close everything, so that `start` may be called again."""
        self.reopen()
        try:
            await self.bootstrap(timeout_ms)
        except BaseException:
            self.suspend()
            raise

    async def bootstrap(self, timeout_ms: float | None = None) -> None:
        """Wait for the first metadata.

        Raises NoBrokersAvailable (a KafkaTimeoutError; immediately if no bootstrap server is a usable Kafka listener),
        or the error with which the brokers refuse the client.
        """
        timeout = self.config.bootstrap_timeout_ms if timeout_ms is None else timeout_ms
        news, foreign = self.metadata.request_update(), self._foreign
        try:
            await wait_for(self.driver, first_of(news, foreign.hopeless), timeout)
        except KafkaTimeoutError:
            pass
        if news.done:
            news.result()
            return
        servers = ",".join(map(str, self.config.bootstrap))
        told = "; ".join(foreign.sentences.values()) or self._last_failure or "; ".join(self._silent())
        has_sasl = self.config.security_protocol.startswith("SASL")
        if told == self._last_failure and told.endswith(f"ended: {PEER_CLOSED}") and not has_sasl:
            # A listener with SASL closes connections that send other requests first.
            told += "; if the listener asks for SASL, set security_protocol to SASL_SSL or SASL_PLAINTEXT"
        within_ms = "" if foreign.hopeless.done else f" within {timeout:g} ms"
        raise NoBrokersAvailable(f"Unable to bootstrap from {servers}{within_ms}{told and f': {told}'}")

    async def retry(self, name: str, attempt: Callable[[], Awaitable[T]], timeout_ms: float | None = None) -> T:
        """Repeat `attempt` while it raises retriable errors, and update the metadata if the error requires it; return
        its result.

        Raises the first error that isn't retriable; KafkaTimeoutError with the last one's text after `timeout_ms`
        (None: request_timeout_ms).
        """
        timeout = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self.driver.time.monotonic_ms() + timeout
        attempts = 0
        while True:
            try:
                return await within(self.driver, attempt, deadline - self.driver.time.monotonic_ms())
            except KafkaError as error:
                failure = as_client_error(error)
            if not failure.retriable:
                raise failure
            delay = exponential(self.config.retry_backoff_ms, self.config.retry_backoff_max_ms, attempts)
            attempts += 1
            if self.driver.time.monotonic_ms() + delay >= deadline:
                last = self.why_unreachable() or failure
                raise NoResponseError(f"{name} timed out after {timeout:g} ms. Its last failure: {last}")
            if failure.invalid_metadata or failure.error is Errors.NOT_CONTROLLER:
                self.metadata.request_update()
            await self.driver.sleep(delay)

    async def any_broker(self, request: Any, *, timeout_ms: float | None = None, **versions: int) -> Any:
        """Send a request to any broker, with retries; return the response."""

        async def attempt() -> Any:
            return await self.send(await self.least_loaded_node(), request, **versions)

        return await self.retry(_name(request), attempt, timeout_ms)

    async def controller(self, request: Any, *, timeout_ms: float | None = None, **versions: int) -> Any:
        """Send a request to the active controller, with retries, also after a top-level NOT_CONTROLLER; return the
        response."""

        async def attempt() -> Any:
            response = await self.send(await self.controller_id(), request, **versions)
            if getattr(response, "error_code", 0) == Errors.NOT_CONTROLLER.code:
                raise error_for(Errors.NOT_CONTROLLER)
            return response

        return await self.retry(_name(request), attempt, timeout_ms)

    async def controller_id(self) -> int:
        """Return the controller's broker id, requesting metadata if necessary. Raises NodeNotReadyError if there is no
        controller."""
        cluster = self.metadata.cluster
        if cluster.controller is None or self.metadata.update_wanted:
            cluster = await self.metadata.request_update()
        if cluster.controller is None:
            raise NodeNotReadyError("The cluster has no active controller at present")
        return cluster.controller_id

    async def leader_of(self, partition: TopicPartition, *, timeout_ms: float | None = None) -> int:
        """Return the id of a partition's leader, with retries while there is none. The topic is added to the needed
        ones."""

        async def attempt() -> int:
            news = self.metadata.add_topics((partition.topic,))
            if news is not None:
                await news
            leader = self.metadata.leader_or_error(partition)
            if isinstance(leader, KafkaError):
                raise leader
            return leader

        return await self.retry("metadata", attempt, timeout_ms)

    # --- the end

    def reopen(self) -> None:
        """Undo `suspend`. Raises IllegalStateError after `close`."""
        if not self._may_reopen:
            raise IllegalStateError("The client is closed")
        if self.closed:
            self.closed = False
            self.driver.open()
            self._check_idle_later()

    def close(self) -> None:
        """Suspend the client permanently."""
        self._may_reopen = False
        self.suspend()

    def suspend(self) -> None:
        """Close all connections and cancel all timers; unanswered requests and sleeps fail with `Cancelled`."""
        if self.closed:
            return
        self.closed = True
        for connection in list(self._connections.values()):
            connection.close(Cancelled("The client was closed"))
        self._connections.clear()
        wanted = self.metadata.take_wanted()
        if wanted is not None:
            wanted.set_exception(Cancelled("The client was closed"))
        self._updater.close()
        self._foreign.close()
        self.driver.close()


async def within(driver: Driver, attempt: Callable[[], Awaitable[T]], timeout_ms: float) -> T:
    """Run one attempt; cancel it after `timeout_ms`."""

    async def run() -> T:
        return await attempt()

    task = spawn(run())
    try:
        return await wait_for(driver, task, timeout_ms)
    except (KafkaTimeoutError, CancelledError):
        task.cancel()
        raise


def _true_id(node_id: int) -> int:
    return COORDINATOR_IDS - node_id if node_id > COORDINATOR_IDS // 2 else node_id


def _name(request: Any) -> str:
    return api_of(request.API_KEY).title
