"""What every format knows about a schema of its own."""

from __future__ import annotations

from typing import Any, Protocol

from kafkapy.registry.compatibility.incompatibility import Incompatibility


class ParsedSchema(Protocol):
    """A schema that was read and is sound."""

    @property
    def schema_type(self) -> str: ...

    @property
    def canonical(self) -> str:
        """The text as the registry keeps it."""
        ...

    @property
    def normalized(self) -> str:
        """The text in which schemas that mean the same are the same."""
        ...

    @property
    def identity(self) -> str:
        """Equal for schemas that differ in layout only."""
        ...

    def formatted(self, wanted: str) -> str:
        """The text as `format=` asks for it ("resolved", "serialized" …); the canonical one if the format doesn't know that."""
        ...

    def incompatibilities(self, writer: Any) -> list[Incompatibility]:
        """Why this one cannot read what `writer`, of the same format, wrote."""
        ...
