"""The HTTP server's configs in a properties file: listeners, TLS, authentication, CORS, headers.

The names are those of Confluent's servers (rest-utils). Configs without effect here, and unknown ones, cause a
warning; unsupported ones are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.http.basic_auth import BasicAuth
from kafkapy.http.listeners import HttpListener, parse_listeners, tls_options
from kafkapy.http.site import CrossOrigin

TAKEN = frozenset(
    {
        *("listeners", "authentication.method", "authentication.realm", "authentication.roles"),
        *("kafkapy.authentication.users.file", "access.control.allow.origin", "access.control.allow.methods"),
        *("access.control.allow.headers", "response.http.headers.config", "kafkapy.max.body.bytes", "idle.timeout.ms"),
        *("ssl.keystore.location", "ssl.keystore.type", "ssl.keystore.password", "ssl.key.password"),
        *("ssl.truststore.location", "ssl.truststore.type", "ssl.truststore.password"),
        *("ssl.client.auth", "ssl.client.authentication"),
    }
)

_WHOLE = re.compile(r"-?[0-9]{1,19}")


class HttpServerConfig(NamedTuple):
    listeners: list[HttpListener]
    tls: Any
    auth: BasicAuth | None
    cross_origin: CrossOrigin
    headers: tuple[tuple[str, str], ...]
    max_body_bytes: int
    idle_timeout_s: float

    @classmethod
    def of(cls, properties: Mapping[str, str], default_listeners: str) -> HttpServerConfig:
        """Raises ConfigException."""
        listeners = parse_listeners(properties.get("listeners", default_listeners))
        tls = tls_options(properties) if any(each.scheme == "https" for each in listeners) else None
        origins = _list(properties.get("access.control.allow.origin", ""))
        defaults = CrossOrigin()
        cross_origin = CrossOrigin(
            tuple(origins),
            properties.get("access.control.allow.methods") or defaults.methods,
            properties.get("access.control.allow.headers") or defaults.headers,
        )
        return cls(
            listeners,
            tls,
            BasicAuth.of(properties),
            cross_origin,
            _headers(properties.get("response.http.headers.config", "")),
            whole_number(properties, "kafkapy.max.body.bytes", 10_485_760, 1),
            whole_number(properties, "idle.timeout.ms", 60_000, 1) / 1000,
        )


def whole_number(properties: Mapping[str, str], name: str, default: int, least: int) -> int:
    """Raises ConfigException."""
    text = properties.get(name, str(default)).strip()
    if _WHOLE.fullmatch(text) is None or not least <= int(text) < 2**63:
        raise ConfigException.invalid(name, text, f"a number from {least} to {2**63 - 1} is expected")
    return int(text)


def truth(properties: Mapping[str, str], name: str, default: bool) -> bool:
    """Raises ConfigException."""
    text = properties.get(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise ConfigException.invalid(name, text, "true or false is expected")
    return text == "true"


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    """Parse `set X-Name: value, add …`. Raises ConfigException."""
    found = []
    for part in _list(text):
        action, _, rest = part.strip('"').partition(" ")
        name, colon, value = rest.partition(":")
        if action not in ("set", "add") or not colon or not name.strip():
            expected = "`set Name: value` or `add Name: value`, separated by commas, is expected"
            raise ConfigException.invalid("response.http.headers.config", part, expected)
        found.append((name.strip(), value.strip()))
    return tuple(found)
