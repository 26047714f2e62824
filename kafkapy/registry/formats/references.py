"""The documents that a schema refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Document(NamedTuple):
    """One of them: its text, and where in the registry it is."""

    text: str
    subject: str = ""
    version: int = 0


class Documents(NamedTuple):
    """All of them by the names that schemas have for them, those of a document before itself. Hashable."""

    items: tuple[tuple[str, Document], ...] = ()

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Documents:
        """Without a registry a document is known by its text."""
        return cls(tuple((name, Document(text, text)) for name, text in texts.items()))
