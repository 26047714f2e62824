r"""Characters and character sets in the syntax of the package `regex` (its version 1).

Constants are members of a set, to be put in brackets. ASCII letters and digits stand for themselves; other characters
are written as codes, so none has a special meaning.
"""

from __future__ import annotations

DIGIT = "0-9"
WORD = "0-9A-Za-z_"
ALL = r"\U00000000-\U0010ffff"

_ASCII_CASES = (("a", "z", -32), ("A", "Z", 32))


def literal(character: str) -> str:
    """Return a character as an expression.

    Example:
        >>> literal("a"), literal("-")
        ('a', '\\\\U0000002d')
    """
    return character if character.isascii() and character.isalnum() else f"\\U{ord(character):08x}"


def members(first: str, last: str, ascii_cases: bool = False) -> str:
    """Return a range of characters.

    Args:
        first: Its first character.
        last: Its last character.
        ascii_cases: Letters of ASCII come with their other case.

    Example:
        >>> members("y", "y", True), members("a", "c")
        ('yY', 'a-c')
    """
    found = literal(first) if first == last else f"{literal(first)}-{literal(last)}"
    if ascii_cases:
        for lowest, highest, distance in _ASCII_CASES:
            start, end = max(first, lowest), min(last, highest)
            if start <= end:
                found += members(chr(ord(start) + distance), chr(ord(end) + distance))
    return found


def code_points(*codes: int | tuple[int, int]) -> str:
    """Return members of a set by their codes; a pair is a range."""
    pairs = [code if isinstance(code, tuple) else (code, code) for code in codes]
    return "".join(members(chr(first), chr(last)) for first, last in pairs)
