"""The configs of the sink, for each topic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.mongodb.connection import DEFAULT_URI

OVERRIDE: Final = "topic.override."
"""Begins the names of configs of one topic: the topic and the config follow."""
_SINK: Final = "com.mongodb.kafka.connect.sink."
_STRING, _INT, _LIST, _BOOLEAN = ConfigType.STRING, ConfigType.INT, ConfigType.LIST, ConfigType.BOOLEAN
_PROJECTIONS: Final = OneOf("", "NONE", "ALLOWLIST", "WHITELIST", "BLOCKLIST", "BLACKLIST", case_insensitive=True)
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("database", _STRING, "", None, "Gets the collections."),
    ("collection", _STRING, "", None, "Gets the documents. Default: the topic's name."),
    ("max.batch.size", _INT, 0, Range(0, None), "The most documents of a request; 0: no limit."),
    ("bulk.write.ordered", _BOOLEAN, True, None, "Whether documents are written in the order of records."),
    ("delete.on.null.values", _BOOLEAN, False, None, "Whether records without a value delete documents."),
    ("writemodel.strategy", _STRING, f"{_SINK}writemodel.strategy.DefaultWriteModelStrategy", None, "How to write."),
    (
        "delete.writemodel.strategy",
        _STRING,
        f"{_SINK}writemodel.strategy.DeleteOneDefaultStrategy",
        None,
        "What is deleted for records without a value.",
    ),
    ("document.id.strategy", _STRING, f"{_SINK}processor.id.strategy.BsonOidStrategy", None, "The ids of documents."),
    ("document.id.strategy.overwrite.existing", _BOOLEAN, False, None, "Whether ids replace those in values."),
    (
        "document.id.strategy.uuid.format",
        _STRING,
        "string",
        OneOf("STRING", "BINARY", case_insensitive=True),
        "Of ids.",
    ),
    ("document.id.strategy.partial.key.projection.type", _STRING, "", _PROJECTIONS, "Of PartialKeyStrategy."),
    ("document.id.strategy.partial.key.projection.list", _STRING, "", None, "Of PartialKeyStrategy."),
    ("document.id.strategy.partial.value.projection.type", _STRING, "", _PROJECTIONS, "Of PartialValueStrategy."),
    ("document.id.strategy.partial.value.projection.list", _STRING, "", None, "Of PartialValueStrategy."),
    ("key.projection.type", _STRING, "none", _PROJECTIONS, "Whether fields of keys are kept or removed."),
    ("key.projection.list", _STRING, "", None, "Such fields of keys."),
    ("value.projection.type", _STRING, "none", _PROJECTIONS, "Whether fields of values are kept or removed."),
    ("value.projection.list", _STRING, "", None, "Such fields of values."),
    ("post.processor.chain", _LIST, [f"{_SINK}processor.DocumentIdAdder"], None, "What changes documents."),
    (
        "mongo.errors.tolerance",
        _STRING,
        "",
        OneOf("", "NONE", "DATA", "ALL", case_insensitive=True),
        "In place of errors.tolerance.",
    ),
    ("errors.tolerance", _STRING, "none", OneOf("NONE", "DATA", "ALL", case_insensitive=True), "Of refused documents."),
)
_REFUSED: Final = {
    "change.data.capture.handler": "use the transform io.debezium.transforms.ExtractNewRecordState",
    "timeseries.timefield": "create the time series collection, and write with InsertOneDefaultStrategy",
    "timeseries.metafield": "create the time series collection",
    "namespace.mapper.key.database.field": "use a transform that changes the topic",
    "namespace.mapper.key.collection.field": "use a transform that changes the topic",
    "namespace.mapper.value.database.field": "use a transform that changes the topic",
    "namespace.mapper.value.collection.field": "use a transform that changes the topic",
}
_ONLY: Final = {"namespace.mapper": "DefaultNamespaceMapper"}


@cache
def topic_definitions() -> ConfigDef:
    """Return the definitions of what may differ between topics."""
    definitions = ConfigDef()
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


def sink_definitions() -> ConfigDef:
    """Return the definitions of the connector."""
    definitions = ConfigDef().define(
        "connection.uri",
        ConfigType.PASSWORD,
        DEFAULT_URI,
        importance=Importance.HIGH,
        doc="mongodb:// or mongodb+srv://",
    )
    definitions.define(
        "connection.retry.delay.ms", ConfigType.LONG, 1000, validator=Range(1, None), doc="kafkapy's own."
    )
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator or _validator(name), doc=doc)
    return definitions


def _validator(name: str) -> Any:
    return NonEmptyString() if name.endswith(".strategy") else None


def topic_config(config: Mapping[str, str], topic: str) -> dict[str, Any]:
    """Return the parsed configs of a topic.

    Args:
        config: The connector's.
        topic: Its name; "" for those without overrides.

    Raises:
        ConfigException: A value is wrong.
    """
    prefix = f"{OVERRIDE}{topic}."
    overrides = {name.removeprefix(prefix): text for name, text in config.items() if topic and name.startswith(prefix)}
    known = topic_definitions().parse({**config, **overrides})
    if not known["database"]:
        raise ConfigException.invalid("database", "", "Expected the name of a database.")
    return known


def check_supported(config: Mapping[str, str]) -> list[str]:
    """Refuse configs that change what is written, and are not supported; returns the topics with overrides.

    Args:
        config: The connector's.

    Raises:
        ConfigException: Names one, and the remedy.
    """
    topics: dict[str, None] = {}
    for full, text in config.items():
        topic, name = _split(full)
        if topic:
            topics[topic] = None
            if name not in topic_definitions() and name not in _REFUSED:
                raise ConfigException.invalid(full, text, "There is no such config of a topic.")
        if text and name in _REFUSED:
            raise ConfigException.invalid(full, text, f"It is not supported: {_REFUSED[name]}.")
        if name in _ONLY and class_word(text) != _ONLY[name]:
            raise ConfigException.invalid(full, text, f"Only {_ONLY[name]} is supported.")
    return list(topics)


def _split(name: str) -> tuple[str, str]:
    """Topic and config of an override; a topic may have dots."""
    if not name.startswith(OVERRIDE):
        return "", name
    rest = name.removeprefix(OVERRIDE)
    for known in sorted((*topic_definitions(), *_REFUSED), key=len, reverse=True):
        if rest.endswith(f".{known}"):
            return rest.removesuffix(f".{known}"), known
    topic, _, last = rest.rpartition(".")
    return topic, last


def class_word(text: str) -> str:
    """Return the last part of the name of a Java class.

    Example:
        >>> class_word("com.mongodb.kafka.connect.sink.processor.id.strategy.UuidStrategy")
        'UuidStrategy'
    """
    return text.strip().rpartition(".")[2].rpartition("$")[2]
