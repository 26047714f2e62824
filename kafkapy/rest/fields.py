"""Validates fields of requests: integers, strings, times, headers.

Bounds are those of Kafka's fields: `INT16` for replication factors, `INT32` for partitions, brokers and counts,
`INT64` for offsets and timestamps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from kafkapy.rest.embedded import BINARY, to_bytes
from kafkapy.rest.rest_errors import RestRefusal, bad_request, not_found, unprocessable

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1

RecordHeaders = tuple[tuple[str, bytes | None], ...]
"""Names and values; a null value differs from an empty one."""
Refuse = Callable[[str], RestRefusal]
"""Message -> the error response: `unprocessable` (422) in v2, `bad_request` (400) in v3."""

_DIGITS = re.compile(r"[0-9]{1,19}")
_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)


def whole(value: Any, name: str, most: int, least: int = 0, refuse: Refuse = unprocessable) -> int:
    """Return an integer of a JSON body. Raises RestRefusal for another type or a value out of bounds."""
    if type(value) is not int or not least <= value <= most:
        raise refuse(f"{name} is a whole number from {least} to {most}")
    return value


def whole_in(text: str, name: str, most: int, refuse: Refuse = bad_request) -> int:
    """Parse an integer of at least 0 in a URL or a string of a body. Raises RestRefusal."""
    if _DIGITS.fullmatch(text) is None or int(text) > most:
        raise refuse(f"{name} is a whole number from 0 to {most}")
    return int(text)


def whole_or_text(value: Any, name: str, most: int) -> int:
    """Return a number of a body that Confluent's clients may send as a string, too. Raises RestRefusal."""
    return whole_in(value, name, most, unprocessable) if isinstance(value, str) else whole(value, name, most)


def path_number(text: str) -> int:
    """Parse a partition or broker in a path. Raises RestRefusal (404) for an impossible number."""
    return whole_in(text, "", INT32, lambda _: not_found())


def string(value: Any, name: str, refuse: Refuse = unprocessable) -> str:
    """Return a string of a JSON body. Raises RestRefusal."""
    if not isinstance(value, str):
        raise refuse(f"{name} is a string")
    return value


def config_value(value: Any, name: str) -> str | None:
    """Return a config as a string; numbers and booleans are converted to their JSON text. Raises RestRefusal."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise bad_request(f"The value of {name} is a string, a number or a boolean")


def record_headers(given: Any, refuse: Refuse = unprocessable) -> RecordHeaders:
    """Return the headers of a record; a missing value is null. Raises RestRefusal."""
    headers = []
    for header in [] if given is None else given if isinstance(given, list) else [None]:
        if not isinstance(header, dict) or not isinstance(header.get("name"), str):
            raise refuse("headers is a list of objects with name and value (base64, or null)")
        headers.append((header["name"], to_bytes(BINARY, header.get("value"))))
    return tuple(headers)


def check_not_empty(key: bytes | None, value: bytes | None, refuse: Refuse = unprocessable) -> None:
    """Raise RestRefusal for a record without key and value, which the producer does not send."""
    if key is None and value is None:
        raise refuse("A record has a key or a value, or both")


def time_ms(given: Any) -> int:
    """Parse ISO 8601 with a zone; return ms since the epoch. Raises RestRefusal."""
    try:
        at = datetime.fromisoformat(given)
        found = (at - _EPOCH) // _MILLISECOND
    except (TypeError, ValueError):
        raise bad_request("timestamp is a time by ISO 8601 with a zone: 2026-01-31T12:00:00.000Z") from None
    if found < 0:
        raise bad_request("timestamp is before 1970")
    return found


def iso_time(ms: int) -> str:
    """Format ms since the epoch in v3's form."""
    return (_EPOCH + ms * _MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")
