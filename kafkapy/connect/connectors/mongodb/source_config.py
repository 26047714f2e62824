"""The configs of the source."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.mongodb.connection import DEFAULT_URI

_STRING, _INT, _LONG, _BOOLEAN = ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.BOOLEAN
_FORMATS: Final = OneOf("JSON", "BSON", "SCHEMA", case_insensitive=True)
_TOLERANCES: Final = OneOf("", "NONE", "ALL", case_insensitive=True)
_COPY: Final = "startup.mode.copy.existing"
_START_AT: Final = "startup.mode.timestamp.start.at.operation.time"
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("database", _STRING, "", None, "What is watched. Default: all databases."),
    ("collection", _STRING, "", None, "What is watched. Default: all collections of the database."),
    ("pipeline", _STRING, "[]", None, "Stages that filter and change events, as JSON."),
    ("collation", _STRING, "", None, "Of the pipeline, as JSON."),
    ("batch.size", _INT, 0, Range(0, None), "The most events of an answer; 0: the server's."),
    ("poll.max.batch.size", _INT, 1000, Range(1, None), "The most records of a poll."),
    ("poll.await.time.ms", _LONG, 5000, Range(1, None), "How long a poll waits for events."),
    ("publish.full.document.only", _BOOLEAN, False, None, "Whether values are documents in place of events."),
    (
        "publish.full.document.only.tombstone.on.delete",
        _BOOLEAN,
        False,
        None,
        "Whether deletions are records without a value.",
    ),
    ("change.stream.full.document", _STRING, "", None, "updateLookup, whenAvailable, required."),
    ("change.stream.full.document.before.change", _STRING, "", None, "off, whenAvailable, required."),
    ("change.stream.document.key.as.key", _BOOLEAN, True, None, "Whether keys are those of documents, not of events."),
    ("change.stream.show.expanded.events", _BOOLEAN, False, None, "Whether there are events of more operations."),
    ("output.format.key", _STRING, "json", _FORMATS, "json or bson."),
    ("output.format.value", _STRING, "json", _FORMATS, "json or bson."),
    ("output.json.formatter", _STRING, "DefaultJson", NonEmptyString(), "DefaultJson, ExtendedJson, SimplifiedJson."),
    ("topic.prefix", _STRING, "", None, "Begins the names of topics."),
    ("topic.suffix", _STRING, "", None, "Ends the names of topics."),
    ("topic.separator", _STRING, ".", None, "Between the parts of names."),
    ("topic.namespace.map", _STRING, "", None, "Topics of namespaces, as JSON."),
    (
        "startup.mode",
        _STRING,
        "latest",
        OneOf("LATEST", "TIMESTAMP", "COPY_EXISTING", case_insensitive=True),
        "Where a connector without offsets begins.",
    ),
    (_START_AT, _STRING, "", None, "Seconds since 1970, or a time of ISO 8601."),
    (f"{_COPY}.pipeline", _STRING, "", None, "Stages before documents become events, as JSON."),
    (f"{_COPY}.namespace.regex", _STRING, "", None, "Which collections are copied."),
    (f"{_COPY}.allow.disk.use", _BOOLEAN, True, None, "Whether the server may use files."),
    ("copy.existing", _BOOLEAN, False, None, "The same as startup.mode=copy_existing."),
    ("heartbeat.interval.ms", _LONG, 0, Range(0, None), "Time between offsets without events; 0: none."),
    ("heartbeat.topic.name", _STRING, "__mongodb_heartbeats", NonEmptyString(), "Gets records for such offsets."),
    ("offset.partition.name", _STRING, "", None, "Name under which offsets are stored."),
    ("mongo.errors.tolerance", _STRING, "", _TOLERANCES, "In place of errors.tolerance."),
    ("errors.tolerance", _STRING, "none", _TOLERANCES, "all: goes on where events are lost."),
)
_CHOICES: Final = {
    "change.stream.full.document": ("", "default", "updateLookup", "whenAvailable", "required"),
    "change.stream.full.document.before.change": ("", "default", "off", "whenAvailable", "required"),
}
_FORMATTERS: Final = ("DefaultJson", "ExtendedJson", "SimplifiedJson")


def source_definitions() -> ConfigDef:
    """Return the definitions."""
    definitions = ConfigDef().define(
        "connection.uri",
        ConfigType.PASSWORD,
        DEFAULT_URI,
        importance=Importance.HIGH,
        doc="mongodb:// or mongodb+srv://",
    )
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


@dataclass(frozen=True)
class SourceSettings:
    """What the configs mean; those that are used as they are remain in `known`.

    Attributes:
        known: Parsed.
        pipeline: Stages after `$changeStream`.
        copy_pipeline: Stages before documents become events.
        collation: None: the server's.
        topics: Of namespaces; `*` is for all others.
        start: What a connector without offsets does: latest, timestamp, copy_existing.
        start_at: Seconds since 1970, for `timestamp`.
        tolerates: Whether lost events are tolerated.
        formatter: Of JSON.
    """

    known: Mapping[str, Any]
    pipeline: list[dict[str, Any]]
    copy_pipeline: list[dict[str, Any]]
    collation: dict[str, Any] | None
    topics: dict[str, str]
    start: str
    start_at: int | None
    tolerates: bool
    formatter: str

    def topic(self, database: str, collection: str) -> str:
        """Return the topic of a namespace.

        Args:
            database: Its first part.
            collection: Its second part; "": the event is one of the database.
        """
        known = self.known
        separator: str = known["topic.separator"]
        whole = f"{database}.{collection}" if collection else database
        if whole in self.topics:
            name = self.topics[whole]
        elif database in self.topics:
            name = separator.join(filter(None, (self.topics[database], collection)))
        else:
            name = self.topics.get("*") or separator.join(filter(None, (database, collection)))
        return separator.join(filter(None, (known["topic.prefix"], name, known["topic.suffix"])))


def source_settings(config: Mapping[str, str]) -> SourceSettings:
    """Return what configs mean. Raises ConfigException."""
    known = source_definitions().parse(config)
    _check(known)
    start = "copy_existing" if known["copy.existing"] else known["startup.mode"].lower()
    return SourceSettings(
        known,
        _stages(known, "pipeline"),
        _stages(known, f"{_COPY}.pipeline"),
        _json(known, "collation", dict, "an object") if known["collation"] else None,
        _topics(known),
        start,
        _seconds(known[_START_AT]) if known[_START_AT] else None,
        (known["mongo.errors.tolerance"] or known["errors.tolerance"]).lower() == "all",
        known["output.json.formatter"].rpartition(".")[2],
    )


def _check(known: Mapping[str, Any]) -> None:
    if known["collection"] and not known["database"]:
        raise ConfigException.invalid("collection", known["collection"], "It needs database.")
    for name, choices in _CHOICES.items():
        if known[name] not in choices:
            raise ConfigException.invalid(name, known[name], f"Expected one of: {', '.join(choices[1:])}.")
    for side in ("key", "value"):
        if known[f"output.format.{side}"].lower() == "schema":
            wanted = "Expected json or bson: schemas are not supported, transforms can make fields of JSON."
            raise ConfigException.invalid(f"output.format.{side}", "schema", wanted)
    if known["output.json.formatter"].rpartition(".")[2] not in _FORMATTERS:
        wanted = f"Expected one of: {', '.join(_FORMATTERS)}."
        raise ConfigException.invalid("output.json.formatter", known["output.json.formatter"], wanted)
    name = f"{_COPY}.namespace.regex"
    try:
        re.compile(known[name])
    except re.error as error:
        raise ConfigException.invalid(name, known[name], str(error)) from None


def _json(known: Mapping[str, Any], name: str, kind: type, what: str) -> Any:
    from bson import json_util

    try:
        found = json_util.loads(known[name])
    except (ValueError, TypeError) as error:
        raise ConfigException.invalid(name, known[name], f"Expected JSON: {error}") from None
    if not isinstance(found, kind):
        raise ConfigException.invalid(name, known[name], f"Expected JSON: {what}.")
    return found


def _stages(known: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    if not known[name].strip():
        return []
    stages: list[dict[str, Any]] = _json(known, name, list, "an array of stages")
    if not all(isinstance(stage, dict) for stage in stages):
        raise ConfigException.invalid(name, known[name], "Expected JSON: an array of stages.")
    return stages


def _topics(known: Mapping[str, Any]) -> dict[str, str]:
    name = "topic.namespace.map"
    if not known[name].strip():
        return {}
    try:
        found = json.loads(known[name])
    except ValueError as error:
        raise ConfigException.invalid(name, known[name], f"Expected JSON: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ConfigException.invalid(name, known[name], "Expected JSON: an object with the names of topics.")
    if any("/" in each for each in found):
        raise ConfigException.invalid(name, known[name], "Patterns are not supported: name the namespaces.")
    return {namespace: topic for namespace, topic in found.items() if topic}


def _seconds(text: str) -> int:
    if text.isdigit():
        return int(text)
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        wanted = "Expected seconds since 1970, or a time such as 2026-01-01T00:00:00Z."
        raise ConfigException.invalid(_START_AT, text, wanted) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp())
