"""The configs of an HTTP client: authentication, headers, timeouts, retries; Confluent's names."""

from __future__ import annotations

import datetime as dt
import email.utils
import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.config_validators import OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.required_packages import require

if TYPE_CHECKING:
    import httpx

_STRING, _INT, _PASSWORD = ConfigType.STRING, ConfigType.INT, ConfigType.PASSWORD
_AUTH: Final = ("NONE", "BASIC", "BEARER", "OAUTH2")
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("auth.type", _STRING, "NONE", OneOf(*_AUTH, case_insensitive=True), "NONE, BASIC, BEARER or OAUTH2."),
    ("connection.user", _STRING, "", None, "For BASIC."),
    ("connection.password", _PASSWORD, "", None, "For BASIC."),
    ("bearer.token", _PASSWORD, "", None, "For BEARER."),
    ("oauth2.token.url", _STRING, "", None, "For OAUTH2: where tokens are."),
    ("oauth2.client.id", _STRING, "", None, "For OAUTH2."),
    ("oauth2.client.secret", _PASSWORD, "", None, "For OAUTH2."),
    ("oauth2.client.scope", _STRING, "any", None, "For OAUTH2."),
    ("oauth2.token.property", _STRING, "access_token", None, "Field of the answer that has the token."),
    (
        "oauth2.client.auth.mode",
        _STRING,
        "header",
        OneOf("header", "url"),
        "Whether id and secret are in a header or form.",
    ),
    ("http.connect.timeout.ms", _INT, 30_000, Range(1, None), "Longest time for a connection."),
    ("http.request.timeout.ms", _INT, 30_000, Range(1, None), "Longest time without a byte of the answer."),
    ("http.response.max.bytes", _INT, 64 << 20, Range(1, None), "The most bytes of an answer, decompressed."),
    ("max.retries", _INT, 10, Range(0, None), "How often a request is repeated."),
    ("retry.backoff.ms", _INT, 3000, Range(1, None), "Pause before a request is repeated."),
    (
        "retry.backoff.policy",
        _STRING,
        "EXPONENTIAL_WITH_JITTER",
        OneOf("CONSTANT_VALUE", "EXPONENTIAL_WITH_JITTER"),
        "Whether the pause grows.",
    ),
    ("retry.on.status.codes", _STRING, "400-", None, "Codes after which a request is repeated, such as 429,500-."),
    ("http.proxy.host", _STRING, "", None, "Of a proxy."),
    ("http.proxy.port", _INT, 0, Range(0, 65535), "Of a proxy."),
    ("https.ssl.ca.location", _STRING, None, None, "File with certificates (PEM) in place of the system's."),
    ("https.ssl.certificate.location", _STRING, None, None, "File with the client's certificate and key (PEM)."),
)
_LONGEST_PAUSE_MS: Final = 300_000


def define_client_configs(definitions: ConfigDef) -> ConfigDef:
    """Add the definitions; returns them."""
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


def check_client_configs(config: Mapping[str, Any]) -> None:
    """Raise ConfigException if a config that the kind of authentication needs is missing, or a range is wrong."""
    needed = {
        "BASIC": ("connection.user",),
        "BEARER": ("bearer.token",),
        "OAUTH2": ("oauth2.token.url", "oauth2.client.id", "oauth2.client.secret"),
    }
    kind = config["auth.type"].upper()
    for name in needed.get(kind, ()):
        value = config[name]
        if not (value if isinstance(value, str) else value.value):
            raise ConfigException.invalid(name, "", f"auth.type={kind} needs it.")
    status_codes(config["retry.on.status.codes"])


def status_codes(text: str) -> Callable[[int], bool]:
    """Return a function that says whether a code is in a list.

    Args:
        text: Codes and ranges; a range without an end has no limit.

    Raises:
        ConfigException: It is no such list.

    Example:
        >>> is_in = status_codes("429,500-599")
        >>> is_in(429), is_in(503), is_in(404)
        (True, True, False)
    """
    ranges: list[tuple[int, int]] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        low, dash, high = part.partition("-")
        try:
            ranges.append((int(low), int(high or 999) if dash else int(low)))
        except ValueError:
            wanted = "Expected codes and ranges, such as 429,500-599."
            raise ConfigException.invalid("retry.on.status.codes", text, wanted) from None
    return lambda code: any(low <= code <= high for low, high in ranges)


def parse_headers(text: str, separator: str) -> list[tuple[str, str]]:
    """Return headers.

    Args:
        text: `name:value`, separated.
        separator: Between them.

    Raises:
        ConfigException: One has no colon.

    Example:
        >>> parse_headers("Accept: text/plain|X-A:b", "|")
        [('Accept', 'text/plain'), ('X-A', 'b')]
    """
    headers = []
    for part in filter(None, (each.strip() for each in text.split(separator))):
        name, colon, value = part.partition(":")
        if not colon:
            raise ConfigException.invalid("headers", part, "Expected name:value.")
        headers.append((name.strip(), value.strip()))
    return headers


def make_client(config: Mapping[str, Any]) -> httpx.Client:
    """Return a client.

    Args:
        config: Parsed.

    Raises:
        ConnectException: httpx is missing.
    """
    require("connect-http", "httpx", "This connector")
    import ssl

    import httpx

    from kafkapy.connect.connectors.http.oauth2 import ClientCredentials

    auth: Any = None
    match config["auth.type"].upper():
        case "BASIC":
            auth = httpx.BasicAuth(config["connection.user"], config["connection.password"].value)
        case "OAUTH2":
            auth = ClientCredentials(config)
    context = ssl.create_default_context(cafile=config["https.ssl.ca.location"])
    if config["https.ssl.certificate.location"]:
        context.load_cert_chain(config["https.ssl.certificate.location"])
    host, port = config["http.proxy.host"], config["http.proxy.port"]
    client = httpx.Client(
        auth=auth,
        verify=context,
        proxy=f"http://{host}:{port or 80}" if host else None,
        timeout=httpx.Timeout(
            config["http.request.timeout.ms"] / 1000, connect=config["http.connect.timeout.ms"] / 1000
        ),
        trust_env=False,
    )
    if config["auth.type"].upper() == "BEARER":
        client.headers["Authorization"] = f"Bearer {config['bearer.token'].value}"
    return client


def pause_ms(config: Mapping[str, Any], attempt: int, retry_after: str | None, now: float | None = None) -> float:
    """Return the pause before a request is repeated, in ms.

    Args:
        config: Parsed.
        attempt: How many attempts have failed, from 1.
        retry_after: The header of the answer: seconds, or a date. It is a lower limit.
        now: Seconds since 1970. Default: the time of day.

    Example:
        >>> pause_ms({"retry.backoff.ms": 100, "retry.backoff.policy": "CONSTANT_VALUE"}, 1, "7")
        7000.0
    """
    pause = float(config["retry.backoff.ms"])
    if config["retry.backoff.policy"] != "CONSTANT_VALUE":
        pause = min(_LONGEST_PAUSE_MS, pause * 2 ** min(attempt - 1, 20)) * random.uniform(0.5, 1)
    return max(pause, _retry_after_ms(retry_after, time.time() if now is None else now))


def _retry_after_ms(text: str | None, now: float) -> float:
    if not text:
        return 0.0
    if text.strip().isdigit():
        return float(text) * 1000
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment.timestamp() - now) * 1000
