"""The options that all clients share, with kafka-python's names."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, dataclass_transform

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.broker_releases import parse_release, versions_of_release
from kafkapy.clients.driver import SocketOptions
from kafkapy.clients.metadata import Address, parse_bootstrap_servers
from kafkapy.clients.option_table import check_ranges, check_types
from kafkapy.clients.security import Security
from kafkapy.errors import KafkaConfigurationError
from kafkapy.protocol.errors import KafkaError

if TYPE_CHECKING:
    import ssl

DEFAULT_BROKER_PORT = 9092


@dataclass_transform()
class _Options:
    """Accepts its class's annotated attributes as arguments, like a dataclass. (Importing `dataclasses` would delay
    each tool's start.)"""

    def __init__(self, *values: Any, **options: Any) -> None:
        defaults = self.defaults()
        options.update(zip(defaults, values, strict=False))
        if unknown := options.keys() - defaults.keys():
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        vars(self).update(defaults, **options)
        self.__post_init__()

    def but(self, **changes: Any) -> Self:
        """Return a copy with some options changed."""
        return type(self)(**{name: getattr(self, name) for name in self.defaults()} | changes)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return option -> default."""
        classes = [vars(base) for base in reversed(cls.__mro__)]
        return {name: base[name] for base in classes for name in base.get("__annotations__", ())}

    @classmethod
    def types(cls) -> dict[str, str]:
        """Return option -> its annotation."""
        classes = [vars(base) for base in reversed(cls.__mro__)]
        return {name: text for base in classes for name, text in base.get("__annotations__", {}).items()}

    def __post_init__(self) -> None:
        """Validate the options and compute derived attributes."""


class ClientConfig(_Options):
    """The options of a `NetworkClient`. Times in ms, sizes in bytes.

    Raises KafkaConfigurationError, which names the option.
    """

    bootstrap_servers: str | Iterable[str] = "localhost:9092"
    client_id: str = "kafkapy"
    request_timeout_ms: int = 30_000
    connections_max_idle_ms: int = 540_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    max_in_flight_requests_per_connection: int = 5
    receive_message_max_bytes: int = 100_000_000
    receive_buffer_bytes: int | None = None
    send_buffer_bytes: int | None = None
    socket_options: Iterable[tuple[Any, ...]] = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
    socket_connection_setup_timeout_ms: int = 10_000
    socket_connection_setup_timeout_max_ms: int = 30_000
    metadata_max_age_ms: int = 300_000
    allow_auto_create_topics: bool = True
    client_dns_lookup: str = "use_all_dns_ips"
    bootstrap_timeout_ms: int = 30_000
    api_version: tuple[int, ...] | str | None = None
    security_protocol: str = "PLAINTEXT"
    ssl_context: ssl.SSLContext | None = None
    ssl_check_hostname: bool = True
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_password: str | None = None
    ssl_crlfile: str | None = None
    ssl_ciphers: str | None = None
    sasl_mechanism: str | None = None
    sasl_plain_username: str | None = None
    sasl_plain_password: str | None = None
    sasl_token_auth: bool = False
    sasl_oauth_token_provider: Any = None
    sasl_kerberos_service_name: str = "kafka"
    sasl_kerberos_keytab: str | None = None
    sasl_kerberos_principal: str | None = None
    metrics_num_samples: int = 2
    metrics_sample_window_ms: int = 30_000

    def __post_init__(self) -> None:
        defaults = self.defaults()
        given = {name: getattr(self, name) for name in defaults}
        check_types(given, self.types())
        check_ranges(given, defaults)
        if self.client_dns_lookup != "use_all_dns_ips":
            raise KafkaConfigurationError(
                f"client_dns_lookup={self.client_dns_lookup!r} is not supported: all addresses of a name are used"
            )
        _check_socket_options(self.socket_options)
        self.pinned_versions: NodeApiVersions | None = None
        """The versions of the release `api_version`; if set, no ApiVersions request is sent."""
        if self.api_version is not None and self.api_version != "auto":
            self.pinned_versions = versions_of_release(parse_release(self.api_version))
        self.bootstrap = _addresses(self.bootstrap_servers)
        self.security = Security.of(self)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Build the config from a facade's options; options that it doesn't have are ignored."""
        return cls(**{name: options[name] for name in cls.defaults() if name in options})

    @property
    def socket(self) -> SocketOptions:
        return SocketOptions(
            send_buffer_bytes=self.send_buffer_bytes,
            receive_buffer_bytes=self.receive_buffer_bytes,
            options=tuple(self.socket_options),
            connect_timeout_ms=self.socket_connection_setup_timeout_ms,
            tls=self.security.tls,
        )


def _check_socket_options(options: Any) -> None:
    """Raise KafkaConfigurationError for options that `socket.setsockopt` would reject."""
    fits = isinstance(options, Iterable) and all(
        isinstance(one, list | tuple) and len(one) in (3, 4) for one in options
    )
    if not fits:
        raise KafkaConfigurationError(f"socket_options must be tuples (level, option, value); it is {options!r}")


def _addresses(servers: str | Iterable[str]) -> list[Address]:
    """Parse the bootstrap servers; as in kafka-python, the port is optional."""
    try:
        parts = [servers] if isinstance(servers, str) else list(servers)
        pieces = [piece.strip() for part in parts for piece in part.split(",") if piece.strip()]
    except (TypeError, AttributeError):
        raise KafkaConfigurationError(f"bootstrap_servers must be strings as host:port; it is {servers!r}") from None
    try:
        return parse_bootstrap_servers([_with_port(piece) for piece in pieces])
    except KafkaError as error:
        raise KafkaConfigurationError(error.message.replace("bootstrap.servers", "bootstrap_servers")) from None


def _with_port(server: str) -> str:
    if server.startswith("["):
        return server if "]:" in server else f"{server}:{DEFAULT_BROKER_PORT}"
    if server.count(":") > 1 and "://" not in server:
        return f"[{server}]:{DEFAULT_BROKER_PORT}"
    return server if ":" in server.rpartition("://")[2] else f"{server}:{DEFAULT_BROKER_PORT}"
