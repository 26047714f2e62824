"""Parses request bodies: schemas, configs, modes. Malformed ones are rejected with the codes of Confluent's
registry."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.registry.formats import SCHEMA_TYPES
from kafkapy.registry.levels import LEVELS
from kafkapy.registry.refusals import (
    invalid_compatibility,
    invalid_mode,
    invalid_schema,
    invalid_version,
    unprocessable,
)
from kafkapy.registry.state import MAX_NUMBER, SchemaContent
from kafkapy.schemas.types import SchemaReference

MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")
_SCHEMA_FIELDS = (
    *("schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "subject", "guid", "deleted"),
)
_CONFIG_FIELDS = {
    "alias": str,
    "normalize": bool,
    "validateFields": bool,
    "validateNewSchemas": bool,
    "validateRules": bool,
    "compatibilityPolicy": str,
    "compatibilityGroup": str,
    "defaultMetadata": dict,
    "overrideMetadata": dict,
    "defaultRuleSet": dict,
    "overrideRuleSet": dict,
}
_UNSUPPORTED = _CONFIG_FIELDS.keys() - {"normalize", "validateNewSchemas", "compatibilityPolicy"}


class SchemaRequest(NamedTuple):
    """A schema to be registered. `id` and `version` None: the registry assigns them."""

    content: SchemaContent
    id: int | None = None
    version: int | None = None


def schema_request(body: Any) -> SchemaRequest:
    if not isinstance(body, dict):
        raise unprocessable("The body is a JSON object with the field schema")
    for name in body:
        if name not in _SCHEMA_FIELDS:
            raise unprocessable(f"Unrecognized field: {name}")
    text, kind = body.get("schema"), body.get("schemaType") or "AVRO"
    if text is not None and not isinstance(text, str):
        raise unprocessable("schema is a string")
    if kind not in SCHEMA_TYPES:
        raise unprocessable(f"Invalid schema type {kind}; it is AVRO, JSON, PROTOBUF or THRIFT")
    given = body.get("references") or []
    if not isinstance(given, list):
        raise unprocessable("references is a list")
    references = tuple(map(_reference, given))
    if not text or not text.strip():
        raise invalid_schema("Empty schema")
    content = SchemaContent(text, kind, references, body.get("metadata"), body.get("ruleSet"))
    return SchemaRequest(content, _number(body, "id", 0), _number(body, "version", 1))


def _reference(given: Any) -> SchemaReference:
    if not isinstance(given, dict):
        raise unprocessable("A reference is an object with name, subject and version")
    name, subject, version = given.get("name"), given.get("subject"), given.get("version", -1)
    if not isinstance(name, str) or not isinstance(subject, str):
        raise unprocessable("A reference has a name and a subject")
    if not isinstance(version, int) or isinstance(version, bool) or not -1 <= version <= MAX_NUMBER:
        raise invalid_version(version)
    return SchemaReference(name, subject, version)


def _number(body: dict[str, Any], name: str, least: int) -> int | None:
    value = body.get(name)
    if value is None or (value in (-1, 0) and value < least):
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_NUMBER:
        raise unprocessable(f"{name} is a number from {least} on")
    return value


def version_number(text: str) -> int | None:
    """Parse a version number; None: the latest. Raises RegistryRefusal."""
    if text in ("latest", "-1"):
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 10 or not 1 <= int(text) <= MAX_NUMBER:
        raise invalid_version(text)
    return int(text)


def config_request(body: Any) -> dict[str, Any]:
    """Convert to the form of records, with `compatibilityLevel`."""
    if not isinstance(body, dict):
        raise unprocessable("The body is a JSON object with the field compatibility")
    found: dict[str, Any] = {}
    for name, value in body.items():
        if name in ("compatibility", "compatibilityLevel"):
            if value is not None:
                found["compatibilityLevel"] = _level(value)
        elif name not in _CONFIG_FIELDS:
            raise unprocessable(f"Unrecognized field: {name}")
        elif value is not None:
            if not isinstance(value, _CONFIG_FIELDS[name]):
                raise unprocessable(f"{name} is a {_CONFIG_FIELDS[name].__name__}")
            found[name] = value
    for name, value in found.items():
        if name in _UNSUPPORTED and value:
            raise unprocessable(f"{name} is not supported by this registry: it has no data contracts and no aliases")
    if found.get("compatibilityPolicy", "STRICT") != "STRICT":
        raise unprocessable("compatibilityPolicy is not supported by this registry, other than STRICT")
    return found


def _level(value: Any) -> str:
    if not isinstance(value, str) or value.upper() not in LEVELS:
        raise invalid_compatibility()
    return value.upper()


def mode_request(body: Any) -> str:
    if not isinstance(body, dict):
        raise unprocessable("The body is a JSON object with the field mode")
    mode = body.get("mode")
    if not isinstance(mode, str) or mode.upper() not in MODES:
        raise invalid_mode()
    return mode.upper()
