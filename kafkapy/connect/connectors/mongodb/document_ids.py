"""Ids of documents (`document.id.strategy`)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.mongodb.bson_values import SinkDocument
from kafkapy.connect.connectors.mongodb.projections import Projection, projection
from kafkapy.connect.connectors.mongodb.sink_config import class_word
from kafkapy.connect.errors import DataException

IdMaker = Callable[[SinkDocument], Any]
_ID: Final = "_id"
BY_KEY: Final = frozenset({"FullKeyStrategy", "PartialKeyStrategy", "ProvidedInKeyStrategy"})
"""Those that give the id of a tombstone's document."""
PARTIAL: Final = frozenset({"PartialKeyStrategy", "PartialValueStrategy"})


def id_maker(config: Mapping[str, Any]) -> IdMaker:
    """Return a function that makes the id of a record's document.

    Args:
        config: A topic's.

    Raises:
        ConfigException: The strategy is unknown, or its fields are missing.
    """
    word = class_word(config["document.id.strategy"])
    match word:
        case "BsonOidStrategy":
            return _object_id
        case "KafkaMetaDataStrategy":
            return _place
        case "FullKeyStrategy":
            return lambda document: document.key or {}
        case "PartialKeyStrategy":
            keep_key = _partial(config, "key")
            return lambda document: keep_key(document.key or {})
        case "PartialValueStrategy":
            keep_value = _partial(config, "value")
            return lambda document: keep_value(document.value or {})
        case "ProvidedInKeyStrategy":
            return lambda document: _provided(document.key, "key")
        case "ProvidedInValueStrategy":
            return lambda document: _provided(document.value, "value")
        case "UuidStrategy":
            is_text = config["document.id.strategy.uuid.format"].lower() == "string"
            return lambda document: str(uuid.uuid4()) if is_text else _binary(uuid.uuid4())
        case "UuidProvidedInKeyStrategy":
            return lambda document: _uuid(_provided(document.key, "key"))
        case "UuidProvidedInValueStrategy":
            return lambda document: _uuid(_provided(document.value, "value"))
    wanted = "Expected one of the strategies in docs/connect_mongodb.md."
    raise ConfigException.invalid("document.id.strategy", config["document.id.strategy"], wanted)


def _partial(config: Mapping[str, Any], side: str) -> Projection:
    prefix = f"document.id.strategy.partial.{side}.projection"
    kind = config[f"{prefix}.type"] or config[f"{side}.projection.type"]
    names = f"{prefix}.list" if config[f"{prefix}.list"] else f"{side}.projection.list"
    found = projection(kind, config[names], names)
    if found is None:
        raise ConfigException.invalid(f"{prefix}.type", kind, "The strategy needs AllowList or BlockList.")
    return found


def _object_id(_: SinkDocument) -> Any:
    from bson.objectid import ObjectId

    return ObjectId()


def _place(document: SinkDocument) -> str:
    record = document.record
    return f"{record.topic}#{record.kafka_partition}#{record.kafka_offset}"


def _provided(document: Mapping[str, Any] | None, what: str) -> Any:
    found = None if document is None else document.get(_ID)
    if found is None:
        raise DataException(f"The {what} has no field _id, which is the id of the document")
    return found


def _uuid(found: Any) -> Any:
    from bson.binary import UUID_SUBTYPE, Binary

    if isinstance(found, uuid.UUID):
        return _binary(found)
    if isinstance(found, Binary) and found.subtype in (3, UUID_SUBTYPE):
        return found
    if isinstance(found, str) and len(found) in (32, 36):
        try:
            return _binary(uuid.UUID(found))
        except ValueError:
            pass
    raise DataException(f"The id is no UUID: {found}")


def _binary(value: uuid.UUID) -> Any:
    from bson.binary import Binary

    return Binary.from_uuid(value)
