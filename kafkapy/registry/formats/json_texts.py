"""Texts of schemas that are JSON."""

from __future__ import annotations

from typing import Any

from kafkapy.common import exact_json
from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats.strictness import Strictness


def load_json(text: str, strictness: Strictness, comments: bool = False) -> Any:
    """Parse a schema's text, with exact numbers.

    Args:
        text: The schema.
        strictness: A stored schema is accepted even if it is not strictly JSON. comments: Accept comments, as Avro's
            parser does.

    Raises:
        SchemaParseError: The text is no JSON.
        RecursionError: The values are nested too deeply for the stack.
    """
    try:
        if strictness is Strictness.STORED:
            return exact_json.loads_leniently(text, comments=comments)
        return exact_json.loads(text, comments=comments)
    except ValueError as error:
        raise SchemaParseError(f"No JSON: {error}") from None
