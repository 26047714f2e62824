"""One broker for a caller that asks and waits, on whichever thread: a `NodeClient` whose loop the caller turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.clients.api_versions import OWN_VERSIONS, NodeApiVersions
from kafkapy.clients.caller_driver import CallerDriver
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.connection import ANY_VERSION
from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient
from kafkapy.clients.socket_transport import PEER_CLOSED
from kafkapy.common.time import Time
from kafkapy.errors import IllegalStateError, KafkaConnectionError
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.completion import Completion


class BlockingClient:
    """Calls one broker and waits for the answer.

    Not thread-safe, but for `close`, which any thread may call to end a wait.
    It connects on the first call and connects again on the first call after a failure. Whatever happens to the
    connection comes out as a `KafkaError` whose sentence names host and port: NETWORK_EXCEPTION (refused, reset,
    closed, unknown host), REQUEST_TIMED_OUT (no answer in time), UNKNOWN_SERVER_ERROR (not Kafka's protocol),
    UNSUPPORTED_VERSION, or what the broker refuses the client with.
    """

    def __init__(
        self,
        host: str,
        port: int,
        config: ClientConfig | None = None,
        *,
        negotiate: bool = True,
        time: Time | None = None,
    ) -> None:
        """`config`: its time-outs and security count, its bootstrap servers don't. `negotiate` False: every call gives its
        version, and the broker isn't asked for those it serves, unless SASL needs to know (brokers among themselves)."""
        self.address = Address(host, port)
        self._config = config or ClientConfig()
        if not negotiate and self._config.security.sasl_mechanism is None:
            self._config = self._config.but()
            self._config.pinned_versions = OWN_VERSIONS
        self._time = time
        self._driver: CallerDriver | None = None
        self._client: NodeClient | None = None

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BlockingClient {self.address} {'connected' if self.connected else 'closed'}>"

    @property
    def connected(self) -> bool:
        client = self._client
        return client is not None and client.connected

    def connect(self) -> None:
        """Open the connection if there is none. Raises `KafkaError`."""
        self.versions()

    def versions(self) -> NodeApiVersions:
        """What the broker serves; asked once for each connection."""
        versions: NodeApiVersions = self._run(lambda client: client.connect())
        return versions

    def call(self, request: Any, version: int | None = None, timeout_ms: int | None = None) -> Any:
        """Send a request message and wait for its response message (None for a Produce with acks=0).

        `version` None: the highest version that both sides know. A number: exactly that one. `timeout_ms` None: the
        config's request_timeout_ms; it begins once there is a connection.
        """
        self.versions()
        lowest, highest = (0, ANY_VERSION) if version is None else (version, version)
        return self._run(lambda client: client.call(request, highest, min_version=lowest, timeout_ms=timeout_ms))

    def close(self) -> None:
        """Close the connection; a call that waits in another thread ends with NETWORK_EXCEPTION."""
        driver, client = self._driver, self._client
        self._driver = self._client = None
        if driver is not None and client is not None:
            driver.act(client.close)
            driver.close()

    def _run(self, ask: Callable[[NodeClient], Completion[Any]]) -> Any:
        if self._driver is None or self._client is None:
            self._driver = CallerDriver(self._time)
            self._client = NodeClient(self._driver, self._config, lambda: self.address)
        driver, client = self._driver, self._client
        try:
            return driver.run(lambda: ask(client))
        except (KafkaConnectionError, IllegalStateError) as error:
            self._drop(client)
            raise self._error_of(client) from error
        except KafkaError:
            if not client.connected:
                self._drop(client)
            raise
        except BaseException:
            self._drop(client)  # what was not read yet would be taken for the answer to the next request
            raise

    def _drop(self, client: NodeClient) -> None:
        if self._client is client:  # else another thread has closed it
            self.close()

    def _error_of(self, client: NodeClient) -> KafkaError:
        """What ended the connection, as a sentence."""
        what = "was disconnected before the response was received"
        if client.last_loss is not None:
            lost, reason, was_ready = client.last_loss
            failure = lost.connection.failure
            if failure is not None and not isinstance(failure, KafkaConnectionError):
                return failure
            if not was_ready:
                what = f"could not be established: {reason}"
            elif reason != PEER_CLOSED:
                what = f"was disconnected: {reason}"
        return KafkaError(Errors.NETWORK_EXCEPTION, f"Connection to {self.address} {what}")
