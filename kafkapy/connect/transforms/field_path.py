"""Paths to nested fields (`field.syntax.version`, KIP-821)."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.schema import Field, Schema
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.transforms.requirements import require_map, require_struct

SYNTAX_VERSION: Final = "field.syntax.version"
_PURPOSE: Final = "nested field access"


def define_syntax_version(definitions: ConfigDef) -> ConfigDef:
    """Add the setting `field.syntax.version`; returns the definitions."""
    return definitions.define(
        SYNTAX_VERSION,
        ConfigType.STRING,
        "V1",
        validator=OneOf("V1", "V2", case_insensitive=True),
        importance=Importance.HIGH,
        doc=(
            "Syntax of paths to fields. V1: the name of a field. V2: names with dots between them lead into nested "
            "structs and maps; a name in backticks may have dots itself."
        ),
    )


class FieldPath:
    """A path to one field (`SingleFieldPath`).

    Args:
        text: The path.
        version: `V1` or `V2`, in any case.

    Raises:
        ConfigException: A backtick has no counterpart.

    Example:
        >>> FieldPath("`a.b`.c", "V2").value_in_map({"a.b": {"c": 5}})
        5
    """

    def __init__(self, text: str, version: str) -> None:
        self.steps = [text] if version.upper() == "V1" else _steps(text)

    def field_in(self, schema: Schema) -> Field | None:
        """Return the field of a schema, None if it has none."""
        for step in self.steps[:-1]:
            field = schema.field(step)
            if field is None:
                return None
            schema = field.schema
        return schema.field(self.steps[-1])

    def value_in_struct(self, struct: Struct, use_defaults: bool = True) -> Any:
        """Return the field's value in a struct, None if it has none. Raises DataException.

        Args:
            struct: Where the path begins.
            use_defaults: The last field's default stands for None.
        """
        for step in self.steps[:-1]:
            value = struct.get(step) if struct.schema.field(step) is not None else None
            if value is None:
                return None
            struct = require_struct(value, _PURPOSE)
        last = self.steps[-1]
        if struct.schema.field(last) is None:
            return None
        return struct.get(last) if use_defaults else struct.get_without_default(last)

    def value_in_map(self, value: dict[str, Any]) -> Any:
        """Return the field's value in a map, None if it has none. Raises DataException.

        Args:
            value: Where the path begins.
        """
        for step in self.steps[:-1]:
            inner = value.get(step)
            if inner is None:
                return None
            value = require_map(inner, _PURPOSE)
        return value.get(self.steps[-1])


def _steps(text: str) -> list[str]:
    steps, position = [], 0
    while position < len(text):
        if text[position] == "`":
            step, position = _quoted_step(text, position)
            steps.append(step)
            continue
        end = text.find(".", position)
        if end < 0:
            steps.append(text[position:])
            break
        steps.append(text[position:end])
        position = end + 1
    if text.endswith("."):
        steps.append("")
    return steps


def _quoted_step(text: str, begin: int) -> tuple[str, int]:
    """The name in backticks at a position, and where the next step begins."""
    parts: list[str] = []
    start = position = begin + 1
    while True:
        position = text.find("`", position)
        escaped = position > 0 and text[position - 1] == "\\"
        at_end = position >= len(text) - 1
        if position < 0 or (at_end and escaped):
            raise ConfigException(
                f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick at position "
                f"{begin} to escape it"
            )
        if at_end:
            return "".join([*parts, text[start:position]]), position + 1
        if text[position + 1] != ".":
            position += 1
        elif escaped:
            parts.append(text[start : position - 1] + "`")
            position += 1
            start = position
        else:
            return "".join([*parts, text[start:position]]), position + 2
