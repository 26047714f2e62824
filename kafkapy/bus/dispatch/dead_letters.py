"""Records that could not be handled, as they lie in a dead-letter topic: as they were, with headers that say why.

dead-letter-reason      handler failed | unreadable | given up by the handler
dead-letter-error       ValueError: no such user
dead-letter-attempts    5
dead-letter-topic, dead-letter-partition, dead-letter-offset     where the record was
dead-letter-group       whose dispatcher it was
dead-letter-at          when (milliseconds since 1970)
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

HANDLER_FAILED, UNREADABLE, GIVEN_UP = "handler failed", "unreadable", "given up by the handler"
PREFIX = "dead-letter-"
_LONGEST_ERROR = 2_000
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class DeadLetter(NamedTuple):
    """A dead letter, ready to be sent."""

    topic: str
    value: bytes | None
    key: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp_ms: int


def dead_letter_topic(topic: str, group: str) -> str:
    """The default name of the dead-letter topic of a topic and group. Raises ValueError if it is no valid topic name."""
    name = f"{topic}.dead-letter.{group}"
    if not _TOPIC.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a topic's name: give dead_letter_topic")
    return name


def dead_letter(
    record: Any, to: str, group: str, reason: str, error: BaseException, attempts: int, at_ms: int
) -> DeadLetter:
    """Convert a consumer's record to a dead letter. Headers of an earlier dead letter are replaced."""
    told = {
        "reason": reason,
        "error": error_text(error)[:_LONGEST_ERROR],
        "attempts": str(attempts),
        **dict(zip(("topic", "partition", "offset"), map(str, place_of(record)), strict=True)),
        "group": group,
        "at": str(at_ms),
    }
    headers = [(name, value) for name, value in record.headers if not name.startswith(PREFIX)]
    headers += [(PREFIX + name, text.encode()) for name, text in told.items()]
    return DeadLetter(to, record.value, record.key, headers, max(record.timestamp, 0))


def place_of(record: Any) -> tuple[str, int, int]:
    """Topic, partition and offset of a record; for a dead letter those of the original record."""
    texts = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
    topic, partition, offset = (texts.get(PREFIX + name, "") for name in ("topic", "partition", "offset"))
    if topic and partition.isdecimal() and offset.isdecimal():
        return topic, int(partition), int(offset)
    return record.topic, record.partition, record.offset


def error_text(error: BaseException) -> str:
    """Class and message of an error; messages of kafkapy's own errors name the class already."""
    text, name = str(error), type(error).__name__
    return text if text.startswith(f"{name}:") else f"{name}: {text}"
