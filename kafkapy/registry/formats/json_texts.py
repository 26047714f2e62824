"""Texts of schemas that are JSON."""

from __future__ import annotations

from typing import Any

from kafkapy.common import exact_json
from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats.strictness import Strictness


def load_json(text: str, strictness: Strictness, comments: bool = False) -> Any:
    """What a schema's text says, with exact numbers.

    Args:
        text: The schema.
        strictness: What is stored already is read even if it is not quite JSON.
        comments: Comments are taken, as Avro's parser does.

    Raises:
        SchemaParseError: The text is no JSON.
        RecursionError: There is not enough stack for values nested so deeply.
    """
    try:
        if strictness is Strictness.STORED:
            return exact_json.loads_leniently(text, comments=comments)
        return exact_json.loads(text, comments=comments)
    except ValueError as error:
        raise SchemaParseError(f"No JSON: {error}") from None
