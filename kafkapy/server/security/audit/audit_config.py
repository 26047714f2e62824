"""The configs of the audit, which are kafkapy's own; the broker's others are exactly Kafka's."""

from __future__ import annotations

from collections.abc import MutableMapping
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple

from kafkapy.common.topic_names import reason_invalid

LEVEL: Final = "kafkapy.audit.level"
FILE: Final = "kafkapy.audit.file"
FILE_MAX_BYTES: Final = "kafkapy.audit.file.max.bytes"
FILE_MAX_COUNT: Final = "kafkapy.audit.file.max.count"
TOPIC: Final = "kafkapy.audit.topic"
QUEUE_MAX_RECORDS: Final = "kafkapy.audit.queue.max.records"
IGNORED_PRINCIPALS: Final = "kafkapy.audit.ignore.principals"
CONFIGS: Final = (LEVEL, FILE, FILE_MAX_BYTES, FILE_MAX_COUNT, TOPIC, QUEUE_MAX_RECORDS, IGNORED_PRINCIPALS)

DEFAULT_FILE: Final = "kafka-audit.jsonl"
"""In the directory of the broker's logs."""


class AuditLevel(IntEnum):
    """What is recorded; each level includes the previous ones."""

    OFF = 0
    DENIED = 1
    """Denied operations, and failed authentications."""
    CHANGES = 2
    """Changes of ACLs, users, quotas, configs, tokens and topics, and successful authentications."""
    ALL = 3
    """Allowed operations."""


class AuditConfig(NamedTuple):
    """The level and destination of the audit.

    Example:
        >>> AuditConfig.take_from({"kafkapy.audit.level": "denied", "kafkapy.audit.topic": "audit"}, Path("logs")).topic
        'audit'
    """

    level: AuditLevel
    file: Path
    topic: str = ""
    """If not empty, records are written to this topic instead of files."""
    file_max_bytes: int = 100 * 1024 * 1024
    file_max_count: int = 10
    queue_max_records: int = 10_000
    ignored_principals: frozenset[str] = frozenset()

    @classmethod
    def take_from(cls, properties: MutableMapping[str, str], log_dir: Path) -> AuditConfig | None:
        """Remove the audit's configs from the properties of a broker and parse them; None: the audit is off.

        Args:
            properties: The broker's; its other configs are Kafka's.
            log_dir: The directory of the default file.

        Raises:
            ValueError: A value is invalid; the message names it.
        """
        taken = {name: properties.pop(name, "").strip() for name in CONFIGS}
        level = _level(taken[LEVEL])
        topic = taken[TOPIC]
        if topic and (reason := reason_invalid(topic)):
            raise ValueError(f"Invalid value {topic} for configuration {TOPIC}: {reason}")
        if topic and taken[FILE]:
            raise ValueError(f"Only one of the configurations {FILE} and {TOPIC} may be set")
        max_bytes, max_count, max_records = (
            _number(name, taken[name], default) for name, default in _DEFAULT_NUMBERS.items()
        )
        principals = frozenset(filter(None, map(str.strip, taken[IGNORED_PRINCIPALS].split(";"))))
        if level is AuditLevel.OFF:
            return None
        file = Path(taken[FILE] or log_dir / DEFAULT_FILE)
        return cls(level, file, topic, max_bytes, max_count, max_records, principals)


_DEFAULT_NUMBERS: Final = {
    FILE_MAX_BYTES: AuditConfig._field_defaults["file_max_bytes"],
    FILE_MAX_COUNT: AuditConfig._field_defaults["file_max_count"],
    QUEUE_MAX_RECORDS: AuditConfig._field_defaults["queue_max_records"],
}


def _level(text: str) -> AuditLevel:
    try:
        return AuditLevel[text.upper()] if text else AuditLevel.OFF
    except KeyError:
        known = ", ".join(level.name.lower() for level in AuditLevel)
        raise ValueError(f"Invalid value {text} for configuration {LEVEL}: it must be one of {known}") from None


def _number(name: str, text: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 1 << 40):
        raise ValueError(f"Invalid value {text} for configuration {name}: a number of at least 1 is expected")
    return int(text)
