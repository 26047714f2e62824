"""Valid topic names, and the names of internal topics (Kafka's `Topic`)."""

from __future__ import annotations

import re
from typing import Final

MAX_NAME_LENGTH: Final = 249

GROUP_METADATA_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset((GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def reason_invalid(name: str) -> str | None:
    """Return why `name` is not a valid topic name; None if it is valid."""
    reason = None
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL.fullmatch(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None if reason is None else f"Topic name is invalid: {reason}"


def metric_name(name: str) -> str:
    """Return the topic's name in metrics.

    Two topics that differ only in `.` and `_` would share it, so they cannot both exist.
    """
    return name.replace(".", "_")
