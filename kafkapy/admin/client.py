"""The admin client of tools: the core's operations for a thread that waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from kafkapy.admin.typed_methods import TypedMethods
from kafkapy.clients.caller_driver import CallerDriver
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.metadata import parse_bootstrap_servers
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.lazy_names import lazy_names

DEFAULT_CLIENT_ID = "adminclient-1"
BOOTSTRAP_TIMEOUT_MS = 15_000
"""A tool's user waits no longer for a broker that is not there; one that answers has the time of the operation."""
_NEEDS_NO_TRANSLATION = {"bootstrap.servers", "client.id"}


class AdminClient(TypedMethods):
    """A blocking admin client (after Kafka's `Admin`); a context manager.

    An operation on many things returns a dict of thing -> value or `KafkaError`; `values_of` and `value_of` of
    `results` raise them. Whatever hits the operation as a whole is raised as `KafkaError`.

    It connects when it is first asked for something. `default_api_timeout_ms`: how long an operation may take; the other
    options are those of `ClientConfig`.
    """

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str],
        *,
        client_id: str = DEFAULT_CLIENT_ID,
        default_api_timeout_ms: int = 60_000,
        **options: Any,
    ) -> None:
        super().__init__()
        addresses = [str(address) for address in parse_bootstrap_servers(bootstrap_servers)]
        options = {"bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS, **options}
        self.config = ClientConfig(addresses, client_id, allow_auto_create_topics=False, **options)
        self.default_api_timeout_ms = default_api_timeout_ms
        self._driver = CallerDriver()
        self._client = _QuietNetworkClient(self._driver, self.config)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """From Kafka's admin client configs, those of TLS and SASL included.

        Raises `KafkaError(INVALID_CONFIG)` for a wrong value, and for what cannot be done here. What has no effect is
        left aside.
        """
        if properties.keys() <= _NEEDS_NO_TRANSLATION:
            return cls(
                properties.get("bootstrap.servers", ""), client_id=properties.get("client.id", DEFAULT_CLIENT_ID)
            )
        from kafkapy.clients.java_properties import ADMIN, arguments_of

        arguments, _ = arguments_of(ADMIN, properties)
        arguments.setdefault("client_id", DEFAULT_CLIENT_ID)
        return cls(arguments.pop("bootstrap_servers", ""), **arguments)

    def _run(self, operation: Callable[[], Any]) -> Any:
        return self._driver.run(operation)

    def close(self) -> None:
        self._driver.act(self._client.close)
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class _QuietNetworkClient(NetworkClient):
    """Which bootstrap servers cannot be reached, the router says; the rest is in the errors of the operations."""

    def tell_of_loss(self, node_id: int, sentence: str, is_first: bool) -> None:
        return


if not TYPE_CHECKING:  # kafka-python has its admin client in a module of this name
    _, __getattr__ = lazy_names("kafkapy.admin", {"kafka_admin_client": "KafkaAdminClient"})
