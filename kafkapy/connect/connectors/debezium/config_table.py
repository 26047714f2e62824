"""Definitions of configs in one line each, and those that all connectors share (Debezium's names and defaults)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, Range
from kafkapy.common.patterns import PatternError, java
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.config.validators import Described


def _check_patterns(name: str, value: list[str] | None) -> None:
    for pattern in value or ():
        try:
            java(pattern)
        except PatternError as error:
            raise ConfigException.invalid(name, pattern, f"Invalid regex: {error}") from None


PATTERNS: Final = Described(_check_patterns, "regular expressions")
_TEXT, _INT, _LONG = ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_FLAG, _LIST = ConfigType.BOOLEAN, ConfigType.LIST


def one_of(words: tuple[str, ...]) -> Described:
    def check(name: str, value: str | None) -> None:
        if value is None or value.lower() not in words:
            raise ConfigException.invalid(name, value, f"Value must be one of {', '.join(words)}")

    return Described(check, ", ".join(words))


class DebeziumConfigTable:
    """Collects definitions in one line each."""

    def __init__(self) -> None:
        self.configs = ConfigDef()

    def required(self, name: str, doc: str) -> None:
        self.configs.define(name, _TEXT, validator=NonEmptyString(), importance=Importance.HIGH, doc=doc)

    def text(self, name: str, default: str | None, doc: str) -> None:
        self.configs.define(name, _TEXT, default, doc=doc)

    def word(self, name: str, words: tuple[str, ...], doc: str) -> None:
        """One of some words; the first is the default."""
        self.configs.define(name, _TEXT, words[0], validator=one_of(words), doc=doc)

    def flag(self, name: str, default: bool, doc: str) -> None:
        self.configs.define(name, _FLAG, default, doc=doc)

    def number(self, name: str, default: int, low: int, doc: str, type: ConfigType = _INT) -> None:
        self.configs.define(name, type, default, validator=Range(low, None), doc=doc)

    def patterns(self, name: str, doc: str) -> None:
        self.configs.define(name, _LIST, [], validator=PATTERNS, doc=doc)

    def names(self, name: str, default: list[str], doc: str) -> None:
        self.configs.define(name, _LIST, default, doc=doc)


def define_shared(table: DebeziumConfigTable) -> None:
    """Define what all connectors have: names of topics, forms of values, selections, pauses and heartbeats."""
    table.required("topic.prefix", "Start of all topics' and schemas' names; unique in the cluster.")
    table.text("topic.delimiter", ".", "Between the parts of a topic's name.")
    table.flag("tombstones.on.delete", True, "Whether a tombstone follows a delete.")
    table.flag("provide.transaction.metadata", False, "Whether events and a topic tell of transactions.")
    table.text("topic.transaction", "transaction", "End of the name of the topic with transactions.")
    table.word("binary.handling.mode", ("bytes", "base64", "base64-url-safe", "hex"), "Form of bytes.")
    table.word("schema.name.adjustment.mode", ("none", "avro"), "avro: names of schemas have only letters, digits, _.")
    table.word("field.name.adjustment.mode", ("none", "avro"), "avro: names of fields have only letters, digits, _.")
    table.text("message.key.columns", None, "Key columns: schema.table:column,column;… with regular expressions.")
    table.names("skipped.operations", ["t"], "Operations without events: c, u, d, t, or none.")
    table.number("snapshot.fetch.size", 10_240, 1, "Rows that are fetched at once.")
    table.patterns("snapshot.include.collection.list", "Tables that a snapshot reads; default: all that are captured.")
    table.number("snapshot.delay.ms", 0, 0, "Pause before a snapshot.", _LONG)
    table.number("retry.backoff.ms", 200, 1, "First pause after a lost connection; it doubles up to the longest.")
    table.number("retriable.restart.connector.wait.ms", 10_000, 1, "The longest pause after a lost connection.")
    table.number("errors.max.retries", -1, -1, "How often a lost connection is tried again; -1: without end.")
    table.number("poll.interval.ms", 500, 1, "How long a poll waits for changes.", _LONG)
    table.number("max.batch.size", 2048, 1, "The largest number of records of one poll.")
    table.number("heartbeat.interval.ms", 0, 0, "How often a record is written to the heartbeat topic; 0: never.")
    table.text("heartbeat.action.query", None, "SQL that is run with each heartbeat.")
    table.text("topic.heartbeat.prefix", "__debezium-heartbeat", "Start of the heartbeat topic's name.")
    table.text("heartbeat.topics.prefix", None, "The older name of topic.heartbeat.prefix.")


_REFUSED_PREFIXES: Final = ("column.mask.", "column.truncate.", "snapshot.select.statement.overrides.")


def refused_options(config: Mapping[str, Any], fixed: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the options that cannot be done, each with a sentence.

    Args:
        config: The connector's, as text.
        fixed: Options for which only some values are supported.

    Example:
        >>> refused_options({"column.mask.hash.SHA-256.with.salt.x": "a"}, {})
        {'column.mask.hash.SHA-256.with.salt.x': 'It is not supported; leave it out, or use a transform (MaskField).'}
    """
    found = {}
    for name, value in config.items():
        allowed = fixed.get(name)
        if allowed is not None and value not in (None, "") and value not in allowed:
            found[name] = f"{value} is not supported; leave it out" + (
                f", or set {' or '.join(sorted(allowed))}." if any(allowed) else "."
            )
        elif name.startswith(_REFUSED_PREFIXES):
            found[name] = "It is not supported; leave it out, or use a transform (MaskField)."
    return found
