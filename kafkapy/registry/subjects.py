"""Names of subjects: `orders-value`, or in a context `:.team:orders-value`. A context alone is `:.team:`."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.registry.refusals import invalid_subject

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ":.__GLOBAL:"
"""The context whose config and mode apply to all contexts without their own."""
_RESERVED = ("__GLOBAL", "__EMPTY")
ALL_CONTEXTS = ":*:"


class QualifiedSubject(NamedTuple):
    context: str
    name: str

    @classmethod
    def parse(cls, text: str) -> QualifiedSubject:
        if text.startswith(":."):
            context, _, name = text[1:].partition(":")
            return cls(context, name)
        return cls(DEFAULT_CONTEXT, text)

    @property
    def prefix(self) -> str:
        """Return the context as prefix of subjects; for configs and modes it is also used as a subject."""
        return "" if self.context == DEFAULT_CONTEXT else f":{self.context}:"

    def __str__(self) -> str:
        return self.prefix + self.name

    def resolve(self, other: str) -> str:
        """Resolve a subject named in a reference: in the same context unless it names another."""
        return other if other.startswith(":.") else self.prefix + other


def checked_subject(text: str) -> str:
    """Return the stored form (`:.:a` is `a`). Raises RegistryRefusal for control characters and reserved names."""
    subject = QualifiedSubject.parse(text)
    if any(ord(character) < 32 or ord(character) == 127 for character in text) or subject.name in _RESERVED:
        raise invalid_subject(text)
    return str(subject)


def checked_to_register(text: str) -> str:
    """Return the stored form. Raises RegistryRefusal for an invalid name."""
    subject = checked_subject(text)
    if not QualifiedSubject.parse(subject).name:
        raise invalid_subject(text)
    return subject


def scopes(subject: str | None) -> list[str | None]:
    """Return the scopes whose config or mode apply to a subject, the nearest first; None: the default context."""
    if subject is None:
        return [None, GLOBAL_CONTEXT]
    prefix = QualifiedSubject.parse(subject).prefix
    chain: list[str | None] = [subject, prefix or None, GLOBAL_CONTEXT]
    return list(dict.fromkeys(chain))


def as_setting(text: str) -> str | None:
    """Convert the subject in `/config/{subject}`; the default context becomes None."""
    subject = checked_subject(text)
    return subject or None
