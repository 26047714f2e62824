"""Runs a `Connection` on a driver: its transport and its timer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kafkapy.clients.client_apis import Api
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.connection import NO_DEADLINE, Connection, ConnectionState
from kafkapy.clients.driver import Driver, SocketOptions, TimerHandle, Transport
from kafkapy.clients.frames import ReceiveBuffer, Receiver
from kafkapy.clients.metadata import Address
from kafkapy.clients.network_metrics import NodeMetrics
from kafkapy.protocol.errors import KafkaError
from kafkapy.runtime.completion import Completion


class Owner(Protocol):
    """Callbacks of a connection to its client."""

    def connection_ready(self, connection: NodeConnection) -> None: ...

    def connection_lost(self, connection: NodeConnection, reason: str, was_ready: bool) -> None: ...


class NodeConnection:
    """One connection of a client to one broker.

    Invariant: whenever control returns to the driver's loop, `connection.out` has been written, and the timer fires no
    later than `connection.deadline_ms`.
    """

    def __init__(
        self,
        owner: Owner,
        driver: Driver,
        config: ClientConfig,
        address: Address,
        *,
        node_id: int = 0,
        connect_timeout_ms: float | None = None,
        receiver: Receiver | None = None,
        metrics: NodeMetrics | None = None,
    ) -> None:
        """`connect_timeout_ms` None: the config's. `receiver` None: a `ReceiveBuffer`."""
        self.node_id = node_id
        self.address = address
        receiver = receiver or ReceiveBuffer(driver.scratch, config.receive_message_max_bytes)
        self.connection = Connection(config, str(address), driver.time, receiver, metrics)
        self.established = self.connection.established
        self.receive_buffer = self.connection.receive_buffer
        self._owner = owner
        self._driver = driver
        self._config = config
        self._connect_timeout_ms = connect_timeout_ms
        self._transport: Transport | None = None
        self._backoff: TimerHandle | None = None
        self._timer: TimerHandle | None = None
        self._work: Completion[bytes] | None = None
        self._due_ms = NO_DEADLINE
        self.established.add_callback(self._ready)

    @property
    def state(self) -> ConnectionState:
        return self.connection.state

    def open(self, delay_ms: float = 0) -> None:
        """Connect, after the back-off."""
        if delay_ms > 0:
            self._backoff = self._driver.call_later(delay_ms, self._connect)
        else:
            self._connect()

    def _connect(self) -> None:
        if self.state is ConnectionState.WAITING:
            self.connection.connecting()
            base = self._config.socket
            timeout = base.connect_timeout_ms if self._connect_timeout_ms is None else self._connect_timeout_ms
            options = SocketOptions(base.send_buffer_bytes, base.receive_buffer_bytes, base.options, timeout, base.tls)
            self._transport = self._driver.connect(self.address.host, self.address.port, self, options)

    def _ready(self, established: Completion[Any]) -> None:
        if established.exception() is None:
            self._owner.connection_ready(self)

    def send(
        self, message: Any, api_key: Api, min_version: int, max_version: int, timeout_ms: float
    ) -> Completion[Any]:
        """See `NetworkClient.send`."""
        connection = self.connection
        completion = connection.send(message, api_key, min_version, max_version, timeout_ms)
        if connection.out:
            out, connection.out = connection.out, []
            self._transport.write(out)  # type: ignore[union-attr]
        if connection.deadline_ms < self._due_ms:
            self._watch()
        return completion

    # --- callbacks of the transport and the timer

    def connected(self) -> None:
        self.connection.connected()
        self._settle()

    def bytes_received(self, count: int) -> None:
        if self.connection.receive(count):
            self._settle()

    def disconnected(self, reason: str) -> None:
        self._lost(reason)

    def _check(self) -> None:
        self._timer = None
        self._due_ms = NO_DEADLINE
        self.connection.check()
        self._settle()

    def _settle(self) -> None:
        """Perform the connection's pending actions: write, start work, close, set the timer."""
        connection = self.connection
        if connection.failure is not None:
            self._lost(connection.reason)
            return
        if connection.out and self._transport is not None:
            out, connection.out = connection.out, []
            self._transport.write(out)
        if connection.deadline_ms < self._due_ms:
            self._watch()
        if connection.work is not None:
            work, connection.work = connection.work, None
            self._work = self._driver.run_in_thread(work)
            self._work.add_callback(self._worked)

    def _worked(self, outcome: Completion[bytes]) -> None:
        self._work = None
        if self.state is not ConnectionState.CLOSED:
            self.connection.work_done(outcome)
            self._settle()

    def _watch(self) -> None:
        """Set the timer to the earliest deadline."""
        if self._timer is not None:
            self._timer.cancel()
        self._due_ms = self.connection.deadline_ms
        delay = max(0.0, self._due_ms - self._driver.time.monotonic_ms())
        self._timer = self._driver.call_later(delay + 1, self._check)

    # --- the end

    def _lost(self, reason: str) -> None:
        was_ready = self.state in (ConnectionState.READY, ConnectionState.AUTHENTICATING)
        if self.state is not ConnectionState.CLOSED:
            fail = self._end()
            self._owner.connection_lost(self, reason, was_ready)
            verb = "ended" if was_ready else "could not be established"
            fail(f"{verb}: {reason}", self.connection.authentication_error)

    def close(self, error: KafkaError | None = None) -> None:
        """Close the connection on this side; unanswered requests fail, with `error` if it is given."""
        if self.state is not ConnectionState.CLOSED:
            self._end()("ended: closed by the client", error)

    def _end(self) -> Callable[[str, KafkaError | None], None]:
        fail = self.connection.close()
        if self._transport is not None:
            self._transport.close()
        for timer in (self._timer, self._backoff):
            if timer is not None:
                timer.cancel()
        if self._work is not None:
            self._work.cancel()
        self._transport = self._timer = None
        return fail
