"""The documents that a schema refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Document(NamedTuple):
    """A referenced document: its text, and its place in the registry."""

    text: str
    subject: str = ""
    version: int = 0


class Documents(NamedTuple):
    """All referenced documents by name; a document's own references precede it. Hashable."""

    items: tuple[tuple[str, Document], ...] = ()

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Documents:
        """Build from texts, for use without a registry: documents are identified by their text."""
        return cls(tuple((name, Document(text, text)) for name, text in texts.items()))
