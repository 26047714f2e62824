"""Names of users, clients and IPs in paths and metric names (Kafka's `Sanitizer`): URL encoding as in Java."""

from __future__ import annotations

from urllib.parse import quote, unquote


def sanitize(name: str) -> str:
    """Encode all characters but letters, digits and `._-` as %XX of their UTF-8 bytes."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(name: str) -> str:
    """Decode the result of `sanitize`."""
    return unquote(name)
