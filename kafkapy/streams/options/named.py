"""Names that applications give to nodes of a topology."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kafkapy.streams.errors import TopologyException
from kafkapy.streams.options.checks import required

MAX_NAME_LENGTH: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]*\Z")


def validate_name(name: str) -> str:
    """Return the name after validation, since internal topics may have it.

    Raises:
        TopologyException: The name is empty, too long, "." or "..", or has characters that are invalid in a topic's
            name.
    """
    if not name:
        raise TopologyException("Name is illegal, it can't be empty")
    if name in (".", ".."):
        raise TopologyException('Name cannot be "." or ".."')
    if len(name) > MAX_NAME_LENGTH:
        raise TopologyException(f"Name is illegal, it can't be longer than {MAX_NAME_LENGTH} characters, name: {name}")
    if not _LEGAL.match(name):
        raise TopologyException(
            f"Name \"{name}\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"
        )
    return name


@dataclass(frozen=True, slots=True)
class Named:
    """The name of an operator, in place of the generated one.

    Attributes:
        name: Letters, digits, ".", "_" and "-", at most 249 characters.

    Raises:
        TopologyException: The name is none that a topic could have.

    Example:
        >>> Named.as_("only-long-words").name
        'only-long-words'
    """

    name: str

    def __post_init__(self) -> None:
        validate_name(required(self.name, "name"))

    @staticmethod
    def as_(name: str) -> Named:
        """An operator's name.

        Args:
            name: See `Named`.

        Raises:
            TopologyException: The name is none that a topic could have.
        """
        return Named(name)

    def with_name(self, name: str) -> Named:
        """Another name.

        Args:
            name: Name of the node. None: a generated one.
        """
        return Named(name)
