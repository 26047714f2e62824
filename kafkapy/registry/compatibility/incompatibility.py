"""Why a reader's schema cannot read what a writer's schema wrote."""

from __future__ import annotations

from typing import NamedTuple


class Incompatibility(NamedTuple):
    """One reason. `kind` is the reference implementation's name for it, such as READER_FIELD_MISSING_DEFAULT_VALUE; `path` says
    where in the schema; `description` is a sentence that names the field or type; `extra` is what Avro adds, such as the name of
    the field."""

    kind: str
    path: str
    description: str
    extra: str | None = None

    def __str__(self) -> str:
        """As a registry tells it."""
        if self.extra is None:
            return f'{{errorType:"{self.kind}", description:"{self.description}"}}'
        return f"{{errorType:'{self.kind}', description:'{self.description}', additionalInfo:'{self.extra}'}}"


class SchemaParseError(ValueError):
    """A text is no schema of its format; the sentence says why."""
