"""The blocking admin client of the tools."""

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
"""The longest wait of a tool for the first broker to respond; afterwards the operation's time-out applies."""
_NEEDS_NO_TRANSLATION = {"bootstrap.servers", "client.id"}


class AdminClient(TypedMethods):
    """A blocking admin client (after Kafka's `Admin`); a context manager.

    An operation on several keys returns a dict of key -> value or `KafkaError`; `values_of` and `value_of` of
    `results` raise them. Errors of the operation as a whole are raised as `KafkaError`.

    It connects at the first operation. `default_api_timeout_ms`: the time limit of an operation; the other options are
    those of `ClientConfig`.
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
        """Build a client from Kafka's admin client configs, including TLS and SASL.

        Raises `KafkaError(INVALID_CONFIG)` for wrong values and unsupported configs. Configs without effect are
        ignored.
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
    """A client that doesn't log lost connections: the router reports unreachable servers, the operations' errors the
    rest."""

    def tell_of_loss(self, node_id: int, sentence: str, is_first: bool) -> None:
        return


if not TYPE_CHECKING:  # the module of this name has the admin client in kafka-python
    _, __getattr__ = lazy_names("kafkapy.admin", {"kafka_admin_client": "KafkaAdminClient"})
