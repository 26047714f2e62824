"""The levels of compatibility: the versions against which a new schema is checked, and the direction of the check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats.parsed_schema import ParsedSchema
from kafkapy.registry.state import RegisteredVersion

LEVELS = ("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE")

Parse = Callable[[RegisteredVersion], ParsedSchema]


def reasons_against(
    level: str,
    schema: ParsedSchema,
    previous: Sequence[RegisteredVersion],
    parse: Parse,
    config: dict[str, Any] | None = None,
) -> list[str]:
    """Return why `schema` may not follow `previous` (the oldest first) at a level; empty if it may.

    The reasons are those of the newest incompatible version.
    """
    if level == "NONE":
        return []
    checked = reversed(previous) if level.endswith("_TRANSITIVE") else reversed(previous[-1:])
    for version in checked:
        found = _reasons(level, schema, version, parse)
        if found:
            fields = "true" if (config or {}).get("validateFields") else "false"
            return [
                *found,
                f"{{oldSchemaVersion: {version.version}}}",
                f"{{oldSchema: '{version.content.text}'}}",
                f"{{validateFields: '{fields}', compatibility: '{level}'}}",
            ]
    return []


def _reasons(level: str, schema: ParsedSchema, version: RegisteredVersion, parse: Parse) -> list[str]:
    if version.content.schema_type != schema.schema_type:
        return ["Incompatible because of different schema type"]
    try:
        other = parse(version)
    except SchemaParseError as error:
        return [f"Version {version.version} cannot be read: {error}"]
    found = []
    try:
        if level.startswith(("BACKWARD", "FULL")):
            found += list(map(str, schema.incompatibilities(other)))
        if level.startswith(("FORWARD", "FULL")):
            forward = map(str, other.incompatibilities(schema))
            found += [_turned(each) for each in forward]
    except SchemaParseError as error:
        return [f"Version {version.version} cannot be compared: {error}"]
    return found


def _turned(sentence: str) -> str:
    """Exchange "new" and "old" in a message, because here the older schema is the reader."""
    marked = sentence.replace("new schema", "\0").replace("old schema", "new schema")
    return marked.replace("\0", "old schema")
