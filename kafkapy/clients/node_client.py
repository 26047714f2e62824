"""A client of one broker: followers use it for their leaders, brokers for the controller, the controller for
brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.client_apis import api_of
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.connection import ANY_VERSION, ConnectionState
from kafkapy.clients.driver import Driver
from kafkapy.clients.frames import Receiver
from kafkapy.clients.metadata import Address
from kafkapy.clients.node_connection import NodeConnection
from kafkapy.errors import KafkaConnectionError
from kafkapy.runtime.completion import Completion


class NodeClient:
    """Connects when there is a request to send, and again after the connection was lost.

    Invariant: `_connection` is open or opening, or None; each completion that was returned ends.
    """

    def __init__(
        self,
        driver: Driver,
        config: ClientConfig,
        address: Callable[[], Address | None],
        new_receiver: Callable[[], Receiver] | None = None,
    ) -> None:
        """`address()` returns the broker's current address; None if it is unknown. `new_receiver`: see `NodeConnection`."""
        self.driver = driver
        self.config = config
        self.last_loss: tuple[NodeConnection, str, bool] | None = None
        """The connection that was lost last, the reason, and whether its handshake was done."""
        self._address = address
        self._new_receiver = new_receiver
        self._connection: NodeConnection | None = None

    @property
    def connected(self) -> bool:
        connection = self._connection
        return connection is not None and connection.state in (ConnectionState.READY, ConnectionState.AUTHENTICATING)

    def connect(self) -> Completion[NodeApiVersions]:
        """Connect if necessary; return the completion of the broker's versions."""
        connection = self._open()
        return connection.established if connection is not None else Completion.failed(_unknown())

    def call(
        self, request: Any, max_version: int = ANY_VERSION, *, min_version: int = 0, timeout_ms: float | None = None
    ) -> Completion[Any]:
        """Send `request` (see `NetworkClient.send`) in the highest common version up to `max_version`.

        The completion of its response ends with a `KafkaError` after `timeout_ms` (None: request_timeout_ms).
        """
        connection = self._open()
        if connection is None:
            return Completion.failed(_unknown())
        timeout = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        return connection.send(request, api_of(request.API_KEY), min_version, max_version, timeout)

    def close(self) -> None:
        """Close the connection and fail unanswered requests. The next `call` connects again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> NodeConnection | None:
        connection = self._connection
        if connection is None:
            address = self._address()
            if address is None:
                return None
            receiver = self._new_receiver() if self._new_receiver is not None else None
            connection = self._connection = NodeConnection(self, self.driver, self.config, address, receiver=receiver)
            connection.open()
        return connection

    # --- callbacks of the connection

    def connection_ready(self, connection: NodeConnection) -> None:
        """Do nothing: the connection itself sends the request that opened it."""

    def connection_lost(self, connection: NodeConnection, reason: str, was_ready: bool) -> None:
        self.last_loss = connection, reason, was_ready
        if self._connection is connection:
            self._connection = None


def _unknown() -> KafkaConnectionError:
    return KafkaConnectionError("The address of the broker is not known")
