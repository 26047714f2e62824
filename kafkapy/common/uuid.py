"""Kafka's Uuid (KIP-516): 16 bytes on the wire and in memory, 22 characters of base64url as text.

Ids are `bytes`, which need no conversion from the wire, and are fast dictionary keys.
"""

from __future__ import annotations

import base64
import uuid

ZERO_UUID = bytes(16)
ONE_UUID = bytes(15) + b"\x01"
"""Reserved for the metadata topic; never assigned to other topics."""


def random_uuid() -> bytes:
    """Return a random version-4 UUID that is not reserved, and whose text does not begin with a dash (Kafka's
    `Uuid.randomUuid`)."""
    while True:
        value = uuid.uuid4().bytes
        if value not in (ZERO_UUID, ONE_UUID) and not to_string(value).startswith("-"):
            return value


def to_string(value: bytes) -> str:
    """Return 22 characters of base64url without padding."""
    return base64.urlsafe_b64encode(value).decode("ascii").rstrip("=")


def from_string(text: str) -> bytes:
    """Return the 16 bytes of a 22-character text.

    Raises:
        ValueError: it is no such text; the message is Kafka's.
    """
    if len(text) > 24:
        raise ValueError(f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID")
    try:
        value = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except ValueError:
        raise ValueError(f"Input string `{text}` is not base64, which a UUID is expected to be in") from None
    if len(value) != len(ZERO_UUID):
        raise ValueError(
            f"Input string `{text}` decoded as {len(value)} bytes, which is not equal to the expected 16 bytes of a "
            "base64-encoded UUID"
        )
    return value
