"""The interface of parsed schemas, for all formats."""

from __future__ import annotations

from typing import Any, Protocol

from kafkapy.registry.compatibility.incompatibility import Incompatibility


class ParsedSchema(Protocol):
    """A parsed, valid schema."""

    @property
    def schema_type(self) -> str: ...

    @property
    def canonical(self) -> str:
        """Return the text in the form that the registry stores."""
        ...

    @property
    def normalized(self) -> str:
        """Return the normalized text, which is equal for schemas with the same meaning."""
        ...

    @property
    def identity(self) -> str:
        """Return a value that is equal for schemas that differ only in layout."""
        ...

    def formatted(self, wanted: str) -> str:
        """Return the text in the form of the parameter `format` ("resolved", "serialized" …); the canonical one if it
        is unknown."""
        ...

    def incompatibilities(self, writer: Any) -> list[Incompatibility]:
        """Return why this schema cannot read data of `writer`, a schema of the same format."""
        ...
