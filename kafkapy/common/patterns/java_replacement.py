"""Replacements of Java's regular expressions, with references to groups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

_NAME = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")


def expanded(replacement: str, found: regex.Match[str], names: Mapping[str, int]) -> str:
    """Return a replacement with the text of groups in it.

    Args:
        replacement: `$1` and `${name}` stand for groups, a backslash makes the next character a plain one.
        found: The match.
        names: Numbers of the named groups.

    Raises:
        ValueError: A reference is malformed, or names a group that the pattern lacks.
        IndexError: The pattern has no group of this number.
    """
    parts, position = [], 0
    while position < len(replacement):
        character = replacement[position]
        position += 1
        if character == "\\":
            if position == len(replacement):
                raise ValueError("character to be escaped is missing")
            parts.append(replacement[position])
            position += 1
        elif character == "$":
            group, position = _reference(replacement, position, found, names)
            parts.append(group)
        else:
            parts.append(character)
    return "".join(parts)


def _reference(replacement: str, position: int, found: regex.Match[str], names: Mapping[str, int]) -> tuple[str, int]:
    """The text of a group, and where the reference ends; `position` is behind the dollar sign."""
    if position == len(replacement):
        raise ValueError("Illegal group reference: group index is missing")
    if replacement[position] == "{":
        name = _NAME.match(replacement, position)
        if name is None:
            raise ValueError("named capturing group is missing trailing '}'")
        if name[1] not in names:
            raise ValueError(f"No group with name {{{name[1]}}}")
        return found[names[name[1]]] or "", name.end()
    if replacement[position] not in "0123456789":
        raise ValueError("Illegal group reference")
    number, groups = int(replacement[position]), found.re.groups
    position += 1
    if number > groups:
        raise IndexError(f"No group {number}")
    while position < len(replacement) and replacement[position] in "0123456789":
        longer = number * 10 + int(replacement[position])
        if longer > groups:
            break
        number, position = longer, position + 1
    return found[number] or "", position
