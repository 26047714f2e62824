"""Names of subjects: `orders-value`, or in a context `:.team:orders-value`. A context alone is `:.team:`."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.registry.refusals import invalid_subject

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ":.__GLOBAL:"
"""Its config and mode are those of all contexts that have none."""
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
        """The context as it stands before subjects; it is a subject's name for configs and modes, too."""
        return "" if self.context == DEFAULT_CONTEXT else f":{self.context}:"

    def __str__(self) -> str:
        return self.prefix + self.name

    def resolve(self, other: str) -> str:
        """A subject that a schema of this one names: in the same context unless it says another."""
        return other if other.startswith(":.") else self.prefix + other


def checked_subject(text: str) -> str:
    """In the form that is kept (`:.:a` is `a`). Raises RegistryRefusal: no control characters, nothing reserved."""
    subject = QualifiedSubject.parse(text)
    if any(ord(character) < 32 or ord(character) == 127 for character in text) or subject.name in _RESERVED:
        raise invalid_subject(text)
    return str(subject)


def checked_to_register(text: str) -> str:
    """Raises RegistryRefusal for what is no subject's name."""
    subject = checked_subject(text)
    if not QualifiedSubject.parse(subject).name:
        raise invalid_subject(text)
    return subject


def scopes(subject: str | None) -> list[str | None]:
    """Whose config or mode holds for a subject, the nearest first; None is the one of the default context."""
    if subject is None:
        return [None, GLOBAL_CONTEXT]
    prefix = QualifiedSubject.parse(subject).prefix
    chain: list[str | None] = [subject, prefix or None, GLOBAL_CONTEXT]
    return list(dict.fromkeys(chain))


def as_setting(text: str) -> str | None:
    """What a subject in `/config/{subject}` stands for: the default context is None."""
    subject = checked_subject(text)
    return subject or None
