"""The keyword arguments that all clients accept, for type checkers and editors; a test compares them with
`ClientConfig`."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any, Literal, Protocol, TypedDict

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"]
Acks = Literal[0, 1, -1, "all"]
CompressionName = Literal["gzip", "snappy", "lz4", "zstd", "none"]
AutoOffsetReset = Literal["earliest", "latest", "none"]
Isolation = Literal["read_uncommitted", "read_committed"]
"""The values of options with few choices. docs/clients.md shows how to pass a plain `str` to them."""


class TokenProvider(Protocol):
    """Returns tokens for OAUTHBEARER. It may also have `extensions() -> dict[str, str]`."""

    def token(self) -> str: ...


class ClientOptions(TypedDict, total=False):
    """Options with kafka-python's names. Times in ms, sizes in bytes; docs/client_options.md explains them."""

    bootstrap_servers: str | Iterable[str]
    client_id: str | None
    request_timeout_ms: int
    connections_max_idle_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    max_in_flight_requests_per_connection: int
    receive_message_max_bytes: int
    receive_buffer_bytes: int | None
    send_buffer_bytes: int | None
    socket_options: Iterable[tuple[Any, ...]]
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    metadata_max_age_ms: int
    allow_auto_create_topics: bool
    client_dns_lookup: Literal["use_all_dns_ips"]
    bootstrap_timeout_ms: int
    api_version: tuple[int, ...] | str | None
    security_protocol: SecurityProtocol
    ssl_context: ssl.SSLContext | None
    ssl_check_hostname: bool
    ssl_cafile: str | None
    ssl_certfile: str | None
    ssl_keyfile: str | None
    ssl_password: str | None
    ssl_crlfile: str | None
    ssl_ciphers: str | None
    sasl_mechanism: SaslMechanism | None
    sasl_plain_username: str | None
    sasl_plain_password: str | None
    sasl_token_auth: bool
    sasl_oauth_token_provider: TokenProvider | None
    sasl_kerberos_service_name: str
    sasl_kerberos_keytab: str | None
    sasl_kerberos_principal: str | None
    metrics_num_samples: int
    metrics_sample_window_ms: int
