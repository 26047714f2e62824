"""Names of users, clients and IPs in paths and metric names (Kafka's `Sanitizer`): URL encoding, as Java does it."""

from __future__ import annotations

from urllib.parse import quote, unquote


def sanitize(name: str) -> str:
    """Letters, digits and `._-` stay, all else becomes %XX of its UTF-8 bytes."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(name: str) -> str:
    """What `sanitize` was given."""
    return unquote(name)
