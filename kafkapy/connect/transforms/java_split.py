"""`String.split` of Java."""

from __future__ import annotations


def java_split(text: str, separator: str) -> list[str]:
    """Return the parts of a text without empty ones at its end.

    Args:
        text: Without a separator it is the only part, even if it is empty.
        separator: One character.

    Example:
        >>> java_split("a:b:", ":"), java_split(":", ":"), java_split("", ":")
        (['a', 'b'], [], [''])
    """
    parts = text.split(separator)
    if len(parts) == 1:
        return parts
    while parts and not parts[-1]:
        parts.pop()
    return parts
