"""A blocking client of one broker: a `NodeClient` whose loop runs on the caller's thread."""

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
    """Sends requests to one broker and waits for the responses.

    Not thread-safe, except `close`, which any thread may call to end a wait.
    It connects on the first call, and again on the first call after a failure. Every failure of the connection is a
    `KafkaError` whose message names host and port: NETWORK_EXCEPTION (refused, reset,
    closed, unknown host), REQUEST_TIMED_OUT (no answer in time), UNKNOWN_SERVER_ERROR (not Kafka's protocol),
    UNSUPPORTED_VERSION, or the error with which the broker rejects the client.
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
        """Args:
        config: Time-outs and security; its bootstrap servers are ignored.
        negotiate: False: every call passes its version, and ApiVersions is sent only if SASL needs it (between
            brokers)."""
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
        """Return the versions that the broker serves; requested once for each connection."""
        versions: NodeApiVersions = self._run(lambda client: client.connect())
        return versions

    def call(self, request: Any, version: int | None = None, timeout_ms: int | None = None) -> Any:
        """Send a request message and wait for its response message (None for a Produce with acks=0).

        `version` None: the highest common version; a number: exactly that one. `timeout_ms` None: the config's
        request_timeout_ms; the time begins when the connection is ready.
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
            self._drop(client)  # unread bytes would be taken for the response to the next request
            raise

    def _drop(self, client: NodeClient) -> None:
        if self._client is client:  # else another thread has closed it
            self.close()

    def _error_of(self, client: NodeClient) -> KafkaError:
        """Return an error whose message says what ended the connection."""
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
