"""Reasons why a reader's schema cannot read data of a writer's schema."""

from __future__ import annotations

from typing import NamedTuple


class Incompatibility(NamedTuple):
    """One reason.

    Attributes:
        kind: The reference implementation's name, such as READER_FIELD_MISSING_DEFAULT_VALUE.
        path: Its place in the schema.
        description: A sentence that names the field or type.
        extra: Avro's additional information, such as the name of the field.
    """

    kind: str
    path: str
    description: str
    extra: str | None = None

    def __str__(self) -> str:
        """Return the text for the registry's responses."""
        if self.extra is None:
            return f'{{errorType:"{self.kind}", description:"{self.description}"}}'
        return f"{{errorType:'{self.kind}', description:'{self.description}', additionalInfo:'{self.extra}'}}"


class SchemaParseError(ValueError):
    """A text is no schema of its format; the message explains why."""
