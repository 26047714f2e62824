"""A connection to another broker on the reactor: followers to their leaders, brokers to their controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.clients.api_versions import api_key_of
from kafkapy.clients.broker_connection import BrokerConnection, State
from kafkapy.clients.completion import Completion
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.driver import Driver
from kafkapy.errors import KafkaConnectionError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message

_SCRATCH_BYTES = 1 << 18
_scratch = memoryview(bytearray(_SCRATCH_BYTES))
"""Where answers are received; shared, as everything here runs on the reactor thread."""


class Address(NamedTuple):
    host: str
    port: int


class VersionedRequest:
    """A request whose fields depend on its version, which is known only when the other broker has said what it serves."""

    def __init__(self, api_key: ApiKey, build: Callable[[int], Message]) -> None:
        self.api_key = api_key
        self.build = build


class InterBrokerClient:
    """Makes its connection when there is something to send, and again after it was lost.

    Invariant: `_connection` is open or opening; each completion that `call` gave away ends.
    """

    def __init__(self, driver: Driver, config: ClientConfig, address: Callable[[], Address | None]) -> None:
        """`address()` tells where the other broker listens now; None if nobody knows."""
        self.driver = driver
        self.config = config
        self.scratch = _scratch
        self._address = address
        self._connection: BrokerConnection | None = None

    def call(self, request: Any, version: int) -> Completion[Any]:
        """The response to a message or `VersionedRequest`, of `version` at most; ends with a `KafkaError` if none comes."""
        connection = self._connection
        if connection is None or connection.state is State.CLOSED:
            address = self._address()
            if address is None:
                return Completion.failed(KafkaConnectionError("The address of the broker is not known"))
            timeout = self.config.socket_connection_setup_timeout_ms
            connection = self._connection = BrokerConnection(self, 0, address.host, address.port, timeout)
            connection.open(0)
        api_key = request.api_key if isinstance(request, VersionedRequest) else api_key_of(request)
        return connection.send(request, api_key, 0, version, self.config.request_timeout_ms)

    def close(self) -> None:
        """Whatever is not answered fails. The next `call` connects anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- what the connection tells

    def connection_ready(self, connection: BrokerConnection) -> None:
        """The request that made it connect is sent by it."""

    def connection_lost(self, connection: BrokerConnection, reason: str, was_ready: bool) -> None:
        if self._connection is connection:
            self._connection = None
